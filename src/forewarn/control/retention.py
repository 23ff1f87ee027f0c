"""How long the history is kept: what is older is let go, a little at a time.

Nothing waits for it. A batch is one short commit between two ticks, and only while nobody wants anything; what is
left comes later. It is no part of the world's life, so the virtual clock never stops for it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from forewarn.clock import Clock
from forewarn.store import retention
from forewarn.store.sql import SqlStore

_LOOK_EVERY = timedelta(hours=1)  # of the service's clock
_MOST_BATCHES = 50  # at once, after the clock was moved on purpose


class Retention:
    """Lets go of what ended more than so long ago; with None, of nothing."""

    def __init__(self, store: SqlStore, clock: Clock, keep: timedelta | None) -> None:
        self._store = store
        self._clock = clock
        self._look_at = clock.elapsed()  # in elapsed time, which no step of the wall clock touches
        self.keep = keep

    @property
    def is_due(self) -> bool:
        """Whether there may be something to let go of."""
        return self.keep is not None and self._clock.elapsed() >= self._look_at

    def prune(self) -> None:
        """Let go of one batch."""
        before = self.kept_since
        if before is None:
            self.put_off()
            return
        with self._store.transaction() as transaction:
            is_more = retention.prune(transaction.connection, before)
        if not is_more:
            self.put_off()

    @property
    def kept_since(self) -> datetime | None:
        """What ended before this is let go; None: nothing can be so old."""
        now = self._clock.now()
        if self.keep is None or now - datetime.min.replace(tzinfo=UTC) < self.keep:
            return None
        return now - self.keep

    def put_off(self) -> None:
        """Look again later: nothing is left, or the store does not answer."""
        self._look_at = self._clock.elapsed() + _LOOK_EVERY

    def catch_up(self) -> None:
        """A clock was moved, maybe by years: let go of most of what that made old."""
        for _ in range(_MOST_BATCHES):
            if not self.is_due:
                return
            self.prune()

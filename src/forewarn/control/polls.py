"""Who has asked lately: the polls of each scope, and the silence that turns a scope off.

Polls are noted in memory and written in batches; only the one that turns a scope on is written before it is
answered. Silence counts only while the guests could have been heard.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from forewarn.board.board import Board
from forewarn.clock import Clock
from forewarn.control.wakes import Wakes


class PollLedger:
    """The last poll of each scope that is on."""

    def __init__(
        self, board: Board, clock: Clock, silence: timedelta, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._board = board
        self._clock = clock
        self._silence = silence
        self._monotonic = monotonic
        self._collected_at = 0.0
        self._last: dict[str, datetime] = {}
        self._unwritten: dict[str, datetime] = {}
        self._deadlines: Wakes[str] = Wakes()

    def restore(self, last: Mapping[str, datetime], unheard: timedelta, scopes_on: set[str]) -> None:
        """Take over what was written down; the time in which nobody could be heard does not count."""
        for scope in scopes_on:
            if scope in last:
                self._note(scope, last[scope] + unheard)
        self._collected_at = self._monotonic()

    def note(self, scope: str, at: datetime) -> None:
        """A guest of the scope has asked."""
        self._note(scope, at)
        self._unwritten[scope] = at

    def _note(self, scope: str, at: datetime) -> None:
        self._last[scope] = at
        self._deadlines.set(scope, at + self._silence)

    def collect(self) -> None:
        """Take over from the board who has polled since the last time."""
        now, moment = self._clock.now(), self._monotonic()
        for scope, polled_at in self._board.polls_since(self._collected_at).items():
            age = timedelta(seconds=max(0.0, moment - polled_at)) if self._clock.runs else timedelta(0)
            self.note(scope, now - age)
        self._collected_at = moment

    def take_unwritten(self) -> dict[str, datetime]:
        """What has to be written down."""
        unwritten, self._unwritten = self._unwritten, {}
        return unwritten

    def put_back(self, unwritten: Mapping[str, datetime]) -> None:
        """Writing failed: keep for the next time what was not noted anew meanwhile."""
        self._unwritten = {**unwritten, **self._unwritten}

    def silent(self, now: datetime) -> list[str]:
        """The scopes that nobody has asked for long enough; they come up again until they are forgotten."""
        found = self._deadlines.take(now)
        for scope in found:
            self._deadlines.set(scope, now)
        return found

    def last(self, scope: str) -> datetime | None:
        """When the scope was last asked for."""
        return self._last.get(scope)

    def shift(self, by: timedelta) -> None:
        """The wall clock was stepped; what was heard was heard as long ago as before."""
        for scope, at in list(self._last.items()):
            self.note(scope, at + by)

    def forget(self, scope: str) -> None:
        """The scope is off or gone; its silence is of no interest."""
        self._deadlines.set(scope, None)

    def next_deadline(self) -> datetime | None:
        """When the next scope may have been silent for too long."""
        return self._deadlines.next()

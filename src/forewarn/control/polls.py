"""Who has asked lately: the polls of each scope, and the silence that turns a scope off.

Polls are noted in memory and written in batches; only the one that turns a scope on is written before it is
answered. Silence is counted in elapsed time, and only while the guests could have been heard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

from forewarn.board.board import Board
from forewarn.clock import Clock
from forewarn.control.timer_heap import TimerHeap


class PollLedger:
    """The last poll of each scope that is on."""

    def __init__(self, board: Board, clock: Clock, silence: timedelta, monotonic: Callable[[], float]) -> None:
        self._board = board
        self._clock = clock
        self._silence = silence
        self._monotonic = monotonic
        self._last: dict[str, timedelta] = {}  # in elapsed time, which no step of the wall clock touches
        self._unwritten: set[str] = set()
        self._urgent: set[str] = set()
        self._deadlines: TimerHeap[str, timedelta] = TimerHeap()
        self.missed: set[str] = set()  # read as if they were on, when they were not any more

    def restore(self, last: Mapping[str, datetime], heard_until: datetime) -> None:
        """Take over what was written down; the time in which nobody could be heard does not count."""
        for scope, at in sorted(last.items()):
            self._note(scope, self._clock.elapsed() - max(timedelta(0), heard_until - at))

    def note(self, scope: str) -> None:
        """A guest of the scope has asked for something that is committed before it is answered."""
        self._note(scope, self._clock.elapsed())
        self._urgent.add(scope)

    def _note(self, scope: str, elapsed: timedelta) -> None:
        self._last[scope] = elapsed
        self._deadlines.set(scope, elapsed + self._silence)

    def collect(self) -> None:
        """Take over from the board who has polled since the last time."""
        elapsed, moment = self._clock.elapsed(), self._monotonic()
        for panel in self._board.take_polled():
            if not panel.is_on:
                self.missed.add(panel.scope)
            else:
                age = timedelta(seconds=max(0.0, moment - panel.polled_at)) if self._clock.runs else timedelta(0)
                self._note(panel.scope, elapsed - age)
                self._unwritten.add(panel.scope)

    # Most polls are written now and then; a few with the next commit, whatever it is.

    def take_unwritten(self) -> dict[str, datetime]:
        """What has to be written down."""
        unwritten, self._unwritten = self._unwritten, set()
        return self._at(unwritten)

    def put_back(self, unwritten: Mapping[str, datetime]) -> None:
        """Writing failed: it has to be written the next time."""
        self._unwritten.update(unwritten)

    def all_is_urgent(self) -> None:
        """The wall clock was stepped: everything is written anew, in the time that it shows now."""
        self._urgent.update(self._last)

    def urgent(self) -> dict[str, datetime]:
        """What has to be written with the next commit."""
        return self._at(self._urgent)

    def drop_urgent(self) -> None:
        """That commit was not kept, or nobody knows: a scope that it did not turn on is not on."""
        for scope in [scope for scope in self._urgent if not self._board.is_on(scope)]:
            self._urgent.discard(scope)
            self.forget(scope)

    def begin(self, scope: str) -> None:
        """The scope is on, whoever turned it on: its silence counts from now, unless a poll is known."""
        if scope not in self._last:
            self._note(scope, self._clock.elapsed())
            self._unwritten.add(scope)

    def urgent_is_written(self) -> None:
        """That commit was kept."""
        self._urgent.clear()

    def _at(self, scopes: set[str]) -> dict[str, datetime]:
        found = {scope: self.last(scope) for scope in sorted(scopes)}
        return {scope: at for scope, at in found.items() if at is not None}

    def take_silent(self) -> list[str]:
        """The scopes that nobody has asked for long enough; each comes up once."""
        return self._deadlines.take(self._clock.elapsed())

    def ask_again(self, scopes: Iterable[str]) -> None:
        """They could not be dealt with: let them come up again."""
        for scope in scopes:
            self._deadlines.set(scope, self._clock.elapsed())

    def last(self, scope: str) -> datetime | None:
        """When the scope was last asked for, by the wall clock as it goes now."""
        at = self._last.get(scope)
        return None if at is None else self._clock.now() - (self._clock.elapsed() - at)

    def forget(self, scope: str) -> None:
        """The scope is off or gone; its silence is of no interest."""
        self._deadlines.set(scope, None)
        self._last.pop(scope, None)
        self._unwritten.discard(scope)

    def next_deadline(self) -> datetime | None:
        """When the next scope may have been silent for too long."""
        at = self._deadlines.next()
        return None if at is None else self._clock.now() + (at - self._clock.elapsed())

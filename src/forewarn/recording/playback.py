"""The clock of a replay, and the document that is due by it.

Runs on one event loop. Moving the clock shows every document on the way, in order, before it returns.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from forewarn.recording.file import Change, Recording
from forewarn.recording.rendering import RecordedPage
from forewarn.subscribers import Subscribers

_LAST = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Scene:
    """A document, and the time to show it."""

    at: datetime
    page: RecordedPage


Show = Callable[[Scene], None]


def scenes_of(recording: Recording, start: datetime, *, shifts: bool) -> list[Scene]:
    """The documents to show from `start` on; with `shifts`, their times move along.

    A document that is unchanged after a gap is not shown again. Each change has its own tag; the same recording
    with the same start has the same tags.
    """
    first = recording.changes[0]
    shift = start - first.at if shifts else timedelta(0)
    generation = int(start.timestamp() * 1000)
    scenes: list[Scene] = []
    before: Change | None = None
    for number, change in enumerate(recording.changes):
        if before is None or (change.body, change.api_version) != (before.body, before.api_version):
            at = start + timedelta(seconds=change.seconds - first.seconds)
            scenes.append(Scene(at, RecordedPage(change, (generation << 20) + number, shift)))
        before = change
    return scenes


def _later(at: datetime, seconds: float) -> datetime:
    """So many seconds later, or the last date there is."""
    return at + timedelta(seconds=min(seconds, (_LAST - at).total_seconds()))


class Playback:
    """Shows scenes by a clock of its own."""

    runs = True  # at its rate, which may be 0

    def __init__(
        self,
        scenes: Sequence[Scene],
        show: Show,
        rate: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scenes = scenes
        self._show = show
        self._monotonic = monotonic
        self.rate = rate  # recorded seconds per real one; 0: the clock stands still
        self._shown = 0
        self._real_anchor = monotonic()
        self._anchor = scenes[0].at
        self._moved = asyncio.Event()
        self.moved: Subscribers[datetime] = Subscribers()
        self._catch_up()

    def now(self) -> datetime:
        """The time in the replay."""
        return _later(self._anchor, (self._monotonic() - self._real_anchor) * self.rate)

    @property
    def scene(self) -> Scene:
        """The current document."""
        return self._scenes[self._shown - 1]

    @property
    def shown(self) -> int:
        """The number of documents shown so far."""
        return self._shown

    @property
    def count(self) -> int:
        """The number of documents."""
        return len(self._scenes)

    def is_last(self, scene: Scene) -> bool:
        """Whether it is the last document."""
        return scene is self._scenes[-1]

    @property
    def next_at(self) -> datetime | None:
        """When the next document is due; None after the last."""
        return self._scenes[self._shown].at if self._shown < len(self._scenes) else None

    def advance(self, by: timedelta) -> None:
        """Move the clock forward."""
        self._move_to(_later(self.now(), by.total_seconds()))

    def next(self) -> None:
        """Move the clock to the next document, if there is one."""
        if (due := self.next_at) is not None:
            self._move_to(max(due, self.now()))

    def play(self, rate: float) -> None:
        """Set the speed of the clock, as a multiple of real time; 0 stops it."""
        now = self.now()
        self.rate = rate
        self._move_to(now)

    def _move_to(self, instant: datetime) -> None:
        self._real_anchor, self._anchor = self._monotonic(), instant
        self._catch_up()
        self.moved.publish(instant)
        self._moved.set()

    def _catch_up(self) -> None:
        """Show everything that is due, in order."""
        now = self.now()
        while (due := self.next_at) is not None and due <= now:
            self._shown += 1
            self._show(self.scene)

    async def run(self) -> None:
        """Show documents when they are due, until cancelled."""
        while True:
            self._catch_up()
            self._moved.clear()
            due = self.next_at
            wait = (due - self.now()).total_seconds() / self.rate if due is not None and self.rate else None
            with suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), wait)

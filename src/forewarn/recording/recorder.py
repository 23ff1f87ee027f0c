"""Recording: asks again and again, and writes down what is not as it was.

It may be told to stop at any moment. A question is broken off then; a line that is being written is finished.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

from forewarn import __version__
from forewarn.clock import Clock
from forewarn.recording.asking import Failure, Source
from forewarn.recording.tape import FORMAT, Header, Line, Tape

Tell = Callable[[Line], None]
Answer = TypeVar("Answer")


class _Stopped(Exception):
    """It has been told to."""


class Recorder:
    """Records one endpoint until it is told to stop, or the time is up. Runs on the thread that hears signals."""

    def __init__(
        self,
        source: Source,
        tape: Tape,
        clock: Clock,
        *,
        every_seconds: float = 1.0,
        limit: timedelta | None = None,
        tell: Tell = lambda _: None,
    ) -> None:
        self._source = source
        self._tape = tape
        self._clock = clock
        self._every_seconds = every_seconds
        self._limit = limit
        self._tell = tell
        self._began_at = clock.elapsed()
        self._word: queue.SimpleQueue[None] = queue.SimpleQueue()  # to stop
        self._is_stopping = False
        self._may_be_broken_off = False
        self._last: bytes | tuple[str, int | None] | None = None
        self.changes = 0
        self.gaps = 0

    @property
    def seconds(self) -> float:
        """How long it has been recording."""
        return (self._clock.elapsed() - self._began_at).total_seconds()

    def stop(self, *_: object) -> None:
        """End as soon as that leaves a whole file. May be a signal's handler: this queue's `put` takes no lock."""
        self._is_stopping = True
        self._word.put(None)
        if self._may_be_broken_off:
            raise _Stopped

    def run(self) -> None:
        """Record, to the end."""
        try:
            self.begin()
            while not self._is_over():
                asked_at = self.seconds
                self.look()
                self._pause_until(asked_at + self._every_seconds)
        except _Stopped:
            pass
        self.end()

    def look(self) -> None:
        """Ask once, and write down what has changed."""
        self._note(self._unless_stopped(self._source.get))

    def end(self) -> None:
        """Write down that this is the end."""
        self._tape.write(Line(self._clock.now(), self.seconds, end=True))

    def begin(self) -> None:
        """Write down what is recorded here, and from when on."""
        at = self._clock.now()
        name = ""
        try:
            name = self._unless_stopped(self._source.name)
        finally:  # a file always has its header
            self._began_at = self._clock.elapsed()
            source = self._source
            self._tape.write(
                Header("recording", FORMAT, at, __version__, source.endpoint, source.api_version, name)
            )

    def _is_over(self) -> bool:
        return self._is_stopping or (self._limit is not None and self.seconds >= self._limit.total_seconds())

    def _unless_stopped(self, ask: Callable[[], Answer]) -> Answer:
        if self._is_stopping:
            raise _Stopped
        self._may_be_broken_off = True
        try:
            return ask()
        finally:
            self._may_be_broken_off = False

    def _pause_until(self, seconds: float) -> None:
        if self._limit is not None:
            seconds = min(seconds, self._limit.total_seconds())
        with suppress(queue.Empty):
            self._word.get(timeout=max(0.0, seconds - self.seconds))

    def _note(self, answer: bytes | Failure) -> None:
        """Write it down, unless it is what was said last."""
        said = (answer.error, answer.status) if isinstance(answer, Failure) else answer
        if said == self._last:
            return
        self._last = said
        at, seconds, version = self._clock.now(), self.seconds, self._source.api_version
        if isinstance(answer, Failure):
            self.gaps += 1
            line = Line(at, seconds, error=answer.error, status=answer.status, message=answer.message)
        else:
            self.changes += 1
            line = Line(at, seconds, version, document=answer.decode())
        self._tape.write(line)
        self._tell(line)

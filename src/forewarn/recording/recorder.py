"""Poll an endpoint, and write down every change.

The recorder may be stopped at any moment. That interrupts a request, but never the writing of a line.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

from forewarn import __version__
from forewarn.clock import Clock
from forewarn.recording.endpoint import EndpointFailure, RecordedEndpoint
from forewarn.recording.file import FORMAT, Header, RecordingFile, RecordingLine

Tell = Callable[[RecordingLine], None]
Answer = TypeVar("Answer")


class _Stopped(Exception):
    """The recorder was stopped."""


class Recorder:
    """Records one endpoint until it is stopped or the time is up. Runs on the thread that handles signals."""

    def __init__(
        self,
        source: RecordedEndpoint,
        tape: RecordingFile,
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
        self._stops: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_stopping = False
        self._is_interruptible = False
        self._last: bytes | tuple[str, int | None] | None = None
        self.changes = 0
        self.gaps = 0

    @property
    def seconds(self) -> float:
        """How long it has been recording."""
        return (self._clock.elapsed() - self._began_at).total_seconds()

    def stop(self, *_: object) -> None:
        """Stop as soon as the file is whole. Safe in a signal handler: this queue's `put` takes no lock."""
        self._is_stopping = True
        self._stops.put(None)
        if self._is_interruptible:
            raise _Stopped

    def run(self) -> None:
        """Record until the end."""
        try:
            self.begin()
            while not self._is_over():
                asked_at = self.seconds
                self.poll()
                self._pause_until(asked_at + self._every_seconds)
        except _Stopped:
            pass
        self.end()

    def poll(self) -> None:
        """Poll once, and write down a change."""
        self._note(self._unless_stopped(self._source.get))

    def end(self) -> None:
        """Write the end line."""
        self._tape.write(RecordingLine(self._clock.now(), self.seconds, end=True))

    def begin(self) -> None:
        """Write the header."""
        at = self._clock.now()
        name = ""
        try:
            name = self._unless_stopped(self._source.name)
        finally:  # a file always has a header
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
        self._is_interruptible = True
        try:
            return ask()
        finally:
            self._is_interruptible = False

    def _pause_until(self, seconds: float) -> None:
        if self._limit is not None:
            seconds = min(seconds, self._limit.total_seconds())
        with suppress(queue.Empty):
            self._stops.get(timeout=max(0.0, seconds - self.seconds))

    def _note(self, answer: bytes | EndpointFailure) -> None:
        """Write an answer, unless it is the same as the last."""
        said = (answer.error, answer.status) if isinstance(answer, EndpointFailure) else answer
        if said == self._last:
            return
        self._last = said
        at, seconds, version = self._clock.now(), self.seconds, self._source.api_version
        if isinstance(answer, EndpointFailure):
            self.gaps += 1
            line = RecordingLine(at, seconds, error=answer.error, status=answer.status, message=answer.message)
        else:
            self.changes += 1
            line = RecordingLine(at, seconds, version, document=answer.decode())
        self._tape.write(line)
        self._tell(line)

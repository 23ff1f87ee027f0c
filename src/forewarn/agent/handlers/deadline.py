"""The time that an attempt has, and the word to give up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Deadline:
    """So many seconds from now, or sooner when `stop` is set. In real time, as all that handlers wait for."""

    def __init__(
        self, seconds: float, stop: threading.Event | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._stop = stop or threading.Event()
        self._monotonic = monotonic
        self._began_at = monotonic()
        self._whole: Deadline | None = None  # that this one is a part of

    @property
    def passed(self) -> float:
        """How many seconds have passed."""
        return self._monotonic() - self._began_at

    @property
    def left(self) -> float:
        """How many seconds are left; none after the word to give up."""
        return 0.0 if self._stop.is_set() else max(0.0, self._seconds - self.passed)

    @property
    def is_over(self) -> bool:
        """Whether it is time to give up."""
        return self.left <= 0

    def within(self, seconds: float) -> Deadline:
        """A part of it: at most so many seconds, from now."""
        part = Deadline(min(seconds, self.left), self._stop, self._monotonic)
        part._whole = self
        return part

    def pause(self, seconds: float) -> bool:
        """Wait so long, or until it is over; whether there is time left."""
        self._stop.wait(min(seconds, self.left))
        return not self.is_over

    def why(self) -> str:
        """Why it is over."""
        if self._whole is not None and self._whole.is_over:
            return self._whole.why()
        return "it was told to stop" if self._stop.is_set() else f"its time of {self._seconds:.3g} s was up"

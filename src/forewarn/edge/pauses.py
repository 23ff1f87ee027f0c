"""Answers that take their time on purpose: nobody else waits, and a service that stops sends them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

Then = Callable[[], None]

_DROPS = 20


class Lull:
    """Waits, then goes on. It is real time that passes, as of every time-out."""

    __slots__ = ("_give_up", "_go_on", "_timer")

    def __init__(self, seconds: float, go_on: Then, give_up: Then) -> None:
        self._go_on = go_on
        self._give_up = give_up
        self._timer = asyncio.get_running_loop().call_later(seconds, go_on)

    def release(self) -> None:
        """Go on now."""
        self._timer.cancel()
        self._go_on()

    def drop(self) -> None:
        """Wait no longer: nobody is there."""
        self._timer.cancel()
        self._give_up()


class Drip:
    """Writes bytes drop by drop."""

    __slots__ = ("_drop_bytes", "_ended", "_give_up", "_left", "_pause", "_timer", "_transport")

    def __init__(
        self, transport: asyncio.Transport, rest: bytes, seconds: float, ended: Then, give_up: Then
    ) -> None:
        self._transport = transport
        self._left = rest
        self._drop_bytes = max(1, -(-len(rest) // _DROPS))
        self._pause = seconds / max(1, -(-len(rest) // self._drop_bytes))
        self._ended = ended
        self._give_up = give_up
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._fall)

    def _fall(self) -> None:
        drop, self._left = self._left[: self._drop_bytes], self._left[self._drop_bytes :]
        self._transport.write(drop)
        if self._left:
            self._timer = asyncio.get_running_loop().call_later(self._pause, self._fall)
        else:
            self._ended()

    def release(self) -> None:
        """Write the rest at once."""
        self._timer.cancel()
        self._transport.write(self._left)
        self._ended()

    def drop(self) -> None:
        """Write no more: nobody is there."""
        self._timer.cancel()
        self._give_up()

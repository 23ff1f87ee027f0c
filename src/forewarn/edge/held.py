"""A request that waits for the document to change (`Prefer: wait`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from forewarn.board.board import Guest
from forewarn.edge.responses import has_news
from forewarn.wire.imds.request import ReadEvents


class Pause(Protocol):
    """Something that a connection waits for before it goes on."""

    def release(self) -> None:
        """Go on now."""

    def drop(self) -> None:
        """Wait no longer, for nothing."""


class HeldRequest:
    """Waits until the guest would be told something new, is no longer who it was, or has waited long enough."""

    __slots__ = ("_answer", "_guest", "_panel", "_timer", "_wish")

    def __init__(self, wish: ReadEvents, guest: Guest, seconds: float, answer: Callable[[], None]) -> None:
        self._wish = wish
        self._guest = guest
        self._panel = guest.panel
        self._answer = answer
        self._timer = asyncio.get_running_loop().call_later(seconds, self.release)
        self._panel.waiters[self.wake] = None

    def wake(self) -> None:
        """Something has changed: answer, unless it is nothing to this guest."""
        if self._guest.is_gone or has_news(self._wish, self._panel.page):
            self.release()
        else:
            self._panel.waiters[self.wake] = None

    def release(self) -> None:
        """Answer now."""
        self.drop()
        self._answer()

    def drop(self) -> None:
        """Wait no longer."""
        self._timer.cancel()
        self._panel.waiters.pop(self.wake, None)

"""One request of a guest and what came of it, for whoever looks on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from forewarn.board.board import Guest
from forewarn.wire.imds.request import Request, Wish


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, by a guest that is known."""

    guest: Guest
    request: Request
    wish: Wish | None  # None: it is not understood yet, or was refused before it was
    asked_at: float  # monotonic seconds


class Witness(Protocol):
    """Looks on at what guests ask and are answered. Called on the listeners' thread; must return at once."""

    def begin(self, exchange: Exchange) -> None:
        """A request has come, and is not understood yet: `note` or `leave` follows."""

    def leave(self, exchange: Exchange, fault: str = "", *, is_done: bool = False) -> None:
        """Whoever asked did not wait for the answer. `fault`: the name of the fault that made it late."""

    def note(
        self,
        exchange: Exchange,
        status: int,
        body: bytes,
        fault: str = "",
        *,
        is_done: bool = False,
        wait_seconds: float = 0.0,
    ) -> None:
        """A request is answered now; status 0: with a hang-up. `fault`: the name of the fault that was put in.

        `is_done`, here and where somebody left: what was asked for was done, though that was not told.
        `wait_seconds`: how long the answer asks the guest not to come back.
        """

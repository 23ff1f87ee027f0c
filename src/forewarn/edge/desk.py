"""What all of the guests' connections share: the board, the limits, and what was judged before."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forewarn.board.board import Board, Panel
from forewarn.board.tally import Tally
from forewarn.core.refusal import Refusal
from forewarn.edge.limits import Limits, RateLimiter
from forewarn.wire.imds.instance import Site
from forewarn.wire.imds.versions import EventsVersion

if TYPE_CHECKING:
    from forewarn.edge.connection import GuestConnection

Approve = Callable[[str, tuple[str, ...]], Awaitable[Refusal | None]]
FirstPoll = Callable[[str], Awaitable[Refusal | None]]

_MOST_REMEMBERED = 4096
_LONGEST_REMEMBERED = 2048


class Judged:
    """What is remembered of a request: its version, the tags it names, and whether the connection ends with it."""

    __slots__ = ("closes", "tags", "version")

    def __init__(self, version: EventsVersion, tags: str | None, *, closes: bool) -> None:
        self.version = version
        self.tags = tags
        self.closes = closes


class Strangers:
    """Callers that are no guests, counted together."""

    def __init__(self) -> None:
        self.connections = 0


@dataclass(slots=True)
class Desk:
    """What every connection needs at hand."""

    board: Board
    approve: Approve
    first_poll: FirstPoll
    limits: Limits = field(default_factory=Limits)
    site: Site = field(default_factory=Site)
    first_call_delay: float = 0.0
    now: Callable[[], float] = time.monotonic
    limiter: RateLimiter = field(init=False)
    polled: dict[Panel, None] = field(init=False)
    date: bytes = b""
    tally: Tally = field(default_factory=Tally)
    remembered: dict[bytes, Judged] = field(default_factory=dict)
    connections: set[GuestConnection] = field(default_factory=set)
    strangers: Strangers = field(default_factory=Strangers)

    def __post_init__(self) -> None:
        self.limiter = RateLimiter(self.limits.requests_per_second)
        self.polled = self.board.polled

    def remember(self, request: bytes, judged: Judged) -> None:
        """Keep what was judged, as long as there is room."""
        if len(request) <= _LONGEST_REMEMBERED:
            if len(self.remembered) >= _MOST_REMEMBERED:
                self.remembered.clear()
            self.remembered[bytes(request)] = judged

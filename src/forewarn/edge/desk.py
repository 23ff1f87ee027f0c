"""What all of the guests' connections share: the board, the limits, and what was judged before."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from forewarn.board.board import Board, Panel
from forewarn.board.faults import FaultBook
from forewarn.board.tally import Tally
from forewarn.core.fault import Fault
from forewarn.core.refusal import Refusal
from forewarn.edge.exchange import Witness
from forewarn.edge.limits import Limits, RateLimiter
from forewarn.errors import Stopping
from forewarn.wire.imds.instance import Site
from forewarn.wire.imds.versions import EventsVersion
from forewarn.wire.times import rfc1123

if TYPE_CHECKING:
    from forewarn.edge.connection import GuestConnection

Approve = Callable[[str, tuple[str, ...]], Awaitable[Refusal | None]]
FirstPoll = Callable[[str], Awaitable[Refusal | None]]
Mark = Callable[[str, tuple[str, ...], Fault], Awaitable[None]]

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
    witness: Witness | None = None  # who looks on; to be there before the listener opens
    faults: FaultBook | None = None  # None: none can be put in
    mark: Mark | None = None  # writes down of which events a guest is told what is not so
    limiter: RateLimiter = field(init=False)
    polled: dict[Panel, None] = field(init=False)
    date: bytes = b""
    tally: Tally = field(default_factory=Tally)
    remembered: dict[bytes, Judged] = field(default_factory=dict)
    marked: set[tuple[str, Fault]] = field(default_factory=set)  # events and the faults that they have the mark of
    connections: set[GuestConnection] = field(default_factory=set)
    strangers: Strangers = field(default_factory=Strangers)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)  # set when the listener closes

    def __post_init__(self) -> None:
        self.limiter = RateLimiter(self.limits.requests_per_second)
        self.polled = self.board.polled
        if self.faults is not None:
            self.faults.on_change = self._forget

    @property
    def is_watched(self) -> bool:
        """Whether somebody looks on, or a fault may strike: then each request is read, and none remembered."""
        return self.witness is not None or (self.faults is not None and bool(self.faults.on_requests))

    async def take_time_for_a_first_call(self) -> None:
        """Returns when a first call has taken as long as it should; raises `Stopping` when the listener closes."""
        if self.first_call_delay:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.first_call_delay):
                    await self.stopping.wait()
                    raise Stopping("The service is stopping.", "Try again when it is back.")

    def tell_date(self, now: datetime) -> None:
        """What answers say about the time from now on; ready ones are dated anew only when it is another."""
        date = date_line(now)
        if date != self.date:
            self.date = date

    def _forget(self) -> None:
        """Judge every request anew. Another thread may be remembering one: it keeps it where nobody looks."""
        self.remembered = {}

    def remember(self, request: bytes, judged: Judged) -> None:
        """Keep what was judged, as long as there is room and nobody looks on."""
        remembered = self.remembered  # first: what is watched from now on is remembered elsewhere
        if len(request) <= _LONGEST_REMEMBERED and not self.is_watched:
            if len(remembered) >= _MOST_REMEMBERED:
                remembered.clear()
            remembered[bytes(request)] = judged


def date_line(now: datetime) -> bytes:
    """The header of an answer that says what time it is."""
    return f"Date: {rfc1123(now)}\r\n".encode("ascii")

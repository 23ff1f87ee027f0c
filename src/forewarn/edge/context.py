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
from forewarn.board.faults import FaultBook, Posted
from forewarn.board.tally import Tally
from forewarn.core.fault import Fault
from forewarn.core.refusal import Refusal
from forewarn.edge.exchange import Witness
from forewarn.edge.limits import GuestLimits, RateLimiter
from forewarn.errors import Stopping
from forewarn.wire.imds.hosts import LocalHosts, is_loopback
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


class Gate:
    """The Host headers that one kind of local address accepts, and the requests that were judged by that rule.

    Each gate remembers for itself: a request that one accepts is no request that the other accepts.
    """

    __slots__ = ("hosts", "remembered")

    def __init__(self, hosts: LocalHosts | None) -> None:
        self.hosts = hosts  # None: any
        self.remembered: dict[bytes, Judged] = {}


class Strangers:
    """Callers that are no guests, counted together."""

    def __init__(self) -> None:
        self.connections = 0


@dataclass(slots=True)
class EdgeContext:
    """What every connection needs at hand."""

    board: Board
    approve: Approve
    first_poll: FirstPoll
    limits: GuestLimits = field(default_factory=GuestLimits)
    site: Site = field(default_factory=Site)
    first_call_delay: float = 0.0
    host_names: tuple[str, ...] = ()  # more that a loopback address accepts in a Host header
    now: Callable[[], float] = time.monotonic
    witness: Witness | None = None  # who looks on; to be there before the listener opens
    faults: FaultBook | None = None  # None: none can be put in
    mark: Mark | None = None  # writes down of which events a guest is told what is not so
    limiter: RateLimiter = field(init=False)
    polled: dict[Panel, None] = field(init=False)
    date: bytes = b""
    tally: Tally = field(default_factory=Tally)
    from_loopback: Gate = field(init=False)  # where browsers can call
    from_network: Gate = field(init=False)
    marked: set[tuple[str, Fault]] = field(default_factory=set)  # events and the faults that they have the mark of
    connections: set[GuestConnection] = field(default_factory=set)
    strangers: Strangers = field(default_factory=Strangers)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)  # set when the listener closes

    def __post_init__(self) -> None:
        self.limiter = RateLimiter(self.limits.requests_per_second)
        self.polled = self.board.polled
        self.from_loopback = Gate(LocalHosts(self.host_names))
        self.from_network = Gate(None)
        if self.faults is not None:
            self.faults.added.subscribe(self._forget)

    def gate_at(self, address: str) -> Gate:
        """The gate of a connection, by the local address that it came in on."""
        return self.from_loopback if is_loopback(address) else self.from_network

    @property
    def is_watched(self) -> bool:
        """Whether somebody looks on, or a fault may hit: then each request is read, and none remembered."""
        return self.witness is not None or (self.faults is not None and bool(self.faults.on_requests))

    def begin_first_call(self, panel: Panel) -> None:
        """Note when a scope that is being turned on will be ready, whether or not the client waits for it."""
        now = self.now()
        if not panel.is_on and panel.ready_at <= now:
            panel.ready_at = now + self.first_call_delay

    async def until_ready(self, panel: Panel) -> None:
        """Return when the scope answers; raise `Stopping` when the listener closes."""
        while (seconds := panel.ready_at - self.now()) > 0:  # timers may fire a little early
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.stopping.wait()
                    raise Stopping("The service is stopping.", "Try again when it is back.")

    def tell_date(self, now: datetime) -> None:
        """What answers say about the time from now on; ready ones are dated anew only when it is another."""
        date = date_line(now)
        if date != self.date:
            self.date = date

    def _forget(self, _: Posted) -> None:
        """Judge every request anew. Another thread may be remembering one: it keeps it where nobody looks."""
        self.from_loopback.remembered = {}
        self.from_network.remembered = {}

    def remember(self, gate: Gate, request: bytes, judged: Judged) -> None:
        """Keep what was judged, as long as there is room and nobody looks on."""
        remembered = gate.remembered  # first: what is watched from now on is remembered elsewhere
        if len(request) <= _LONGEST_REMEMBERED and not self.is_watched:
            if len(remembered) >= _MOST_REMEMBERED:
                remembered.clear()
            remembered[bytes(request)] = judged


def date_line(now: datetime) -> bytes:
    """The header of an answer that says what time it is."""
    return f"Date: {rfc1123(now)}\r\n".encode("ascii")

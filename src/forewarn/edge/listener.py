"""The sockets on which guests are heard.

A caller is known by the interface or the port it came in on, where it has one to itself, else by its address. On
one machine, a loopback caller whose address names no VM, not even one that is gone, may be given the name of one;
any caller may, where all of them are the same guest.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from ipaddress import ip_address
from typing import NamedTuple, Protocol

from forewarn.binding import bind_failure
from forewarn.board.board import Board, Guest, wake_waiters
from forewarn.descriptors import ExhaustionLog
from forewarn.edge.connection import GuestConnection, Resolve
from forewarn.edge.context import EdgeContext
from forewarn.edge.watched import WatchedConnection
from forewarn.errors import ConfigError
from forewarn.logs import get_logger

log = get_logger()

_BACKLOG = 4096
_SWEEP_SECONDS = 1.0
_TELL_AGAIN_SECONDS = 60.0
_DATE_SECONDS = 0.5
_GOODBYE_SECONDS = 2.0
_GOODBYE_LOOKS = 100


class ListenAddress(NamedTuple):
    """Where callers come in."""

    host: str
    port: int
    interface: str | None = None
    device: int | None = None  # the kernel's number of the interface

    def __str__(self) -> str:
        return f"{self.host}:{self.port}" + (f" on {self.interface}" if self.interface else "")


class BindFailure(NamedTuple):
    """Why a way cannot be opened, and when that was last told."""

    problem: str
    told_at: float


class Dial(Protocol):
    """A clock, as far as the date of answers goes."""

    @property
    def runs(self) -> bool:
        """Whether time passes by itself."""

    def now(self) -> datetime:
        """What time it is."""


class GuestListener:
    """Opens, keeps and closes the guests' sockets; lives on one event loop."""

    def __init__(
        self, context: EdgeContext, clock: Dial, default_guest: str | None = None, *, is_anybody: bool = False
    ) -> None:
        self._context = context
        self._clock = clock
        self.default_guest = default_guest
        self._is_anybody = is_anybody  # the default guest: wherever the caller is
        self._servers: list[asyncio.Server] = []
        self._own: dict[ListenAddress, asyncio.Server] = {}  # ports and interfaces that belong to one guest each
        self._shut: dict[ListenAddress, BindFailure] = {}  # those that cannot be opened
        self._opening = asyncio.Lock()
        self._chores: list[asyncio.Task[None]] = []
        self._listening: list[tuple[str, int]] = []
        self._looked_at: dict[str, int | None] = {}
        self._stop_waking: Callable[[], None] = _do_nothing
        self._stop_reopening: Callable[[], None] = _do_nothing
        self._exhaustion = ExhaustionLog("guests", context.now)

    async def open(
        self, addresses: Sequence[tuple[str, int]], opened: Sequence[socket.socket] = ()
    ) -> list[tuple[str, int]]:
        """Listen there, and on sockets that are open already; the addresses with the ports that were taken."""
        loop = asyncio.get_running_loop()
        board = self._context.board
        self._stop_waking = board.changed.subscribe(partial(_hand_over, loop, wake_waiters))
        for host, port in addresses:
            way = _probe(ListenAddress(host, port))
            self._servers.append(await self._listen(way, self._by_address, is_shared=True))
            self._listening.append((way.host, way.port))
        for each in opened:
            self._servers.append(await self._serve(each, self._by_address))
        await self._open_own()
        self._stop_reopening = board.ways_changed.subscribe(partial(_hand_over, loop, self._reopen_own))
        self.tell_date(self._clock.now())
        self._chores = [loop.create_task(self._sweep())]
        if self._clock.runs:  # whoever moves one that does not, has it told then
            self._chores.append(loop.create_task(self._keep_date()))
        return [*self._listening, *(each.getsockname()[:2] for each in opened)]

    async def _listen(self, way: ListenAddress, resolve: Resolve, *, is_shared: bool) -> asyncio.Server:
        bound = _bind(way, is_shared=is_shared)
        try:
            return await self._serve(bound, resolve)
        except BaseException as problem:
            bound.close()
            if isinstance(problem, OSError):
                raise _unheard(way, problem) from problem
            raise

    async def _serve(self, bound: socket.socket, resolve: Resolve) -> asyncio.Server:
        may_be_watched = self._context.witness is not None or self._context.faults is not None
        connection = partial(WatchedConnection if may_be_watched else GuestConnection, self._context, resolve)
        return await asyncio.get_running_loop().create_server(connection, sock=bound, backlog=_BACKLOG)

    # Who is calling.

    def _by_address(self, address: str) -> Guest | None:
        board = self._context.board
        guest = board.guest_at(address)
        if guest is None and self.default_guest is not None:
            return board.guests.get(self.default_guest) if self._may_be_anybody(address) else None
        return guest

    def _may_be_anybody(self, address: str) -> bool:
        return self._is_anybody or (ip_address(address).is_loopback and not self._context.board.is_left(address))

    # Ports and interfaces of one guest each.

    async def _open_own(self) -> None:
        """Listen where the fleet says by now; what is not there or not free is tried again later."""
        async with self._opening:
            if self._context.stopping.is_set():
                return
            wanted = self._wanted_ways()
            for way in [way for way in self._own if way not in wanted]:
                self._own.pop(way).close()
            self._shut = {way: shut for way, shut in self._shut.items() if way in wanted}
            for way, resolve in wanted.items():
                if way not in self._own:
                    await self._try_open(way, resolve)

    async def catch_up(self) -> dict[ListenAddress, str]:
        """Listen where the fleet says by now, without waiting to be told; what stays shut, and why."""
        await self._open_own()
        return {way: shut.problem for way, shut in self._shut.items()}

    async def _try_open(self, way: ListenAddress, resolve: Resolve) -> None:
        try:
            self._own[way] = await self._listen(way, resolve, is_shared=way.interface is not None)
        except ConfigError as problem:
            now = self._context.now()
            if way not in self._shut or now - self._shut[way].told_at >= _TELL_AGAIN_SECONDS:
                self._shut[way] = BindFailure(problem.message, now)
                log.warning("guest cannot be heard", problem=problem.message, hint="it is tried every second")
        else:
            if self._shut.pop(way, None) is not None:
                log.info("guest can be heard", way=str(way))

    def _wanted_ways(self) -> dict[ListenAddress, Resolve]:
        board = self._context.board
        wanted: dict[ListenAddress, Resolve] = {}
        for port in board.ports:
            for host in dict.fromkeys(host for host, _ in self._listening):
                wanted[ListenAddress(host, port)] = partial(_on_port, board, port)
        before, self._looked_at = self._looked_at, {each: _index_of(each) for each in board.interfaces}
        for interface, index in self._looked_at.items():
            if index is None:
                if before.get(interface, 0) is not None:  # once is enough
                    log.warning("interface not there", interface=interface, hint="it is looked for every second")
                continue
            for host, port in self._listening:
                wanted[ListenAddress(host, port, interface, index)] = partial(_behind, board, interface)
        return wanted

    async def _look_again(self) -> None:
        """Try what was shut; and a tap that is made anew under its old name is another device."""
        if self._shut or any(_index_of(interface) != index for interface, index in self._looked_at.items()):
            await self._open_own()

    def _reopen_own(self, _: None) -> None:
        self._chores.append(asyncio.get_running_loop().create_task(self._open_own()))

    # Chores.

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = self._context.now()
            self._exhaustion.probe()
            for connection in list(self._context.connections):
                with _told():
                    connection.sweep(now)
            with _told():
                await self._look_again()
            self._chores = [chore for chore in self._chores if not chore.done()]

    async def _keep_date(self) -> None:
        while True:
            self.tell_date(self._clock.now())
            await asyncio.sleep(_DATE_SECONDS)

    def tell_date(self, now: datetime) -> None:
        """Let answers have this date. On any thread: it is one assignment."""
        self._context.tell_date(now)

    async def close(self) -> None:
        """Hear nobody new, answer who waits, hang up; who is still there then is cut off."""
        context = self._context
        context.stopping.set()
        self._stop_reopening()
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        async with self._opening:  # what was being opened is open by now, and nothing more will be
            for server in (*self._servers, *self._own.values()):
                server.close()
        if not await self._have_left(GuestConnection.finish):
            log.info("guests cut off", connections=len(context.connections))
            await self._have_left(GuestConnection.abort)
        self._stop_waking()

    async def _have_left(self, ask: Callable[[GuestConnection], None]) -> bool:
        """Whether all guests have left soon after they were asked to; so is who came in at the last moment."""
        for _ in range(_GOODBYE_LOOKS):
            for connection in list(self._context.connections):
                with _told():
                    ask(connection)
            if not self._context.connections:
                return True
            await asyncio.sleep(_GOODBYE_SECONDS / _GOODBYE_LOOKS)
        return False


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong in a chore is told, and is not the trouble of the others; the next round is as good."""
    try:
        yield
    except Exception:
        log.exception("chore failed")


def _do_nothing() -> None:
    """What ends a subscription before there is one."""


def _on_port(board: Board, port: int, _address: str) -> Guest | None:
    return board.guest_on_port(port)


def _behind(board: Board, interface: str, _address: str) -> Guest | None:
    return board.guest_behind(interface)


def _hand_over(loop: asyncio.AbstractEventLoop, act: Callable[..., None], *what: object) -> None:
    """Let the listener's own thread do it; after the loop has closed there is nobody left to tell."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(act, *what)


def _index_of(interface: str) -> int | None:
    try:
        return socket.if_nametoindex(interface)
    except OSError:
        return None


def _probe(way: ListenAddress) -> ListenAddress:
    """The way with its port, once it is sure that nobody else listens there: sharing would hide that."""
    probe = _bind(way, is_shared=False)
    port = probe.getsockname()[1]
    probe.close()
    return ListenAddress(way.host, port)


def _bind(way: ListenAddress, *, is_shared: bool) -> socket.socket:
    """A bound socket, or a sentence about why there is none."""
    host, port, interface, _ = way
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.socket(family, socket.SOCK_STREAM)
    except OSError as problem:
        raise _unheard(way, problem) from problem
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if is_shared:  # the same address once for all and once per interface
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if interface is not None:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode() + b"\0")
        bound.bind((host, port))
    except OSError as problem:
        bound.close()
        raise _unheard(way, problem) from problem
    bound.setblocking(False)  # noqa: FBT003 - the standard library's own signature
    return bound


def _unheard(way: ListenAddress, problem: OSError) -> ConfigError:
    return bind_failure("guest listener", str(way), way.port, "--metadata", problem)

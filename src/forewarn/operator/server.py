"""The operators' listener: it accepts connections within limits and lets uvicorn serve the app on them.

It leaves signals alone, and it starts and stops as fast as it can: a test that needs a service should not have to
wait for it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.applications import Starlette

from forewarn.binding import bind_failure
from forewarn.config_values import Address, show_address
from forewarn.descriptors import ExhaustionLog, is_exhaustion
from forewarn.logs import get_logger
from forewarn.operator.connection import OperatorConnection, OperatorLimits
from forewarn.operator.pacing import Pacer

log = get_logger()

_DATE_SECONDS = 1.0
_GOODBYE_SECONDS = 2.0
_CANCEL_SECONDS = 1.0
_LOOK_SECONDS = 0.005
_BACKLOG = 128
_HANDSHAKES_AT_ONCE = 256
_RETRY_ACCEPT_SECONDS = 1.0
_LOG_AGAIN_SECONDS = 60.0


class OperatorServer(uvicorn.Server):
    """Serves one app on one bound socket until it is stopped."""

    def __init__(
        self,
        app: Starlette,
        bound: socket.socket,
        tls: ssl.SSLContext | None = None,
        limits: OperatorLimits | None = None,
    ) -> None:
        config = uvicorn.Config(
            app,
            http="httptools",
            log_config=None,
            log_level="error",  # a client must not be able to fill the log
            lifespan="off",
            access_log=False,
            ws="none",
            server_header=False,
            proxy_headers=False,  # who guesses is told apart by the address that called, not by one that it claims
        )
        config.load()
        super().__init__(config)
        self.limits = limits or OperatorLimits()
        now = asyncio.get_running_loop().time
        self._handshakes = Pacer(self.limits.handshakes_per_second, _HANDSHAKES_AT_ONCE)
        self._tls = tls
        self._bound = bound
        self._open: set[OperatorConnection] = set()
        self._waiting: dict[OperatorConnection, None] = {}  # for their clients; longest first
        self._to_parse: dict[OperatorConnection, None] = {}  # in turn
        self._opening: set[asyncio.Task[None]] = set()
        self._exhaustion = ExhaustionLog("operators", now)
        self._full_since_log = 0
        self._full_logged_at = -_LOG_AGAIN_SECONDS
        self._is_up = asyncio.Event()
        self._is_stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Serve; returns when operators may call."""
        self._task = asyncio.create_task(self.serve(sockets=[self._bound]))
        up = asyncio.create_task(self._is_up.wait())
        await asyncio.wait({self._task, up}, return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            up.cancel()
            await self._task

    async def stop(self) -> None:
        """Finish what is being answered, then end."""
        self._is_stopping.set()
        if self._task is not None:
            await self._task

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the process, not to one of its listeners."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Listen. Connections are accepted here, not by the loop: only so can they be limited from the start."""
        self.servers = []
        self._bound.setblocking(False)  # noqa: FBT003 - the standard library's own signature
        self._bound.listen(_BACKLOG)
        self._accepting = asyncio.create_task(self._accept())
        self.started = True

    async def main_loop(self) -> None:
        """Keep the date in the headers right until it is time to stop."""
        self._is_up.set()
        while not self._is_stopping.is_set():
            await self.on_tick(0)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_stopping.wait(), _DATE_SECONDS)

    # Accepting.

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        is_failing = False
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._bound)
            except ConnectionAbortedError:  # the client has gone already
                await asyncio.sleep(0)
                continue
            except OSError as problem:
                if is_exhaustion(problem):
                    self._exhaustion.note(problem)
                elif not is_failing:
                    is_failing = True
                    log.warning("cannot accept operator connections; retrying every second", problem=str(problem))
                await asyncio.sleep(_RETRY_ACCEPT_SECONDS)
                continue
            is_failing = False
            try:
                self._admit(accepted)
            except Exception:  # a bug must not end the loop: the port would stay open and answer nobody
                log.exception("operator connection failed unexpectedly")
                accepted.close()
            await asyncio.sleep(0)  # guests are answered between two connections of operators
            if self._tls is not None:
                await self._handshakes.turn()

    def _admit(self, accepted: socket.socket) -> None:
        """Serve the connection; beyond the limit close the one that has waited longest, or else the new one."""
        if len(self._open) >= self.limits.connections:
            self._log_full()
            longest = next(iter(self._waiting), None)
            if longest is None:
                accepted.close()
                return
            self.end_wait(longest)
            longest.evict()
        connection = OperatorConnection(self.config, self.server_state, self, accepted)
        self._open.add(connection)
        self.begin_wait(connection)
        opening = asyncio.create_task(self._serve_connection(connection, accepted))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    async def _serve_connection(self, connection: OperatorConnection, accepted: socket.socket) -> None:
        accepted.setblocking(False)  # noqa: FBT003 - the standard library's own signature
        within = {
            "ssl": self._tls,
            "ssl_handshake_timeout": self.limits.head_seconds,
            "ssl_shutdown_timeout": self.limits.stall_seconds,
        }
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                accepted,
                **(within if self._tls else {}),  # type: ignore[arg-type] # each of its own type
            )
        except BaseException as problem:
            accepted.close()
            self.forget(connection)
            if not isinstance(problem, OSError):  # a handshake that failed is the client's trouble
                raise

    def _log_full(self) -> None:
        self._full_since_log += 1
        now = asyncio.get_running_loop().time()
        if now - self._full_logged_at >= _LOG_AGAIN_SECONDS:
            log.warning(
                "operator connection limit reached",
                limit=self.limits.connections,
                connections_over_limit=self._full_since_log,
                hint="raise it with --operator-connections, or find who opens so many",
            )
            self._full_logged_at, self._full_since_log = now, 0

    # What connections report.

    def parse_soon(self, connection: OperatorConnection) -> None:
        """Let the connection parse a piece when it is its turn.

        One piece of all connections in each round of the loop: guests are answered in between.
        """
        if connection in self._to_parse:
            return
        if not self._to_parse:
            asyncio.get_running_loop().call_soon(self._parse_next)
        self._to_parse[connection] = None

    def _parse_next(self) -> None:
        connection = next(iter(self._to_parse))
        del self._to_parse[connection]
        if self._to_parse:
            asyncio.get_running_loop().call_soon(self._parse_next)
        connection.parse_piece()

    def begin_wait(self, connection: OperatorConnection) -> None:
        """The connection waits for its client: to send a request, or to read an answer that is complete."""
        self._waiting[connection] = None

    def end_wait(self, connection: OperatorConnection) -> None:
        """The connection has a request to answer."""
        self._waiting.pop(connection, None)

    def forget(self, connection: OperatorConnection) -> None:
        """The connection is closed."""
        self._open.discard(connection)
        self.end_wait(connection)

    # Stopping.

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Accept nobody new; let running requests finish for a while, then end them."""
        self._accepting.cancel()
        await asyncio.gather(self._accepting, return_exceptions=True)
        self._bound.close()
        for opening in self._opening:
            opening.cancel()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        for _ in range(int(_GOODBYE_SECONDS / _LOOK_SECONDS)):
            if not state.connections and not state.tasks:
                return
            await asyncio.sleep(_LOOK_SECONDS)
        unfinished = list(state.tasks)
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished, timeout=_CANCEL_SECONDS)
        for left in list(self._open):
            if left in state.connections:
                left.abort()


def bind(address: Address) -> socket.socket:
    """A bound socket, or a sentence about why there is none."""
    host, port = address
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as problem:
        bound.close()
        raise bind_failure("operator listener", show_address(address), port, "--operator", problem) from problem
    return bound

"""An operators' listener with limits of the test's choice, in front of a small app."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from forewarn.cli.serve import loop_factory
from forewarn.errors import StoreUnavailable
from forewarn.operator.connection import OperatorConnection, OperatorLimits, await_turn
from forewarn.operator.pacing import Pacer
from forewarn.operator.server import OperatorServer, bind
from tests.running import wait_until

GET = b"GET /at-once HTTP/1.1\r\nHost: localhost\r\n\r\n"

LONG = {"head_seconds": 600, "body_seconds": 600}  # only the test ends it, whatever else the machine does

LARGE_BYTES = 16 * 1024 * 1024  # more than the kernel takes from a server whose client does not read


class Listener:
    """The listener, on a loop and a thread of its own."""

    def __init__(self, limits: OperatorLimits, tls: ssl.SSLContext | None) -> None:
        self._loop = loop_factory()()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.may_answer = asyncio.Event()
        self.answered: list[str] = []
        self.is_asked = threading.Event()
        self._wires: list[socket.socket] = []
        bound = bind(("127.0.0.1", 0))
        self.port: int = bound.getsockname()[1]
        routes = [
            Route("/at-once", self._at_once, methods=["GET", "POST"]),
            Route("/later", self._later, methods=["GET", "POST"]),
            Route("/body", self._body, methods=["POST"]),
            Route("/endless", self._endless),
            Route("/large", self._large),
            Route("/fails", self._fails),
            Route("/paced", self._paced),
        ]
        self.on_loop(self._start(Starlette(routes=routes), bound, tls, limits))

    async def _start(
        self, app: Starlette, bound: socket.socket, tls: ssl.SSLContext | None, limits: OperatorLimits
    ) -> None:
        self.server = OperatorServer(app, bound, tls, limits)
        self.pacer = Pacer(per_second=1e-6, burst=1)
        await self.pacer.turn()  # nobody else has a turn for days
        await self.server.start()

    def connect(self) -> socket.socket:
        """A connection to the listener; it is closed at the end at the latest."""
        wire = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        self._wires.append(wire)
        return wire

    def on_loop(self, act: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(act, self._loop).result(60)

    def soon(self, act: Any, *args: object) -> None:
        self._loop.call_soon_threadsafe(act, *args)

    def only_connection(self) -> OperatorConnection:
        """The one connection, once it is open."""
        wait_until(lambda: any(each._deadline for each in list(self.server._open)), "the connection")
        (connection,) = self.server._open
        return connection

    def count_rounds(self) -> Callable[[], int]:
        """Count the rounds of the loop from now on."""
        rounds = [0]

        def count() -> None:
            rounds[0] += 1
            self._loop.call_soon(count)

        self.soon(count)
        return lambda: rounds[0]

    def time_out(self, connection: OperatorConnection) -> None:
        """Let the deadline of a connection pass now."""
        assert connection._deadline is not None
        self.soon(connection._time_out)

    def stop(self) -> None:
        for wire in self._wires:
            wire.close()
        self.on_loop(self.server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # The app.

    async def _at_once(self, request: Request) -> Response:
        self.answered.append(request.query_params.get("n", ""))
        return PlainTextResponse("done")

    async def _later(self, _request: Request) -> Response:
        self.is_asked.set()
        await self.may_answer.wait()
        return PlainTextResponse("later")

    async def _paced(self, request: Request) -> Response:
        await await_turn(self.pacer, request.scope)
        return await self._later(request)

    def let_in(self) -> None:
        """Let the first of the paced requests begin."""
        self.pacer._waiting.popleft()[0].set_result(None)

    async def _body(self, request: Request) -> Response:
        return PlainTextResponse(str(len(await request.body())))

    async def _large(self, _request: Request) -> Response:
        return PlainTextResponse(bytes(LARGE_BYTES))

    async def _fails(self, _request: Request) -> Response:
        async def pieces() -> Any:
            yield b"some"
            raise StoreUnavailable("The store cannot be reached.", "Try again.")

        return StreamingResponse(pieces())

    async def _endless(self, _request: Request) -> Response:
        async def pieces() -> Any:
            while True:
                self.is_asked.set()
                yield await asyncio.to_thread(bytes, 65536)

        return StreamingResponse(pieces())


@contextmanager
def listening(tls: ssl.SSLContext | None = None, **limits: float) -> Iterator[Listener]:
    """A listener for the length of a block."""
    listener = Listener(OperatorLimits(**limits), tls)
    try:
        yield listener
    finally:
        listener.soon(listener.may_answer.set)
        listener.stop()


def answer(wire: socket.socket) -> bytes:
    """All that comes until the other side closes, or until a whole short answer is there."""
    got = b""
    while True:
        try:
            data = wire.recv(65536)
        except ConnectionResetError:
            return got
        if not data:
            return got
        got += data
        head, blank, body = got.partition(b"\r\n\r\n")
        if blank and len(body) == _length(head):
            return got


def _length(head: bytes) -> int:
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    return next((int(value) for name, _, value in lines if name == b"content-length"), -1)


def status(wire: socket.socket) -> int:
    """The status of the answer; 0 where the connection was closed without one."""
    got = answer(wire)
    return int(got.split()[1]) if got else 0

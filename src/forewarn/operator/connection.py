"""One operator's connection: uvicorn's HTTP protocol, with limits on bytes, time and requests.

The limits apply where bytes come in, before a request is routed or authenticated. Bytes are parsed in small
pieces, so that a limit is noticed before more than a piece has been taken in.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from forewarn.errors import ForewarnError
from forewarn.logs import get_logger
from forewarn.operator.pacing import Pacer
from forewarn.operator.refusals import TroubleCode, refuse

if TYPE_CHECKING:
    from forewarn.operator.server import OperatorServer

log = get_logger()

_CONNECTION = "forewarn.connection"  # in the scope of a request
_LINGER_SECONDS = 1.0  # for a client to read why it was refused
_SMALL_PIECE = 1024  # of a head, or of a body in chunks: each may hold hundreds of parts
_LARGE_PIECE = 16 * 1024  # of a body whose length is known
_MOST_PIPELINED = 64  # requests in one piece behind the one that is being answered
_MOST_HELD_BYTES = 1024 * 1024  # unparsed bytes; reading pauses while there are any


@dataclass(frozen=True, slots=True)
class OperatorLimits:
    """Limits on operators' clients, authenticated or not."""

    connections: int = 256
    target_bytes: int = 8 * 1024
    head_bytes: int = 64 * 1024
    header_fields: int = 128
    body_bytes: int = 64 * 1024 * 1024
    head_seconds: float = 10
    body_seconds: float = 30
    stall_seconds: float = 30
    handshakes_per_second: float = 100


# What each limit is, and what happens beyond it; the reference page is generated from it.
IN_WORDS = MappingProxyType(
    {
        "connections": "open connections, `/v1/stream` included (`--operator-connections`); a new connection then "
        "replaces the one that has waited longest for its client or turn, or is closed at once if all are busy",
        "target_bytes": "bytes of a request's target, that is path and query; then 414",
        "head_bytes": "bytes of request line and headers, or of trailers; then 431",
        "header_fields": "headers of a request; then 431",
        "body_bytes": "bytes of any body; then 413. Most routes take less and answer 400",
        "head_seconds": "seconds for the TLS handshake, and for a request's head to arrive; then 408",
        "body_seconds": "seconds for a request's body to arrive; then 408",
        "stall_seconds": "seconds during which a client takes none of its response; then the connection is closed",
        "handshakes_per_second": "TLS handshakes begun per second, after a burst of 256; further connections wait",
    }
)


class _Flow(FlowControl):
    """Reads no more from a client while bytes of its are held."""

    def __init__(self, transport: asyncio.Transport, held: bytearray) -> None:
        super().__init__(transport)
        self._held = held

    def resume_reading(self) -> None:
        """Read on, as the application wishes, once everything held has been parsed."""
        if not self._held:
            super().resume_reading()


class OperatorConnection(HttpToolsProtocol):
    """Serves one client within the limits."""

    def __init__(
        self, config: uvicorn.Config, state: ServerState, server: OperatorServer, accepted: socket.socket
    ) -> None:
        super().__init__(config, state, {})
        self.app = self._serve
        self._server = server
        self._limits = server.limits
        self._socket = accepted
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._waits_for_turn = False  # the request is paced, and not begun yet
        self._is_made = False  # a TLS handshake comes first
        self._lost = asyncio.Event()
        self._awaits_head = True
        self._has_begun = False  # whether a byte of the awaited head has come
        self._overhead = 0  # bytes of the awaited head, or around the parts of a body
        self._is_chunked = False
        self._field_count = 0
        self._body_bytes = 0
        self._objection: TroubleCode | None = None
        self._held = bytearray()
        self._running: RequestResponseCycle | None = None

    # The transport's calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Expect a request."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self._held)
        self._is_made = True
        self._set_deadline(self._limits.head_seconds)

    def connection_lost(self, problem: Exception | None) -> None:
        """Tell whoever works for this client that it is gone."""
        self._lost.set()
        self._clear_deadline()
        self.resume_writing()
        self._server.forget(self)
        if self._running is not None:  # uvicorn knows only the newest of pipelined requests
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(problem)

    def eof_received(self) -> None:
        """Take a client that sends no more for gone; the transport closes before it reports that."""
        if self._running is not None:
            self._running.disconnected = True

    def data_received(self, data: bytes) -> None:
        """Keep what has come until it is this connection's turn to be parsed, and read no more meanwhile."""
        if self._objection is not None:
            return
        self._held += data
        self.flow.pause_reading()
        if len(self._held) > _MOST_HELD_BYTES:
            self.abort()
        else:
            self._parse_soon()

    def pause_writing(self) -> None:
        """Give the client some time to take its response."""
        super().pause_writing()
        if self._stall is None:
            self._await_reading()

    def resume_writing(self) -> None:
        """Go on writing."""
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
        if self.flow is not None:
            super().resume_writing()

    def _await_reading(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(self._limits.stall_seconds, self._abort_if_stalled, unsent)

    def _abort_if_stalled(self, unsent: int) -> None:
        if self.transport.get_write_buffer_size() < unsent:
            self._await_reading()
        else:
            self.abort()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:  # noqa: ANN401 - as uvicorn has it
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    # Parsing.

    def _parse_soon(self) -> None:
        """Parse what is held, after other connections and guests; not while a request is being answered."""
        if self._held and not self._is_answering():
            self._server.parse_soon(self)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete

    def parse_piece(self) -> None:
        """Parse one piece of what is held."""
        if self._objection is not None or self._lost.is_set() or self.transport.is_closing():
            self._held.clear()
            return
        if self._is_answering():
            return
        if self._awaits_head and not self._has_begun:
            self._has_begun = True
            if self._deadline is None:
                self._set_deadline(self._limits.head_seconds)
        size = _SMALL_PIECE if self._awaits_head or self._is_chunked else _LARGE_PIECE
        piece = bytes(self._held[:size])
        del self._held[:size]
        self._overhead += len(piece)
        super().data_received(piece)
        if self._overhead > self._limits.head_bytes + self._body_bytes:  # chunks may be small, but not all of them
            self._objection = self._objection or TroubleCode.HEAD_TOO_LARGE
        if self._objection is not None:
            self._object(self._objection)
        elif self._held:
            self._parse_soon()
        elif self.cycle is None or len(self.cycle.body) <= HIGH_WATER_LIMIT:
            self.flow.resume_reading()

    # The parser's calls.

    def on_message_begin(self) -> None:
        """A request begins."""
        self._field_count = 0
        self._body_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the target."""
        if len(self.url) + len(url) > self._limits.target_bytes:
            self._objection = TroubleCode.TARGET_TOO_LONG
        else:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or a trailer."""
        self._field_count += 1
        if self._field_count > self._limits.header_fields:
            self._objection = self._objection or TroubleCode.HEAD_TOO_LARGE
        else:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete: begin the request, unless it was refused."""
        if self._objection is None and len(self.pipeline) >= _MOST_PIPELINED:
            self._objection = TroubleCode.HEAD_TOO_LARGE
        if self._objection is not None:
            return
        self._overhead = 0
        self._is_chunked = any(name == b"transfer-encoding" for name, _ in self.headers)
        self._awaits_head = False
        self._set_deadline(self._limits.body_seconds)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._overhead -= len(body)
        self._body_bytes += len(body)
        if self._body_bytes > self._limits.body_bytes:
            self._objection = self._objection or TroubleCode.BODY_TOO_LARGE
        if self._objection is None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        if self._objection is not None:
            return
        self._overhead = 0
        self._awaits_head = True
        self._has_begun = False
        self._clear_deadline()
        is_answered = self.cycle.response_complete  # as some are before their body is complete
        if not is_answered and not self._waits_for_turn:
            self._server.end_wait(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with the bytes that have come meanwhile."""
        super().on_response_complete()
        if self._lost.is_set():
            return
        if self.cycle.response_complete or self.cycle.more_body:
            self._server.begin_wait(self)
        self._parse_soon()

    # Deadlines and refusals.

    def _set_deadline(self, seconds: float) -> None:
        self._clear_deadline()
        self._deadline = self.loop.call_later(seconds, self._time_out)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _time_out(self) -> None:
        never_began = self._awaits_head and not self._has_begun
        is_answered = not self._awaits_head and self.cycle.response_complete
        if never_began or is_answered:
            self.transport.close()
        else:
            self._object(TroubleCode.TOO_SLOW)

    def _object(self, trouble: TroubleCode) -> None:
        """Refuse what is coming in, and close; a response that is under way is cut off."""
        self._objection = trouble
        self._clear_deadline()
        if self.transport.is_closing():
            return
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if self.pipeline or (is_answering and (self._awaits_head or self.cycle.response_started)):
            self.abort()
            return
        message, hint = _OBJECTIONS[trouble]
        answer = refuse(trouble, message, hint)
        status = HTTPStatus(answer.status_code)
        head = f"HTTP/1.1 {status} {status.phrase}\r\nconnection: close\r\n".encode()
        fields = b"".join(b"%s: %s\r\n" % each for each in answer.raw_headers)
        self.transport.write(head + fields + b"\r\n" + bytes(answer.body))
        if self.transport.can_write_eof():  # closing over unread bytes would reset the connection, answer and all
            self.flow.pause_reading()
            self.transport.write_eof()
            self.loop.call_later(_LINGER_SECONDS, self.abort)
        else:
            self.transport.close()

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        self._objection = self._objection or TroubleCode.STOPPING
        self.transport.abort()

    def evict(self) -> None:
        """Close a connection that waits for its client: to send a request, or to read its answer."""
        if self._is_made:
            self.abort()
            return
        with suppress(OSError):  # a handshake is under way; the client may have closed it
            self._socket.shutdown(socket.SHUT_RDWR)

    # The application's side.

    def is_connected(self) -> bool:
        """Whether the client is still there; any thread may ask."""
        return not self._lost.is_set()

    @contextmanager
    def waiting_for_turn(self) -> Iterator[None]:
        """Let a new connection replace this one inside the block: nothing is done for its request yet."""
        self._waits_for_turn = True
        if self.is_connected():
            self._server.begin_wait(self)
        try:
            yield
        finally:
            self._waits_for_turn = False
            if self._awaits_head:  # the request is complete
                self._server.end_wait(self)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer; refuse the request if the service stops meanwhile.

        A response that cannot be completed is cut off: a client must not mistake a part for the whole.
        """
        scope[_CONNECTION] = self
        has_started = False

        async def send_and_note(message: Any) -> None:  # noqa: ANN401 - what ASGI sends
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self.config.loaded_app(scope, receive, send_and_note)
        except ForewarnError as problem:  # before it starts, the application answers problems itself
            log.warning("response cut off", path=scope["path"], problem=str(problem))
            self.abort()
            await self._lost.wait()
        except asyncio.CancelledError:  # the service stops
            may_be_done = scope["method"] not in {"GET", "HEAD"}
            if has_started or may_be_done:
                self.abort()
                await self._lost.wait()
            else:
                answer = refuse(TroubleCode.STOPPING, "The service is stopping.", "Try again when it is back.")
                answer.headers["Connection"] = "close"
                await answer(scope, receive, send)


def is_connected(scope: Scope) -> bool:
    """Whether the client of a request is still there."""
    connection: OperatorConnection | None = scope.get(_CONNECTION)
    return connection is None or connection.is_connected()


async def await_turn(pacer: Pacer, scope: Scope) -> None:
    """Return when it is a request's turn, or when its client has gone."""
    connection: OperatorConnection | None = scope.get(_CONNECTION)
    with nullcontext() if connection is None else connection.waiting_for_turn():
        await pacer.turn(lambda: is_connected(scope))


_OBJECTIONS = {
    TroubleCode.TARGET_TOO_LONG: (
        "The request's path and query are too long.",
        "Send fewer or shorter parameters.",
    ),
    TroubleCode.HEAD_TOO_LARGE: ("The request's headers are too large.", "Send fewer or shorter headers."),
    TroubleCode.BODY_TOO_LARGE: ("The request's body is too large.", "Send less at once."),
    TroubleCode.TOO_SLOW: ("The request did not arrive in time.", "Send the whole request within the time limit."),
}

"""HTTP/1.1 on plain sockets, by hand: `http.client` and what it brings would double the memory of an idle agent.

As a client: one request, one answer, all of it by one deadline; no redirects, no proxies, nothing from the
environment. As a server: reading one request, and the bytes of an answer.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Union

from forewarn.agent.compat import TIMEOUTS, dataclass
from forewarn.agent.http1_stream import Closed, ExchangeFailed, Stream, Waiter, read_body, read_head
from forewarn.agent.resolving import resolve

Address = Union[tuple[str, int], str]  # host and port, or the path of a unix socket
__all__ = [
    "Address",
    "Closed",
    "Connection",
    "ExchangeFailed",
    "Request",
    "Response",
    "Waiter",
    "exchange",
    "read_request",
    "response_bytes",
]

Wrap = Callable[[socket.socket], socket.socket]  # how a connection is made secret, where it is

_BODY_BYTES = 4 * 1024 * 1024
_MOST_INTERIM_ANSWERS = 5
_INTERIM = range(100, 200)
_WITHOUT_BODY = {204, 304}
_REPEATABLE = {"GET", "HEAD", "OPTIONS"}
_REASONS = {
    200: "OK",
    202: "Accepted",
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    413: "Content Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. Names of headers are in lower case where it was read."""

    method: str
    target: str  # the path, with its query
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """What stands behind the question mark."""
        return self.target.partition("?")[2]


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connection:
    """A connection that is kept from one exchange to the next. For one thread at a time."""

    def __init__(
        self,
        address: Address,
        *,
        wrap: Wrap | None = None,
        connect_seconds: float = 10,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.address = address
        self._wrap = wrap
        self._connect_seconds = connect_seconds
        self._timer = timer
        self._socket: socket.socket | None = None

    def exchange(
        self,
        request: Request,
        seconds: float,
        most_bytes: int = _BODY_BYTES,
        waiter: Waiter | None = None,
    ) -> Response:
        """The answer to a request, all of it in time; or `ExchangeFailed`, or what the waiter raises."""
        deadline = self._timer() + seconds
        was_kept = self._keeps_on()
        try:
            return self._exchange_once(request, deadline, most_bytes, waiter)
        except Closed:
            # The other side may close what is kept at any time. Only what may be said twice is said again.
            if not was_kept or request.method not in _REPEATABLE:
                raise
        return self._exchange_once(request, deadline, most_bytes, waiter)

    def close(self) -> None:
        """Let go of the connection; the next exchange makes another."""
        kept, self._socket = self._socket, None
        if kept is not None:
            kept.close()

    def _keeps_on(self) -> bool:
        """Whether a connection is there that looks alive: nothing to read, not even its end."""
        if self._socket is None:
            return False
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except BlockingIOError:
            return True
        except OSError:
            pass
        self.close()
        return False

    def _exchange_once(
        self, request: Request, deadline: float, most_bytes: int, waiter: Waiter | None
    ) -> Response:
        is_kept = False
        try:
            stream = Stream(self._connected(deadline), deadline, self._timer, waiter)
            stream.send(request_bytes(request, self.address))
            response, is_kept = _read_response(stream, request.method, most_bytes)
        finally:
            if not is_kept:
                self.close()
        return response

    def _connected(self, deadline: float) -> socket.socket:
        if self._socket is None:
            until = min(deadline, self._timer() + self._connect_seconds)
            self._socket = _connect(self.address, until, self._timer, self._wrap)
        return self._socket


def exchange(
    address: Address, request: Request, seconds: float, *, wrap: Wrap | None = None, most_bytes: int = _BODY_BYTES
) -> Response:
    """One request over a connection of its own."""
    connection = Connection(address, wrap=wrap, connect_seconds=seconds)
    try:
        return connection.exchange(request, seconds, most_bytes)
    finally:
        connection.close()


def read_request(
    connection: socket.socket,
    seconds: float = 5,
    most_bytes: int = 64 * 1024,
    timer: Callable[[], float] = time.monotonic,
) -> Request:
    """The request that a client sends, all of it within the seconds; or `ExchangeFailed`."""
    stream = Stream(connection, timer() + seconds, timer)
    first, headers = read_head(stream)
    method, _, rest = first.partition(" ")
    target, _, protocol = rest.partition(" ")
    if not method.isalpha() or not target or not protocol.startswith("HTTP/1."):
        raise ExchangeFailed("unreadable", f"This is no request: {first[:80]!r}.")
    has_body = "content-length" in headers or "transfer-encoding" in headers
    body = read_body(stream, headers, most_bytes) if has_body else b""
    return Request(method.upper(), target, headers, body)


def response_bytes(
    status: int, body: bytes = b"", content_type: str = "", headers: Mapping[str, str] | None = None
) -> bytes:
    """An answer that ends its connection."""
    lines = {"Content-Length": str(len(body)), "Connection": "close"} | dict(headers or {})
    if content_type:
        lines["Content-Type"] = content_type
    return _head(f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}", lines) + body


def request_bytes(request: Request, address: Address) -> bytes:
    """A request as it is sent."""
    lines = {"Host": _host(address)} | dict(request.headers)
    if request.body or request.method in {"POST", "PUT", "PATCH"}:
        lines["Content-Length"] = str(len(request.body))
    if " " in request.target or not request.target.startswith("/"):
        raise ValueError(f"{request.target!r} cannot be asked for: a target begins with / and has no blanks.")
    return _head(f"{request.method} {request.target} HTTP/1.1", lines) + request.body


def _head(first: str, headers: Mapping[str, str]) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers.items())]
    for line in lines:
        if "\r" in line or "\n" in line:
            raise ValueError(f"{line!r} cannot be sent: a header is one line.")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")


def _host(address: Address) -> str:
    if isinstance(address, str):
        return "localhost"
    host, port = address
    host = f"[{host}]" if ":" in host else host
    return host if port == 80 else f"{host}:{port}"  # noqa: PLR2004 - the port of HTTP


def _named(address: Address) -> str:
    return address if isinstance(address, str) else f"{address[0]}:{address[1]}"


def _connect(address: Address, until: float, timer: Callable[[], float], wrap: Wrap | None) -> socket.socket:
    """A connection to the first of its addresses that takes one."""
    problem: Exception = OSError("it has no address")
    try:
        places = resolve(address, until - timer())
    except OSError as failure:
        raise ExchangeFailed("unreachable", f"{_named(address)} cannot be found: {failure}.") from failure
    for number, (family, place) in enumerate(places):
        left = (until - timer()) / (len(places) - number)
        try:
            connection = socket.socket(family, socket.SOCK_STREAM)
        except OSError as failure:  # no more files may be open, or there is no such family here
            problem = failure
            continue
        try:
            connection.settimeout(max(left, 0.001))
            connection.connect(place)
            if not isinstance(address, str):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return wrap(connection) if wrap else connection
        except OSError as failure:
            connection.close()
            problem = failure
    kind = "timeout" if isinstance(problem, TIMEOUTS) else "unreachable"
    raise ExchangeFailed(kind, f"{_named(address)} cannot be reached: {problem}.") from problem


def _read_response(stream: Stream, method: str, most_bytes: int) -> tuple[Response, bool]:
    """The answer, and whether the connection is good for another exchange."""
    for _ in range(_MOST_INTERIM_ANSWERS):
        first, headers = read_head(stream)
        protocol, _, rest = first.partition(" ")
        code = rest[:3]
        if not protocol.startswith("HTTP/1.") or not (code.isdecimal() and len(code) == 3):  # noqa: PLR2004 - digits of a status
            raise ExchangeFailed("unreadable", f"The answer is not HTTP: {first[:80]!r}.")
        if int(code) not in _INTERIM:
            break
    else:
        raise ExchangeFailed("unreadable", "There are only interim answers.")
    status = int(code)
    if method == "HEAD" or status in _WITHOUT_BODY:
        body, has_end = b"", True
    else:
        body = read_body(stream, headers, most_bytes)
        has_end = "content-length" in headers or "transfer-encoding" in headers
    says_close = "close" in headers.get("connection", "").lower() or protocol == "HTTP/1.0"
    return Response(status, headers, body), has_end and stream.is_empty and not says_close

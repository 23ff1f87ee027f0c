"""The bytes of one HTTP exchange: lines, headers, bodies, each within a limit and all by one deadline."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Protocol

from forewarn.agent.compat import TIMEOUTS

_HEAD_BYTES = 64 * 1024
_PIECE = 64 * 1024
_MOST_CHUNKS = 100_000
_MOST_TRAILERS = 100


class ExchangeFailed(Exception):
    """No answer came. `kind` is unreachable, timeout or unreadable; the message is a sentence."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class Closed(ExchangeFailed):
    """The other side closed the connection before it said anything."""


class Waiter(Protocol):
    """Whoever may break a wait for an answer off."""

    def until_readable(self, connection: socket.socket, seconds: float) -> None:
        """Return when there is something to read or the time is up; raise to break it off."""


class Stream:
    """The bytes of one exchange, read by one deadline."""

    def __init__(
        self,
        connection: socket.socket,
        deadline: float,
        timer: Callable[[], float],
        waiter: Waiter | None = None,
    ) -> None:
        self._connection = connection
        self._deadline = deadline
        self._timer = timer
        self._waiter = waiter
        self._buffer = bytearray()
        self._has_read = False

    def send(self, content: bytes) -> None:
        """Send all of it."""
        try:
            self._connection.settimeout(self._left())
            self._connection.sendall(content)
        except TIMEOUTS as problem:
            raise ExchangeFailed("timeout", "The other side did not take the request in time.") from problem
        except OSError as problem:
            raise Closed("unreachable", f"The connection broke while it was sent: {problem}.") from problem

    def line(self, most_bytes: int) -> bytes:
        """The next line, without its end."""
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > most_bytes:
                raise ExchangeFailed("unreadable", f"A line is longer than {most_bytes} bytes.")
            if not self._read_more():
                raise self._ended()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line.removesuffix(b"\r")

    def exactly(self, size: int) -> bytes:
        """So many bytes."""
        while len(self._buffer) < size:
            if not self._read_more():
                raise self._ended()
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def rest(self, most_bytes: int) -> bytes:
        """Everything until the connection ends."""
        while len(self._buffer) <= most_bytes and self._read_more():
            pass
        if len(self._buffer) > most_bytes:
            raise _too_large(most_bytes)
        return self.exactly(len(self._buffer))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left over."""
        return not self._buffer

    def _read_more(self) -> bool:
        """Whether more came before the end."""
        try:
            if self._waiter is not None:
                self._waiter.until_readable(self._connection, self._left())
            self._connection.settimeout(self._left())
            piece = self._connection.recv(_PIECE)
        except TIMEOUTS as problem:
            raise ExchangeFailed("timeout", "No whole answer came in time.") from problem
        except OSError as problem:
            kind = ExchangeFailed if self._has_read else Closed
            raise kind("unreachable", f"The connection broke: {problem}.") from problem
        self._has_read = self._has_read or bool(piece)
        self._buffer += piece
        return bool(piece)

    def _left(self) -> float:
        left = self._deadline - self._timer()
        if left <= 0:
            raise TimeoutError
        return left

    def _ended(self) -> ExchangeFailed:
        if self._has_read:
            return ExchangeFailed("unreadable", "The connection ended in the middle of what was said.")
        return Closed("unreachable", "The connection was closed without a word.")


def read_head(stream: Stream) -> tuple[str, dict[str, str]]:
    """The first line, and the headers; those of one name are joined."""
    first = stream.line(_HEAD_BYTES).decode("latin-1")
    left = _HEAD_BYTES - len(first)
    headers: dict[str, str] = {}
    while line := stream.line(_HEAD_BYTES).decode("latin-1"):
        left -= len(line) + 2
        name, colon, value = line.partition(":")
        name, value = name.lower(), value.strip()
        if left < 0 or not colon or not name.strip() == name:
            raise ExchangeFailed("unreadable", f"This is no header: {line[:80]!r}.")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return first, headers


def read_body(stream: Stream, headers: Mapping[str, str], most_bytes: int) -> bytes:
    """The body, as long as the headers say or until the connection ends."""
    if "transfer-encoding" in headers:
        if headers["transfer-encoding"].lower() != "chunked" or "content-length" in headers:
            raise ExchangeFailed("unreadable", "How long the body is, is said in a way that cannot be used.")
        return _read_chunks(stream, most_bytes)
    if "content-length" not in headers:
        return stream.rest(most_bytes)
    said = headers["content-length"]
    if not (said.isascii() and said.isdecimal()):
        raise ExchangeFailed("unreadable", f"Content-Length is {said[:40]!r}, which is no number.")
    if len(said) > 12 or int(said) > most_bytes:  # noqa: PLR2004 - a terabyte; larger numbers are not worth reading
        raise _too_large(most_bytes)
    return stream.exactly(int(said))


def _read_chunks(stream: Stream, most_bytes: int) -> bytes:
    body = bytearray()
    for _ in range(_MOST_CHUNKS):
        said = stream.line(1024).partition(b";")[0].strip()
        try:
            size = int(said, 16) if said.isalnum() else -1
        except ValueError:
            size = -1
        if size < 0:
            raise ExchangeFailed("unreadable", f"The length of a chunk is {bytes(said[:40])!r}.")
        if len(body) + size > most_bytes:
            raise _too_large(most_bytes)
        if size == 0:
            if not any(stream.line(_HEAD_BYTES) == b"" for _ in range(_MOST_TRAILERS)):
                raise ExchangeFailed("unreadable", "The trailers of the body do not end.")
            return bytes(body)
        body += stream.exactly(size)
        stream.line(16)
    raise ExchangeFailed("unreadable", f"The body comes in more than {_MOST_CHUNKS} chunks.")


def _too_large(most_bytes: int) -> ExchangeFailed:
    return ExchangeFailed("unreadable", f"The body is larger than {most_bytes} bytes.")

"""Raw sockets: what goes over the wire, byte by byte."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from tests.running import RunningService

EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
GET = f"GET {EVENTS} HTTP/1.1\r\nHost: localhost\r\nMetadata: true\r\n\r\n".encode()


class Wire:
    """A connection from a guest's address."""

    def __init__(self, service: RunningService, guest: str = "solo", address: str | None = None) -> None:
        address = address or service.service.plane.world.vms[guest].addresses[0]
        self._socket = socket.create_connection(
            ("127.0.0.1", service.metadata_port), timeout=10, source_address=(address, 0)
        )
        self._pending = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def half_close(self) -> None:
        """Say that nothing more will be sent."""
        self._socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Be gone without a word."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def receive(self) -> tuple[int, dict[str, str], bytes]:
        """One whole answer."""
        while b"\r\n\r\n" not in self._pending:
            self._read_more()
        head, _, rest = self._pending.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        status = int(lines[0].split()[1])
        length = int(headers.get("content-length", 0))
        while len(rest) < length:
            self._pending = rest
            self._read_more()
            rest = self._pending
        body, self._pending = rest[:length], rest[length:]
        return status, headers, body

    def _read_more(self) -> None:
        data = self._socket.recv(65536)
        if not data:
            raise EOFError(self._pending)
        self._pending += data

    def is_closed(self) -> bool:
        """Whether the server has hung up; waits for it."""
        try:
            return not self._pending and self._socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def is_silent(self, seconds: float = 0.1) -> bool:
        """Whether nothing comes for a moment."""
        self._socket.settimeout(seconds)
        try:
            self._pending += self._socket.recv(65536)
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(30)
        return False


def post(body: bytes, *headers: str, length: bool = True) -> bytes:
    """A POST of that body."""
    lines = [f"POST {EVENTS} HTTP/1.1", "Host: localhost", "Metadata: true", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextmanager
def stalled(service: RunningService) -> Iterator[None]:
    """The loop of the service does nothing inside; the kernel goes on taking connections for it."""
    has_stopped, may_go_on = threading.Event(), threading.Event()

    def stall() -> None:
        has_stopped.set()
        may_go_on.wait(60)

    service._loop.call_soon_threadsafe(stall)
    assert has_stopped.wait(60)
    try:
        yield
    finally:
        may_go_on.set()

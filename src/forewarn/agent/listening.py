"""A small HTTP server: a thread that accepts, and one for each connection, of which there are few.

A client that is slow, rude or silent loses its own connection, and holds up nobody: where there are too many, the
one that has been there longest makes room.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from forewarn.agent.http1 import ExchangeFailed, Request, read_request, response_bytes

_MOST_CONNECTIONS = 32
_SECONDS = 5

log = logging.getLogger("forewarn.agent")
Responder = Callable[[Request], bytes]


class Listener:
    """Listens at one address, from the moment it is made."""

    def __init__(self, address: tuple[str, int], answer: Responder, name: str) -> None:
        """Begin; `OSError` where the address cannot be had."""
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._answer = answer
        self._open: dict[socket.socket, None] = {}  # the oldest first
        self._gate = threading.Lock()
        self._is_over = threading.Event()
        self._socket = socket.create_server(address, family=family, backlog=64)
        self._thread = threading.Thread(target=self._accept, name=name, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens: of interest where any port was asked for."""
        port: int = self._socket.getsockname()[1]
        return port

    def close(self) -> None:
        """Listen no more."""
        self._is_over.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while not self._is_over.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                self._is_over.wait(0.1)  # out of files, most likely: one may be given back soon
                continue
            self._make_room_for(connection)
            try:
                threading.Thread(target=self._serve, args=(connection,), name="request", daemon=True).start()
            except RuntimeError:
                self._let_go(connection)

    def _make_room_for(self, connection: socket.socket) -> None:
        """An honest request is answered in no time, so whoever has been there longest is most likely none."""
        with self._gate:
            self._open[connection] = None
            oldest = next(iter(self._open)) if len(self._open) > _MOST_CONNECTIONS else None
            if oldest is not None:
                del self._open[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread wakes, and closes it

    def _let_go(self, connection: socket.socket) -> None:
        with self._gate:
            self._open.pop(connection, None)
            connection.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with suppress(OSError):
                connection.settimeout(_SECONDS)
                connection.sendall(self._answer_to(connection))
        finally:
            self._let_go(connection)

    def _answer_to(self, connection: socket.socket) -> bytes:
        try:
            return self._answer(read_request(connection, _SECONDS))
        except ExchangeFailed as problem:
            return response_bytes(408 if problem.kind == "timeout" else 400, f"{problem.message}\n".encode())
        except Exception:
            log.exception("a request could not be answered")
            return response_bytes(500, b"The agent could not answer this; its log says why.\n")

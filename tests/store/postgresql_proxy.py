"""A way to PostgreSQL that can be closed, or that swallows every byte while it stays open."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

import sqlalchemy as sa

_BYTES = 65536


class PostgresqlProxy:
    """A TCP port in front of a server that listens on a Unix socket."""

    def __init__(self, address: str) -> None:
        url = sa.make_url(address)
        self._server = f"{url.query['host']}/.s.PGSQL.{url.port or 5432}"
        self._listening = socket.create_server(("127.0.0.1", 0))
        through = url.set(host="127.0.0.1", port=self._listening.getsockname()[1], query={})
        self.address = through.render_as_string(hide_password=False)
        self._is_swallowing = self._is_closed = False
        self._sockets: list[socket.socket] = []
        self._gate = threading.Lock()
        self._held_back = b""  # what delays the connection that sends it
        self._is_held = threading.Event()
        self._may_deliver = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _problem: BaseException | None, _where: TracebackType | None
    ) -> None:
        self._may_deliver.set()
        self.close_connections()
        with suppress(OSError):  # wakes whoever accepts
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def swallow(self) -> None:
        """From now on no byte gets through, and nobody notices: what is open stays open, on both sides."""
        self._is_swallowing = True

    def refuse(self) -> None:
        """From now on every connection ends, as those of a server that was stopped."""
        self._is_closed = True
        self.close_connections()

    def let_through(self) -> None:
        """New connections work again; those that were swallowed are never heard of again."""
        self._is_swallowing = self._is_closed = False

    def hold_back(self, sent: bytes) -> None:
        """Delay the next connection that sends these bytes until `deliver`; all others work."""
        self._held_back = sent

    def deliver(self) -> None:
        """Let the delayed bytes reach the server, though their sender may be gone."""
        assert self._is_held.is_set(), "nothing was held back"
        self._may_deliver.set()

    def close_connections(self) -> None:
        with self._gate:
            gone, self._sockets = self._sockets, []
        for each in gone:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self._is_closed:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                with self._gate:
                    self._sockets += [client, server]
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        swallowed = False
        with suppress(OSError):
            while data := source.recv(_BYTES):
                if self._held_back and self._held_back in data:
                    self._held_back = b""
                    self._is_held.set()
                    self._may_deliver.wait()
                swallowed |= self._is_swallowing
                if not swallowed:
                    target.sendall(data)
        if not (swallowed or self._is_swallowing):
            with suppress(OSError):
                target.shutdown(socket.SHUT_RDWR)
        source.close()

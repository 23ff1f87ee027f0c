"""One HTTP request that is over in time: reaching somebody, the handshake, the request and the answer together.

No redirects, no proxies. Only the look-up of a name is left to the system, which has limits of its own.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit


class HttpCall:
    """A request over a connection of its own, which is cut when its time is over, whatever it is doing then."""

    def __init__(self, url: str, seconds: float, trust: ssl.SSLContext | None = None) -> None:
        self._parts = urlsplit(url)
        self._seconds = seconds
        self._trust = trust  # without it, the system's
        self._gate = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False

    def make(self, method: str, body: bytes | None, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        """The answer, of which the status and the headers can be read; TimeoutError if there was none in time."""
        timer = threading.Timer(self._seconds, self.cut)
        timer.daemon = True
        timer.start()
        connection = None
        try:
            connection = self._connect(time.monotonic() + self._seconds)
            target = f"{self._parts.path or '/'}{'?' + self._parts.query if self._parts.query else ''}"
            connection.request(method, target, body, {**headers, "Connection": "close"})
            answer = connection.getresponse()
            answer.close()  # it holds the socket open; its status and its headers stay
        except (OSError, http.client.HTTPException) as problem:
            if self._is_cut:
                raise TimeoutError from problem
            raise
        finally:
            timer.cancel()
            if connection is not None:
                connection.close()
        if self._is_cut:
            raise TimeoutError
        return answer

    def cut(self) -> None:
        """End it now, from any thread."""
        with self._gate:
            self._is_cut = True
            opened = self._socket
        if opened is not None:
            with suppress(OSError):
                socket.socket.shutdown(opened, socket.SHUT_RDWR)  # below TLS: another thread is in there

    def _connect(self, deadline: float) -> http.client.HTTPConnection:
        host, is_secure = self._parts.hostname or "", self._parts.scheme == "https"
        connection: http.client.HTTPConnection
        if is_secure:
            trust = self._trust or ssl.create_default_context()
            connection = http.client.HTTPSConnection(host, self._parts.port, context=trust)
        else:
            connection = http.client.HTTPConnection(host, self._parts.port)
        reached = self._reach(host, connection.port, deadline)
        connection.sock = reached
        try:
            self._hold(reached)
            reached.settimeout(self._seconds)
            reached.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if is_secure:
                connection.sock = secured = trust.wrap_socket(
                    reached, server_hostname=host, do_handshake_on_connect=False
                )
                self._hold(secured)
                secured.do_handshake()
        except BaseException:
            connection.close()
            raise
        return connection

    def _hold(self, opened: socket.socket) -> None:
        """From here on it can be cut; if it was before, that counts."""
        with self._gate:
            self._socket = opened
            if self._is_cut:
                raise TimeoutError

    def _reach(self, host: str, port: int, deadline: float) -> socket.socket:
        """A connection to the first of its addresses that takes one; each has its share of the time."""
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        problem: OSError = TimeoutError()
        for number, (family, kind, protocol, _, address) in enumerate(addresses):
            share = (deadline - time.monotonic()) / (len(addresses) - number)
            if share <= 0:
                raise TimeoutError
            opened = socket.socket(family, kind, protocol)
            try:
                opened.settimeout(share)
                opened.connect(address)
            except OSError as failed:
                opened.close()
                problem = failed
            else:
                return opened
        raise problem

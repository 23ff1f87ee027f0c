"""One request to one webhook, over HTTP: no redirects, no proxies, and never longer than it may take."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit


class Reply(NamedTuple):
    """How it ended: nothing to complain of, or why it did not arrive."""

    problem: str = ""
    retry_seconds: float = 0.0  # how long the receiver wants to be left alone


class Sender(Protocol):
    """What a worker sends with; one request at a time."""

    def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Post the body there."""

    def cut(self) -> None:
        """End a request that is under way, from another thread, and let there be no other."""


class HttpSender:
    """Sends with a connection for each request."""

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout = timeout_seconds
        self._connection: http.client.HTTPConnection | None = None
        self._trust: ssl.SSLContext | None = None  # made when it is first needed
        self._is_cut = False

    def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Post the body there; every answer but 2xx is a failure."""
        if self._is_cut:
            return Reply("was not tried: the service is stopping")
        late = threading.Event()

        def lose_patience() -> None:
            late.set()
            self._hang_up()

        timer = threading.Timer(self._timeout, lose_patience)
        timer.daemon = True
        timer.start()
        try:
            reply = self._exchange(url, body, headers)
        except (OSError, http.client.HTTPException, ValueError) as problem:
            reply = Reply(_in_words(problem))
        finally:
            timer.cancel()
            self._close()
        return Reply(f"did not answer within {self._timeout:g} s") if late.is_set() else reply

    def _exchange(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        parts = urlsplit(url)
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        self._connection = self._connect(parts.scheme, parts.hostname or "", parts.port)
        self._connection.request("POST", target, body, {**headers, "Connection": "close"})
        answer = self._connection.getresponse()
        if 200 <= answer.status < 300:  # noqa: PLR2004 - the statuses of success
            return Reply()
        return Reply(f"answered {answer.status}", _seconds(answer.getheader("Retry-After")))

    def _connect(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        if scheme == "https":
            self._trust = self._trust or ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._trust)
        return http.client.HTTPConnection(host, port, timeout=self._timeout)

    def cut(self) -> None:
        """End a request that is under way, from another thread, and let there be no other."""
        self._is_cut = True
        self._hang_up()

    def _hang_up(self) -> None:
        connection = self._connection
        opened = None if connection is None else connection.sock
        if opened is not None:
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _seconds(text: str | None) -> float:
    """What `Retry-After` asks for, where it says it in seconds."""
    return float(text) if text is not None and text.isascii() and text.isdecimal() else 0.0


def _in_words(problem: Exception) -> str:
    """Why nobody was reached; never a word of what was sent."""
    if isinstance(problem, TimeoutError):
        return "did not answer in time"
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"has a certificate that cannot be trusted: {problem.verify_message.rstrip('.')}"
    if isinstance(problem, ssl.SSLError):
        return f"does not speak TLS with us: {(problem.reason or 'handshake').replace('_', ' ').lower()}"
    if isinstance(problem, http.client.RemoteDisconnected):
        return "hung up without an answer"
    if isinstance(problem, OSError) and problem.strerror:
        return f"could not be reached: {problem.strerror}"
    return f"gave no answer that is HTTP: {type(problem).__name__}"

"""Webhooks' other ends: an HTTP server on loopback that keeps what it is sent, and one that never is done."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.running import wait_until


@dataclass(frozen=True)
class Got:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The one event that it tells of, in either form."""
        told = json.loads(self.body)
        return told[0] if isinstance(told, list) else told

    @property
    def id(self) -> str:
        return str(self.json["id"])

    @property
    def phase(self) -> str:
        """What a CloudEvent tells."""
        return str(self.json["data"]["phase"])

    def is_signed_with(self, secret: str) -> bool:
        """As the documentation says that a receiver is to check it."""
        parts = dict(part.split("=", 1) for part in self.headers["forewarn-signature"].split(","))
        expected = hmac.new(secret.encode(), parts["t"].encode() + b"." + self.body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, parts["v1"])


@dataclass
class Receiver:
    """What was received, and the statuses that are still to be answered; then 200 for ever."""

    port: int = 0
    got: list[Got] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    answer: Callable[[Got], int | None] | None = None  # the status by what was sent; None: not at all
    headers: dict[str, str] = field(default_factory=dict)  # of every answer
    is_over: threading.Event = field(default_factory=threading.Event)
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/hook"

    def wait_for(self, count: int) -> list[Got]:
        """So many requests, which have to come; and what was got by then."""
        wait_until(lambda: len(self.got) >= count, f"{count} requests; there were {len(self.got)}")
        return self.got[:count]

    def of(self, event: str) -> list[Got]:
        return [each for each in self.got if each.json["subject"].endswith(event)]

    def status_for(self, got: Got) -> int | None:
        if self.answer is not None:
            return self.answer(got)
        return self.answers.pop(0) if self.answers else 200


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got = Got(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            receiver.got.append(got)
            status = receiver.status_for(got)
            if status is None:
                receiver.is_over.wait(60)
                return
            self.send_response(status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def do_GET(self) -> None:
            receiver.got.append(Got(self.path, {}, b"null"))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A sender that hangs up is no failure of the test."""


@contextmanager
def receiving(port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver for the length of a block."""
    receiver = Receiver(scheme="http" if tls is None else "https")
    server = _Server(("127.0.0.1", port), _handler(receiver))
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.is_over.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def dripping(first: bytes) -> Iterator[int]:
    """The port of somebody who says that, and then a byte now and then, for ever."""
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            client, _ = server.accept()
            with client:
                client.sendall(first)
                while not is_over.wait(0.02):
                    try:
                        client.sendall(b"x")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        is_over.set()
        thread.join()

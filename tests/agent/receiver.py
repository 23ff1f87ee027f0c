"""A real HTTP server on loopback that notes what it gets, and answers as it is told."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Union


@dataclass(frozen=True)
class Got:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Union[tuple[int, bytes], tuple[int, bytes, dict[str, str]]]


@dataclass
class Receiver:
    """What it got, and what it answers: the first answers in turn, and then the last one for ever."""

    answers: list[Answer] = field(default_factory=lambda: [(200, b"")])
    got: list[Got] = field(default_factory=list)
    judge: Callable[[Got], Answer] | None = None
    url: str = ""
    held: threading.Event = field(default_factory=threading.Event)  # set: requests may be answered
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, got: Got) -> Answer:
        with self.lock:
            self.got.append(got)
            if self.judge is not None:
                return self.judge(got)
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def receiving(*answers: Answer, tls: ssl.SSLContext | None = None, holds: bool = False) -> Iterator[Receiver]:
    """Such a server, for a while."""
    receiver = Receiver(list(answers) or [(200, b"")])
    if not holds:
        receiver.held.set()

    class Handler(BaseHTTPRequestHandler):
        def _receive(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = receiver.answer(Got(self.command, self.path, dict(self.headers.items()), body))
            receiver.held.wait(60)
            self.send_response(answer[0])
            for name, value in (answer[2] if len(answer) == 3 else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer[1])))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer[1])

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _receive  # noqa: N815 - as the library wants

        def log_message(self, *_args: object) -> None:
            """Tests say what they saw themselves."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_args: object) -> None:
            """A client that leaves is no trouble."""

    with Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        receiver.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.held.set()
            server.shutdown()
            thread.join()

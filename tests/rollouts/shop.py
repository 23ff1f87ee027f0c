"""An address whose health is asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from forewarn.control.health import HealthChecks
from forewarn.control.health_probes import ProbeTimeouts
from tests.control.bench import NOON

SHORT = ProbeTimeouts(address_seconds=0.3, command_seconds=0.5)


class _Server(ThreadingHTTPServer):
    request_queue_size = 256  # many call at once; with the usual five, the kernel turns some away when it is busy


class Shop:
    """An address that answers as it is told to."""

    def __init__(self) -> None:
        self.status = 200
        self.asked: list[str] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        shop = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                shop.asked.append(self.path)
                shop.may_answer.wait(60)
                self.send_response(shop.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.may_answer.set()
        self._server.shutdown()
        self._server.server_close()


def checks(
    check: str | None, *, now: Callable[[], datetime] = lambda: NOON, waits: bool = True, **commands: str
) -> HealthChecks:
    """The checks of a fleet in which every set has the same one; commands are lines of a shell."""
    return HealthChecks(
        lambda _: check,
        now,
        {name: ("/bin/sh", "-c", line) for name, line in commands.items()},
        waits_for_answers=waits,
        patience=SHORT,
    )


def said_by(found: HealthChecks, since: datetime = NOON) -> str | None:
    """What the check of a set says when it is asked, and waited for."""
    found.ask({"web": since})
    return found.answer("web", since)

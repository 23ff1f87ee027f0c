"""A web server that tells its name, after a tenth of a second; at /slow, after two seconds.

SIGTERM: it finishes its requests and ends.

python -m tests.uses.programs.web_server PORT NAME [PID-FILE]
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PORT, NAME, PID_FILE = int(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""
TOLD: list[str] = []  # to come to an end; whoever breaks in as a signal's handler does may take no lock
WORK = threading.Event()  # that never comes to an end before its time


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        WORK.wait(2 if self.path == "/slow" else 0.1)
        body = NAME.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Clients note what they got."""


class Server(ThreadingHTTPServer):
    daemon_threads = False  # what is under way is finished
    request_queue_size = 128
    timeout = 0.02  # how long it waits for a request before it looks up


if __name__ == "__main__":
    with Server(("127.0.0.1", PORT), Handler) as server:
        signal.signal(signal.SIGTERM, lambda *_: TOLD.append("to end"))
        if PID_FILE:
            fresh = Path(f"{PID_FILE}.new")
            fresh.write_text(str(os.getpid()), encoding="ascii")
            fresh.replace(PID_FILE)
        while not TOLD:
            server.handle_request()
    if PID_FILE:
        Path(PID_FILE).unlink()

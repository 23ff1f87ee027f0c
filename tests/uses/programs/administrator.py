"""A webhook that fails twice: it answers 500, then nothing at all, and from then on 200. A line for every request.

python -m tests.uses.programs.administrator PORT FILE
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

PORT, FILE = int(sys.argv[1]), Path(sys.argv[2])
ANSWERS = iter([500, None])


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        status = next(ANSWERS, 200)
        got = {"path": self.path, "headers": dict(self.headers.items()), "body": body, "answered": status}
        with FILE.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(got)}\n")
        if status is not None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, *_args: object) -> None:
        """The file has it."""


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", PORT), Handler).serve_forever(0.05)

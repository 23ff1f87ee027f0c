"""Opening a store: where it is, whether it is ours, and whether its tables are of this version.

A fresh store is made in one step. The migration tool is imported only when there is something to migrate.

A test may want hundreds of stores in memory, each for a moment. They share what can be shared: one engine, with
the SQL that it has compiled, and a set of empty tables to copy.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.pool import NullPool

from forewarn.errors import StoreError, StoreUnavailable
from forewarn.store.sqlite_file import SqliteFile, in_use
from forewarn.store.tables import REVISIONS, marks, metadata

if TYPE_CHECKING:
    from forewarn.store.postgresql import PostgresqlServer

_URL_HINT = "Use sqlite:///PATH, sqlite:// (in memory) or postgresql://USER@HOST/DATABASE."
ADVISORY_LOCK = 0x666F7265_7761726E  # "forewarn"
_SCHEMA_LOCK = ADVISORY_LOCK + 1
_PLANE_LOCK = ADVISORY_LOCK + 2
_APART_LOCK = ADVISORY_LOCK + 3
ANSWER_SECONDS = 3  # a store that is silent for longer is unavailable
_LOCK_SECONDS = 2  # for PostgreSQL to end an earlier session; less than ANSWER_SECONDS
_RETRY_SECONDS = 1.0  # before a server that could not be reached is tried again
# What was to be written may be a secret; it has no place in the text of an error.
_ENGINE_OPTIONS: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "hide_parameters": True}

_copying = threading.Lock()

revisions = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))


class Opened:
    """A connection that is made again when it breaks, and the lock that keeps a second service out."""

    def __init__(self, url: str, *, exclusive: bool) -> None:
        self._url = _parse(url)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        self.is_in_memory = self.is_sqlite and not self._url.database
        self._server = None if self.is_sqlite else self._open_server()
        self._engine = self._make_engine() if self._server is None else self._server.engine
        self._exclusive = exclusive
        self._connection: sa.Connection | None = None
        self._is_prepared = False  # the tables are there, so from now on answers come quickly
        self._unreachable: tuple[float, str, str] | None = None  # until when, and why; readers see it, too
        self._file = SqliteFile(self._url.database) if self._url.database and self.is_sqlite else None
        if self._file is not None and exclusive:
            self._file.lock()

    def _make_engine(self) -> sa.Engine:
        if self.is_in_memory:
            return _engine_in_memory()
        return _make_engine(self._url, connect_args={"check_same_thread": False, "timeout": ANSWER_SECONDS})

    def _open_server(self) -> PostgresqlServer:
        try:
            from forewarn.store.postgresql import PostgresqlServer  # noqa: PLC0415 - where its driver is installed

            return PostgresqlServer(self._url, ANSWER_SECONDS, **_ENGINE_OPTIONS)
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
            if self._file is not None:
                self._file.verify_place()  # SQLite would make a new file
            connection = self._connect()
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def verify(self) -> None:
        """Raise `StoreUnavailable` unless commits are where a restarted service would look for them."""
        if self._file is not None:
            self._file.verify()

    def verify_room(self) -> None:
        """Raise when the disk has no room left for changes."""
        if self._file is not None:
            self._file.verify_size()
            self._file.verify_space()
        if self._server is not None:
            self._server.verify_room(self.alive())

    def _connect(self) -> sa.Connection:
        """A new connection; a server that could not be reached is left alone for a moment."""
        if (known := self._unreachable) is not None:
            until, message, hint = known
            if time.monotonic() < until:
                raise StoreUnavailable(message, hint)
        try:
            connection = self._engine.connect()
        except exc.DBAPIError as problem:
            message = f"The store {self.shown} cannot be opened: {_first_line(problem)}."
            hint = _URL_HINT if self.is_sqlite else "Check that PostgreSQL runs there and lets this user in."
            self._unreachable = (time.monotonic() + _RETRY_SECONDS, message, hint)
            raise StoreUnavailable(message, hint) from problem
        self._unreachable = None
        return connection

    def connect_apart(self) -> sa.Connection:
        """A new connection to a server, which has to answer quickly.

        It is refused until the session of the one before has ended, with whatever that one sent too late.
        """
        connection = self._connect()
        try:
            if self._server is not None:
                self._server.answer_within(connection, ANSWER_SECONDS)
                self._end_session_apart(self._server, connection)
        except BaseException:
            connection.invalidate()
            connection.close()
            raise
        return connection

    def _end_session_apart(self, server: PostgresqlServer, connection: sa.Connection) -> None:
        if not server.take_lock(connection, _APART_LOCK, _LOCK_SECONDS):
            raise StoreUnavailable(
                f"An earlier session for the simulated machines is still open on {self.shown}.",
                "Wait until PostgreSQL has ended it, or end it with pg_terminate_backend.",
            )

    @contextmanager
    def another(self) -> Iterator[sa.Connection]:
        """A connection beside it; in memory, the same once more."""
        if self.is_in_memory:
            yield self.alive()
            return
        if self._file is not None:
            self._file.verify_place()
        with self._connect() as connection:
            yield connection

    def _prepare(self, connection: sa.Connection) -> None:
        if self._server is None:
            self._prepare_sqlite(connection)
            return
        self._server.answer_within(connection, ANSWER_SECONDS if self._is_prepared else None)
        if self._exclusive and not self._server.take_lock(connection, _PLANE_LOCK):
            raise in_use(self.shown)

    def _prepare_sqlite(self, connection: sa.Connection) -> None:
        try:
            mode = connection.exec_driver_sql("PRAGMA journal_mode = WAL").scalar()
            connection.exec_driver_sql("PRAGMA synchronous = FULL")
            connection.exec_driver_sql("SELECT 1 FROM sqlite_master LIMIT 1").all()  # opens the log
        except (exc.DBAPIError, UnicodeDecodeError) as problem:  # SQLite quotes a damaged schema as it is
            why = problem.orig if isinstance(problem, exc.DBAPIError) else problem
            raise StoreError(
                f"The store {self.shown} cannot be opened: {why}.", "Name another file, or move this one away."
            ) from problem
        if self._file is not None and mode == "wal":
            self._file.attach()

    def prepared(self) -> None:
        """The tables are there: from now on a server has to answer quickly."""
        self._is_prepared = True
        if self._server is not None:
            self._server.answer_within(self.alive(), ANSWER_SECONDS)

    def make_private(self) -> None:
        """Let nobody but the owner read the file; a database server sees to that itself."""
        if self._file is not None:
            self._file.make_private()

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
        if self._file is not None:
            self._file.close()


def _make_engine(url: sa.URL | str, **options: object) -> sa.Engine:
    return sa.create_engine(url, **_ENGINE_OPTIONS, **options)


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
    opened.prepared()


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

"""Simulated machines: their ledger lives outside the process that acts on them, and outside the plane's commits.

The ledger takes down every effect, a second one under the same attempt too: it is where a crash test counts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import sqlalchemy as sa
from sqlalchemy import exc

from forewarn.clock import Clock
from forewarn.core.operation import Attempt
from forewarn.errors import ConfigError, StoreUnavailable

_SQLITE_SCHEMA = """
CREATE TABLE IF NOT EXISTS effects (
    operation TEXT NOT NULL, vm TEXT NOT NULL, action TEXT NOT NULL, host TEXT NOT NULL, destination TEXT,
    began_at TEXT NOT NULL, ends_at TEXT, trouble TEXT, epoch TEXT NOT NULL, ends_elapsed REAL
);
CREATE INDEX IF NOT EXISTS effects_of ON effects (operation, vm);
CREATE TABLE IF NOT EXISTS orders (vm TEXT NOT NULL, trouble TEXT NOT NULL, times INTEGER NOT NULL);
"""
_SERVER_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS machine_effects (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        operation TEXT NOT NULL, vm TEXT NOT NULL, action TEXT NOT NULL, host TEXT NOT NULL, destination TEXT,
        began_at TEXT NOT NULL, ends_at TEXT, trouble TEXT, epoch TEXT NOT NULL, ends_elapsed DOUBLE PRECISION
    )""",
    "CREATE INDEX IF NOT EXISTS machine_effects_of ON machine_effects (operation, vm)",
    """CREATE TABLE IF NOT EXISTS machine_orders (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        vm TEXT NOT NULL, trouble TEXT NOT NULL, times INTEGER NOT NULL
    )""",
)

_ALL = 2**63 - 1  # SQLite takes no OFFSET without a LIMIT

Row = tuple[Any, ...]


class Trouble(StrEnum):
    """What a machine may be ordered to do wrong."""

    FAILS = "fails"  # the action ends without effect
    FAILS_DOWN = "fails down"  # the action ends badly and leaves the machine down
    HANGS = "hangs"  # the action never ends


class Effect(NamedTuple):
    """One line of the ledger: something was done to a machine."""

    operation: str
    vm: str
    action: str
    host: str
    destination: str | None
    began_at: datetime
    ends_at: datetime | None  # None: it never ends
    trouble: Trouble | None
    epoch: str
    ends_elapsed: timedelta | None  # the end in elapsed time, which no step of the wall clock moves

    def left(self, clock: Clock) -> timedelta | None:
        """How long it still lasts; None: for ever."""
        if self.ends_at is None or self.ends_elapsed is None:
            return None
        if self.epoch == clock.epoch:
            return self.ends_elapsed - clock.elapsed()
        return self.ends_at - clock.now()


class Ledger(Protocol):
    """Where the lines are kept: one statement after the other, each kept at once."""

    def execute(self, statement: str, values: Row = ()) -> list[Row]:
        """Carry out a statement; the rows that it found."""

    def close(self) -> None:
        """Let go of it."""


class _FileLedger:
    """A SQLite file, or memory."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
        self.close = self._connection.close
        try:
            if path is not None:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA busy_timeout = 5000")
            self._connection.executescript(_SQLITE_SCHEMA)
            self._opened = self._identities()
        except BaseException:
            self.close()
            raise

    def execute(self, statement: str, values: Row = ()) -> list[Row]:
        found = self._connection.execute(statement, values).fetchall()
        if self._identities() != self._opened:
            raise StoreUnavailable(
                f"The file of machines {self._path} was deleted or replaced while the service was using it.",
                "Put it back, or restart the service to go on from what is there now.",
            )
        return found

    def _identities(self) -> list[tuple[int, int]]:
        """Which files the path and its log name now: SQLite goes on writing to files that are gone."""
        if self._path is None:
            return []
        paths = [path for path in (self._path, Path(f"{self._path}-wal")) if path.exists()]
        return [(found.st_dev, found.st_ino) for found in map(Path.stat, paths)]


class _ServerLedger:
    """Tables of its own on a database server, over a connection of its own that is made anew when it breaks."""

    def __init__(self, connect: Callable[[], sa.Connection]) -> None:
        self._connect = connect
        self._connection: sa.Connection | None = None

    def execute(self, statement: str, values: Row = ()) -> list[Row]:
        if self._connection is None:
            self._connection = self._connect()
        try:
            found = self._connection.exec_driver_sql(statement, values or None)
            return [tuple(row) for row in found] if found.returns_rows else []
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None


@dataclass(frozen=True, slots=True)
class Machines:
    """The ledger: in a file, in memory, or in tables of its own beside the service's."""

    kept: Ledger
    effects: str = "effects"
    orders: str = "orders"
    number: str = "rowid"
    mark: str = "?"

    @classmethod
    def open(cls, path: Path | None = None) -> Machines:
        """The machines kept in a file; without one they last as long as the process."""
        try:
            ledger = _FileLedger(path)
            known = len(ledger.execute("PRAGMA table_info(effects)"))
            if known != len(Effect._fields):
                ledger.close()
                raise sqlite3.DatabaseError("it was written by another version")
        except (sqlite3.Error, UnicodeDecodeError) as problem:  # SQLite quotes a damaged schema as it is
            raise ConfigError(
                f"The file of machines {path} cannot be opened: {problem}.", "Name another with --machines."
            ) from problem
        return cls(ledger)

    @classmethod
    def on_server(cls, connect: Callable[[], sa.Connection]) -> Machines:
        """The machines kept on the server that `connect` reaches, which is PostgreSQL."""
        ledger = _ServerLedger(connect)
        try:
            for statement in _SERVER_SCHEMA:
                ledger.execute(statement)
        except exc.DBAPIError as problem:
            raise ConfigError(
                f"The tables of the simulated machines cannot be made: {str(problem.orig).strip()}.",
                "Let the user of the store create tables, or name a file with --machines.",
            ) from problem
        return cls(ledger, "machine_effects", "machine_orders", "number", "%s")

    def act(self, attempt: Attempt, clock: Clock, lasts: timedelta) -> None:
        """Do something to a machine: one more line, whatever is there already."""
        trouble = self._take_order(attempt.vm)
        ends = trouble is not Trouble.HANGS
        marks = ", ".join([self.mark] * len(Effect._fields))
        self.kept.execute(
            f"INSERT INTO {self.effects} ({_COLUMNS}) VALUES ({marks})",  # noqa: S608 - names are ours
            (
                attempt.operation,
                attempt.vm,
                attempt.action,
                attempt.host,
                attempt.destination,
                clock.now().isoformat(),
                (clock.now() + lasts).isoformat() if ends else None,
                trouble,
                clock.epoch,
                (clock.elapsed() + lasts).total_seconds() if ends else None,
            ),
        )

    def effect_of(self, operation: str, vm: str) -> Effect | None:
        """What was last done to the machine under this operation."""
        rows = self.kept.execute(
            f"SELECT {_COLUMNS} FROM {self.effects} WHERE operation = {self.mark} AND vm = {self.mark} "  # noqa: S608 - the same
            f"ORDER BY {self.number} DESC LIMIT 1",
            (operation, vm),
        )
        return _effect(rows[0]) if rows else None

    def ledger(self, after: int = 0) -> list[Effect]:
        """Everything that was ever done, in order, without that many lines at the beginning."""
        rows = self.kept.execute(
            f"SELECT {_COLUMNS} FROM {self.effects} ORDER BY {self.number} LIMIT {_ALL} OFFSET {self.mark}",  # noqa: S608 - the same
            (after,),
        )
        return [_effect(row) for row in rows]

    def order(self, vm: str, trouble: Trouble, times: int = 1) -> None:
        """Let the next actions on a machine go wrong."""
        self.kept.execute(
            f"INSERT INTO {self.orders} (vm, trouble, times) VALUES ({self.mark}, {self.mark}, {self.mark})",  # noqa: S608 - the same
            (vm, trouble, times),
        )

    def forget_orders(self) -> None:
        """Let nothing more go wrong on order."""
        self.kept.execute(f"DELETE FROM {self.orders}")  # noqa: S608 - the same

    def _take_order(self, vm: str) -> Trouble | None:
        rows = self.kept.execute(
            f"SELECT {self.number}, trouble FROM {self.orders} WHERE vm = {self.mark} AND times > 0 "  # noqa: S608 - the same
            f"ORDER BY {self.number} LIMIT 1",
            (vm,),
        )
        if not rows:
            return None
        ((number, trouble),) = rows
        self.kept.execute(
            f"UPDATE {self.orders} SET times = times - 1 WHERE {self.number} = {self.mark}",  # noqa: S608 - the same
            (number,),
        )
        return Trouble(trouble)

    def close(self) -> None:
        """Let go of the ledger."""
        self.kept.close()


_COLUMNS = ", ".join(Effect._fields)


def _effect(row: tuple[Any, ...]) -> Effect:
    operation, vm, action, host, destination, began_at, ends_at, trouble, epoch, ends_elapsed = row
    return Effect(
        operation,
        vm,
        action,
        host,
        destination,
        _instant(began_at),
        _instant(ends_at) if ends_at else None,
        Trouble(trouble) if trouble else None,
        epoch,
        timedelta(seconds=ends_elapsed) if ends_elapsed is not None else None,
    )


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)

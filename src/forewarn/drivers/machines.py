"""Simulated machines: their ledger lives outside the process that acts on them.

The ledger takes down every effect, a second one under the same attempt too: it is where a crash test counts.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from forewarn.clock import Clock
from forewarn.core.operation import Attempt
from forewarn.errors import ConfigError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS effects (
    operation TEXT NOT NULL, vm TEXT NOT NULL, action TEXT NOT NULL, host TEXT NOT NULL, destination TEXT,
    began_at TEXT NOT NULL, ends_at TEXT, trouble TEXT, epoch TEXT NOT NULL, ends_elapsed REAL
);
CREATE INDEX IF NOT EXISTS effects_of ON effects (operation, vm);
CREATE TABLE IF NOT EXISTS orders (vm TEXT NOT NULL, trouble TEXT NOT NULL, times INTEGER NOT NULL);
"""


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


@dataclass(frozen=True, slots=True)
class Machines:
    """The ledger, in a file or in memory."""

    connection: sqlite3.Connection

    @classmethod
    def open(cls, path: Path | None = None) -> Machines:
        """The machines kept in a file; without one they last as long as the process."""
        connection = None
        try:
            connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
            if path is not None:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA busy_timeout = 5000")
            connection.executescript(_SCHEMA)
            known = len(connection.execute("PRAGMA table_info(effects)").fetchall())
            if known != len(Effect._fields):
                raise sqlite3.DatabaseError("it was written by another version")
        except sqlite3.Error as problem:
            if connection is not None:
                connection.close()
            raise ConfigError(
                f"The file of machines {path} cannot be opened: {problem}.", "Name another with --machines."
            ) from problem
        return cls(connection)

    def act(self, attempt: Attempt, clock: Clock, lasts: timedelta) -> None:
        """Do something to a machine: one more line, whatever is there already."""
        trouble = self._take_order(attempt.vm)
        ends = trouble is not Trouble.HANGS
        self.connection.execute(
            "INSERT INTO effects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
        row = self.connection.execute(
            "SELECT * FROM effects WHERE operation = ? AND vm = ? ORDER BY rowid DESC LIMIT 1", (operation, vm)
        ).fetchone()
        return _effect(row) if row else None

    def ledger(self, after: int = 0) -> list[Effect]:
        """Everything that was ever done, in order, from the line after that many on."""
        query = "SELECT * FROM effects WHERE rowid > ? ORDER BY rowid"
        return [_effect(row) for row in self.connection.execute(query, (after,))]

    def order(self, vm: str, trouble: Trouble, times: int = 1) -> None:
        """Let the next actions on a machine go wrong."""
        self.connection.execute("INSERT INTO orders VALUES (?, ?, ?)", (vm, trouble, times))

    def forget_orders(self) -> None:
        """Let nothing more go wrong on order."""
        self.connection.execute("DELETE FROM orders")

    def _take_order(self, vm: str) -> Trouble | None:
        row = self.connection.execute(
            "SELECT rowid, trouble FROM orders WHERE vm = ? AND times > 0 ORDER BY rowid LIMIT 1", (vm,)
        ).fetchone()
        if row is None:
            return None
        self.connection.execute("UPDATE orders SET times = times - 1 WHERE rowid = ?", (row[0],))
        return Trouble(row[1])

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()


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

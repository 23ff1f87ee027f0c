"""The store: what was answered, kept.

A transaction is exclusive on both databases: SQLite takes its write lock at once, PostgreSQL an advisory lock that
ends with the transaction. So whoever writes has read the newest state before, and the version column catches
those who have not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from forewarn.core.phase import Phase
from forewarn.core.rollout import RolloutState, TurnState
from forewarn.core.terms import VmState
from forewarn.core.world import AuditEntry, Changes, Entity
from forewarn.errors import ForewarnError, StaleWrite, StoreError, StoreUnavailable
from forewarn.store.codec import instant, micros
from forewarn.store.opening import ADVISORY_LOCK, Opened, prepare_schema
from forewarn.store.statements import Statements, statements_with
from forewarn.store.tables import TABLE_OF, attempts, events, marks, operations, polls, rollouts, turns, vms

_OPEN = (Phase.SCHEDULED, Phase.STARTED)
_OPEN_ROLLOUTS = (RolloutState.RUNNING, RolloutState.PAUSED)
_MICROSECOND = timedelta(microseconds=1)
_IN_ORDER: dict[sa.Table, tuple[sa.Column[Any], ...]] = {
    events: (events.c.number,),
    turns: (turns.c.rollout, turns.c.position),
}
_WHERE_WE_ARE = sa.select(marks.c.number, marks.c.shown)
_DAMAGED_HINT = "Restore it from a backup, or name another store with --store."
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"  # all its queries see the same


@dataclass(frozen=True, slots=True)
class ClockMark:
    """What the clocks showed at a commit; `elapsed` is comparable within one epoch."""

    epoch: str
    elapsed: timedelta
    now: datetime


class Transaction:
    """Everything that may be done while nobody else writes."""

    def __init__(self, connection: sa.Connection, statements: Statements) -> None:
        self.connection = connection
        self._statements = statements
        row = connection.execute(_WHERE_WE_ARE).one()
        self.number: int = row.number
        self.newest = self.number  # the last commit once this one is kept
        self.shown: int = row.shown  # the last commit that guests are known to have been able to read

    def everything(self) -> Iterator[Entity]:
        """The fleet, the scopes and all that is open, each after what it refers to."""
        for kind, table in TABLE_OF.items():
            if kind is not AuditEntry:
                yield from self._read(kind, _still_there(table))

    def news(self, since: int) -> Iterator[Entity]:
        """All that was written after the commit of that number, ended and deleted things included."""
        for kind, table in TABLE_OF.items():
            if kind is not AuditEntry:
                newer = sa.select(table).where(table.c.version > since)
                yield from self._read(kind, newer.order_by(*_IN_ORDER.get(table, ())))

    def _read(self, kind: type[Any], query: sa.Select[Any]) -> Iterator[Any]:
        codec = self._statements.codec(kind)
        for row in self.connection.execute(query):
            yield codec.decode(row)

    def write(self, changes: Changes, mark: ClockMark, shown: int) -> None:
        """Keep a commit, or raise `StaleWrite` and keep nothing.

        `shown` is the last commit that guests have been able to read.
        """
        if changes.number != self.number + 1:
            raise StaleWrite(f"commit {changes.number} was made from an older state than commit {self.number}")
        fresh: dict[type, list[tuple[Any, ...]]] = {}
        changed: dict[type, list[tuple[Any, ...]]] = {}
        for entity, seen in zip(changes.entities, changes.seen, strict=True):
            row = self._statements.codec(type(entity)).encode(entity)
            if seen:
                changed.setdefault(type(entity), []).append((*row, *self._statements.key(entity), seen))
            else:
                fresh.setdefault(type(entity), []).append(tuple(row))
        for kind, rows in fresh.items():
            self._run(self._statements.insert(kind), rows)
        for kind, rows in changed.items():
            self._run(self._statements.update(kind), rows)
        if changes.deeds:
            codec = self._statements.codec(AuditEntry)
            self._run(self._statements.insert(AuditEntry), [tuple(codec.encode(deed)) for deed in changes.deeds])
        self._write_mark(mark, changes.number, shown)
        self.newest = changes.number

    def _run(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        written = self.connection.exec_driver_sql(statement, rows).rowcount
        if written != len(rows):
            raise StaleWrite(f"{len(rows) - written} of {len(rows)} rows had been changed by somebody else")

    def _write_mark(self, mark: ClockMark, number: int, shown: int) -> None:
        row = (number, shown, mark.epoch, mark.elapsed // _MICROSECOND, micros(mark.now))
        self.connection.exec_driver_sql(self._statements.update_mark, row)

    def look_at_every_table(self) -> None:
        """Raise unless every table can be read, and no other session keeps it locked."""
        for table in TABLE_OF.values():
            self.connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).all()

    def keep_mark(self, mark: ClockMark, shown: int) -> None:
        """Write down what the clocks show, and up to which commit guests have been shown everything."""
        self._write_mark(mark, self.number, shown)

    def mark(self) -> ClockMark | None:
        """What the clocks showed last; None in a store that nothing was ever written to."""
        row = self.connection.execute(sa.select(marks)).one()
        if not row.clock_epoch:
            return None
        return ClockMark(row.clock_epoch, timedelta(microseconds=row.clock_elapsed), instant(row.clock_now))

    def keep_polls(self, last: Mapping[str, datetime]) -> None:
        """Write down when each of the scopes was last asked for."""
        if last:
            rows = [(scope, micros(at)) for scope, at in last.items()]
            self.connection.exec_driver_sql(self._statements.upsert_polls, rows)

    def forget_polls(self, scopes: Iterable[str]) -> None:
        """Drop what was noted for scopes that are gone."""
        for scope in scopes:
            self.connection.execute(polls.delete().where(polls.c.scope == scope))

    def polls(self) -> dict[str, datetime]:
        """When each scope was last asked for, as far as it was written down."""
        return {row.scope: instant(row.at) for row in self.connection.execute(sa.select(polls))}


@cache
def _still_there(table: sa.Table) -> sa.Select[Any]:
    """The rows of a table that are not history."""
    query = sa.select(table)
    is_open = operations.c.phase.in_(_OPEN)
    if table is vms:
        return query.where(vms.c.state != VmState.DELETED).order_by(vms.c.instance, vms.c.name)
    if table is operations:
        return query.where(is_open).order_by(operations.c.created_at, operations.c.id)
    if table is events:
        of_open = events.c.operation.in_(sa.select(operations.c.id).where(is_open))
        return query.where(of_open).order_by(events.c.number)
    if table is attempts:
        return query.where(attempts.c.operation.in_(sa.select(operations.c.id).where(is_open)))
    if table is rollouts:
        return query.where(_has_work())
    if table is turns:
        wanted = sa.select(rollouts.c.id).where(_has_work())
        return query.where(turns.c.rollout.in_(wanted)).order_by(turns.c.rollout, turns.c.position)
    return query.where(table.c.is_gone.is_(False))


def _has_work() -> sa.ColumnElement[bool]:
    """Whether a rollout is open, or something that it began is still under way."""
    at_work = sa.select(turns.c.rollout).where(turns.c.state.in_((TurnState.OPEN, TurnState.POSTPONED)))
    return sa.or_(rollouts.c.state.in_(_OPEN_ROLLOUTS), rollouts.c.id.in_(at_work))


class SqlStore:
    """SQLite or PostgreSQL, behind one contract; tests/store says what it promises."""

    def __init__(self, url: str, *, exclusive: bool = True) -> None:
        self._opened = Opened(url, exclusive=exclusive)
        self._newest = 0  # the last commit that is known to be kept
        try:
            prepare_schema(self._opened, _migrate)
        except BaseException as problem:
            self._opened.close()
            if isinstance(problem, ForewarnError) or not isinstance(problem, Exception):
                raise
            raise _unopened(self.address, problem) from problem
        self._statements = statements_with("?" if self._opened.is_sqlite else "%s")

    @property
    def address(self) -> str:
        """Where it is, without a password."""
        return self._opened.shown

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Nobody else writes inside; all of it is kept when the block ends, none of it when it raises."""
        connection = self._guarded(self._begin)
        try:
            transaction = Transaction(connection, self._statements)
            self._verify_progress(transaction.number)
            yield transaction
        except BaseException as problem:
            self._abandon(connection)
            if isinstance(problem, exc.DBAPIError):
                raise _unavailable(problem) from problem
            raise
        self._guarded(lambda: connection.exec_driver_sql("COMMIT"))
        self._opened.verify()
        self._newest = transaction.newest

    def _verify_progress(self, number: int) -> None:
        """Raise unless the store still holds every commit that was confirmed."""
        if number < self._newest:
            raise StoreUnavailable(
                f"The store {self.address} went back from commit {self._newest} to commit {number}, as after a "
                "restored backup or a failover to a replica that lags behind; nothing more is committed.",
                f"Restart the service to go on from commit {number}. The commits after it are lost.",
            )

    def verify_room(self) -> None:
        """Raise `StoreUnavailable` when the disk has no room for changes."""
        self._guarded(self._opened.verify_room)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Turn errors while loading the store into a StoreError."""
        try:
            yield
        except ForewarnError:
            raise
        except Exception as problem:
            raise StoreError(
                f"The store {self.address} cannot be read: {type(problem).__name__}: {problem}.", _DAMAGED_HINT
            ) from problem

    @property
    def is_on_server(self) -> bool:
        """Whether others may keep tables of their own beside it."""
        return not self._opened.is_sqlite

    def connect_apart(self) -> sa.Connection:
        """A connection of its own, outside every transaction of the store; whoever asked closes it."""
        return self._opened.connect_apart()

    @property
    def reads_apart(self) -> bool:
        """Whether any thread may read; what is in memory is one connection, and that is the writer's."""
        return not self._opened.is_in_memory

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """What is committed by now, as it is at this moment, beside whoever writes."""
        try:
            with self._opened.another() as connection:
                connection.exec_driver_sql("BEGIN" if self._opened.is_sqlite else _BEGIN_READING)
                try:
                    yield connection
                finally:
                    connection.exec_driver_sql("ROLLBACK")
        except exc.DBAPIError as problem:
            raise _unavailable(problem) from problem

    def _begin(self) -> sa.Connection:
        connection = self._opened.alive()
        self._opened.verify()  # nothing is written to a file that is lost
        if self._opened.is_sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})")
        return connection

    def _guarded(self, act: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the act returns
        try:
            return act()
        except exc.DBAPIError as problem:
            self._opened.drop()
            raise _unavailable(problem) from problem

    def _abandon(self, connection: sa.Connection) -> None:
        try:
            connection.exec_driver_sql("ROLLBACK")
        except exc.SQLAlchemyError:
            self._opened.drop()

    def make_private(self) -> None:
        """Let nobody else on this machine read it: it is about to hold a secret."""
        self._opened.make_private()

    def close(self) -> None:
        """Let go of the database and of the lock on it."""
        self._opened.close()


def _unopened(address: str, problem: Exception) -> StoreError:
    why = problem.orig if isinstance(problem, exc.DBAPIError) else problem
    return StoreError(
        f"The store {address} cannot be opened: {str(why).strip()}.", "Name another store with --store."
    )


def _unavailable(problem: exc.DBAPIError) -> StoreUnavailable:
    is_damaged = type(problem.orig) is sqlite3.DatabaseError  # what passes has a class of its own
    return StoreUnavailable(
        f"The store did not answer: {str(problem.orig).strip()}", _DAMAGED_HINT if is_damaged else ""
    )


def _migrate(connection: sa.Connection) -> None:
    from forewarn.store.migrate import upgrade  # noqa: PLC0415 - the tool is imported only when it is needed

    upgrade(connection)

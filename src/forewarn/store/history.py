"""What has ended: queries over operations and events that the world no longer holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from forewarn.core.event import Event
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.store.codec import Codec
from forewarn.store.tables import events, operations

_EVENTS = Codec(Event)
_OPERATIONS = Codec(Operation)
_ENDED = (Phase.COMPLETED, Phase.CANCELLED, Phase.FAILED)
_ID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")
_LOWEST_ID = "00000000-0000-0000-0000-000000000000"
_HIGHEST_ID = _LOWEST_ID.replace("0", "F")
_CURSOR = re.compile(r"(\d{1,18})\.(\d{1,18})\.(.*)", re.ASCII)

Line = tuple[Operation, Event | None]


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page of the history ended: the commit, and what it ended."""

    commit: int
    number: int
    operation: str

    def __str__(self) -> str:
        return f"{self.commit}.{self.number}.{self.operation}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The cursor that a text names. Raises ValueError."""
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise ValueError(text)
        return cls(int(match[1]), int(match[2]), match[3])


def find_operation(connection: sa.Connection, operation: str) -> Operation | None:
    """An operation, open or ended."""
    row = connection.execute(sa.select(operations).where(operations.c.id == operation)).one_or_none()
    return _OPERATIONS.decode(row) if row else None


def operations_of_batch(connection: sa.Connection, batch: str) -> list[Operation]:
    """The operations that one request asked for, open or ended; or the one of that id."""
    query = sa.select(operations).where(sa.or_(operations.c.batch == batch, operations.c.id == batch))
    return [_OPERATIONS.decode(row) for row in connection.execute(query)]


def find_events(connection: sa.Connection, beginning: str, limit: int = 3) -> list[Event]:
    """The events whose id begins so, open or ended; a few are enough to tell that it is ambiguous."""
    wanted = beginning.upper()
    lowest, highest = wanted + _LOWEST_ID[len(wanted) :], wanted + _HIGHEST_ID[len(wanted) :]
    if not _ID.fullmatch(lowest):
        return []
    # A range of whole ids, which every collation orders alike: unlike a pattern, it is looked up in the key.
    query = sa.select(events).where(events.c.id.between(lowest, highest)).order_by(events.c.id).limit(limit)
    return [_EVENTS.decode(row) for row in connection.execute(query)]


def events_of(connection: sa.Connection, operation: str) -> list[Event]:
    """The events of an operation, in creation order."""
    query = sa.select(events).where(events.c.operation == operation).order_by(events.c.number)
    return [_EVENTS.decode(row) for row in connection.execute(query)]


def list_events(
    connection: sa.Connection,
    *,
    phases: Sequence[Phase],
    scope: str | None,
    vm: str | None,
    after: int,
    limit: int,
) -> list[Event]:
    """Events of any phase, oldest first, from the one numbered `after` on."""
    query = sa.select(events).where(events.c.phase.in_(phases), events.c.number > after)
    if scope is not None:
        query = query.where(events.c.scope == scope)
    if vm is not None:
        query = query.where(events.c.resources.contains(f'"{vm}"', autoescape=True))
    rows = connection.execute(query.order_by(events.c.number).limit(limit))
    return [_EVENTS.decode(row) for row in rows]


def list_history(
    connection: sa.Connection, *, vm: str | None, after: Cursor | None, limit: int
) -> list[tuple[Cursor, Line]]:
    """What has ended, newest first: each event, and each operation that made none."""
    ended_events = (
        sa.select(
            events.c.version.label("commit"), events.c.number.label("number"), events.c.operation, events.c.id
        )
        .where(events.c.phase.in_(_ENDED))
        .where(_names(events.c.resources, vm))
    )
    silent = (
        sa.select(
            operations.c.version.label("commit"),
            sa.literal(0).label("number"),
            operations.c.id.label("operation"),
            sa.null().label("id"),
        )
        .where(operations.c.phase.in_(_ENDED))
        .where(~sa.exists().where(events.c.operation == operations.c.id))
        .where(_names(operations.c.targets, vm))
    )
    lines = sa.union_all(ended_events, silent).subquery()
    key = (lines.c.commit, lines.c.number, lines.c.operation)
    query = sa.select(lines).order_by(*(column.desc() for column in key)).limit(limit)
    if after is not None:
        seen = map(sa.literal, (after.commit, after.number, after.operation))
        query = query.where(sa.tuple_(*key) < sa.tuple_(*seen))
    rows = connection.execute(query).all()
    return _with_values(connection, rows)


def _names(column: sa.Column[Any], vm: str | None) -> sa.ColumnElement[bool]:
    return sa.true() if vm is None else column.contains(f'"{vm}"', autoescape=True)


def _with_values(connection: sa.Connection, rows: Sequence[Any]) -> list[tuple[Cursor, Line]]:
    event_ids = [row.id for row in rows if row.id is not None]
    operation_ids = {row.operation for row in rows}
    found_events = {
        row.id: _EVENTS.decode(row)
        for row in connection.execute(sa.select(events).where(events.c.id.in_(event_ids)))
    }
    found_operations = {
        row.id: _OPERATIONS.decode(row)
        for row in connection.execute(sa.select(operations).where(operations.c.id.in_(operation_ids)))
    }
    return [
        (
            Cursor(row.commit, row.number, row.operation),
            (found_operations[row.operation], found_events.get(row.id)),
        )
        for row in rows
    ]

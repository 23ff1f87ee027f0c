"""The history, line by line: what has ended, newest first, by filters and in pages.

Both halves, events and operations that made none, are walked in the order in which they are told and stop when the
page is full; so the cost of a page does not grow with what was before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import Any

import sqlalchemy as sa

from forewarn.core.event import Event
from forewarn.core.history import HistoryEntry
from forewarn.core.operation import Attempt, Operation
from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
from forewarn.store.codec import Codec, micros
from forewarn.store.json_text import elements_of, may_name, members_of
from forewarn.store.tables import (
    attempts,
    availability_sets,
    cloud_services,
    events,
    operations,
    scale_sets,
    scopes,
    vms,
)

_EVENTS = Codec(Event)
_OPERATIONS = Codec(Operation)
_ATTEMPTS = Codec(Attempt)
_OPEN = (Phase.SCHEDULED, Phase.STARTED)
Columns = Sequence[sa.ColumnElement[Any]]

_CURSOR = re.compile(r"(\d{1,18})\.(\d{1,18})\.(.*)", re.ASCII)


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


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines are wanted: those for which all of this is so.

    One of a line's VMs has to be the VM, in the set, and with the tag, all at once; VMs that were deleted count as
    they were at last.
    """

    vm: str | None = None
    set_name: str | None = None
    tag: tuple[str, str | None] | None = None  # a key, and its value unless any will do
    kind: Kind | None = None
    scope: str | None = None  # an operation that made no event is in none
    outcome: Phase | None = None
    asked_by: str | None = None
    rollout: str | None = None  # its id, or the beginning of it
    since: datetime | None = None  # ended then or later
    until: datetime | None = None  # ended before then


EVERYTHING = Filter()


def list_history(
    connection: sa.Connection, wanted: Filter = EVERYTHING, *, after: Cursor | None = None, limit: int
) -> list[tuple[Cursor, HistoryEntry]]:
    """What has ended, newest first: each event, and each operation that made none."""
    return _with_values(connection, find_rows(connection, wanted, after=after, limit=limit))


def find_rows(
    connection: sa.Connection,
    wanted: Filter,
    *,
    after: Cursor | None,
    limit: int,
    of_events: Columns = (),
    of_operations: Columns = (),
) -> list[Any]:
    """Where the lines of a page are: commit, number, operation and event, and these columns of either."""
    told = connection.execute(_of_events(wanted, after).add_columns(*of_events).limit(limit)).all()
    quiet: Sequence[Any] = ()
    if wanted.scope is None:
        query = _of_silent_operations(wanted, after).add_columns(*of_operations)
        if len(told) == limit:  # what is older than the last of them is not on this page
            query = query.where(operations.c.version >= told[-1].commit)
        quiet = connection.execute(query.limit(limit)).all()
    rows = merge(told, quiet, key=lambda row: (row.commit, row.number), reverse=True)
    return list(islice(rows, limit))


def cursor_of(row: Any) -> Cursor:  # noqa: ANN401 - a row as find_rows gives it
    """Where a page ends whose last line is this."""
    return Cursor(row.commit, row.number, row.operation)


def _of_events(wanted: Filter, after: Cursor | None) -> sa.Select[Any]:
    key = (events.c.version, events.c.number)
    query = sa.select(events.c.version.label("commit"), events.c.number, events.c.operation, events.c.id)
    query = query.where(events.c.phase.not_in(_OPEN), *_conditions(events, events.c.resources, wanted))
    if wanted.scope is not None:
        query = query.where(events.c.scope == wanted.scope)
    if of_operation := list(_of_operation(wanted)):
        asked = sa.select(sa.literal(1)).where(operations.c.id == events.c.operation)
        query = query.where(sa.exists(asked.where(*of_operation)))
    if after is not None:
        query = query.where(sa.tuple_(*key) < sa.tuple_(sa.literal(after.commit), sa.literal(after.number)))
    return query.order_by(*(column.desc() for column in key))


def _of_operation(wanted: Filter) -> Iterator[sa.ColumnElement[bool]]:
    """What the filter asks of a line's operation."""
    if wanted.asked_by is not None:
        yield operations.c.asked_by == wanted.asked_by
    if wanted.rollout is not None:
        yield operations.c.rollout.startswith(wanted.rollout.lower(), autoescape=True)


def _of_silent_operations(wanted: Filter, after: Cursor | None) -> sa.Select[Any]:
    key = (operations.c.version, operations.c.id)
    query = sa.select(
        operations.c.version.label("commit"),
        sa.literal(0).label("number"),
        operations.c.id.label("operation"),
        sa.null().label("id"),
    )
    query = query.where(operations.c.phase.not_in(_OPEN), *_of_operation(wanted))
    query = query.where(
        *_conditions(operations, operations.c.targets, wanted),
        ~sa.exists(sa.select(sa.literal(1)).where(events.c.operation == operations.c.id)),
    )
    if after is not None:
        query = query.where(_is_after(after))
    return query.order_by(*(column.desc() for column in key))


def _is_after(after: Cursor) -> sa.ColumnElement[bool]:
    """Whether an operation is told after the cursor; of one commit, its events are told first."""
    if after.number:
        return operations.c.version <= after.commit
    key = (operations.c.version, operations.c.id)
    return sa.tuple_(*key) < sa.tuple_(sa.literal(after.commit), sa.literal(after.operation))


def _conditions(
    table: sa.Table, resources: sa.ColumnElement[str], wanted: Filter
) -> Iterable[sa.ColumnElement[bool]]:
    """What is asked of events and of operations alike."""
    if wanted.kind is not None:
        yield table.c.kind == wanted.kind
    if wanted.outcome is not None:
        yield table.c.phase == wanted.outcome
    if wanted.since is not None:
        yield table.c.ended_at >= micros(wanted.since)
    if wanted.until is not None:
        yield table.c.ended_at < micros(wanted.until)
    if wanted.vm is not None:
        yield may_name(resources, wanted.vm)
    if (wanted.vm, wanted.set_name, wanted.tag) != (None, None, None):
        each = elements_of(resources)
        found = sa.select(sa.literal(1)).select_from(each)
        yield sa.exists(found.where(*_machines(each.c.value, wanted)))


def _machines(name: sa.ColumnElement[str], wanted: Filter) -> Iterable[sa.ColumnElement[bool]]:
    if wanted.vm is not None:
        yield name == wanted.vm
    if wanted.set_name is not None or wanted.tag is not None:
        named = sa.select(vms.c.name)
        if wanted.set_name is not None:
            named = named.where(vms.c.set_name == wanted.set_name)
        if wanted.tag is not None:
            named = named.where(_has_tag(*wanted.tag))
        yield name.in_(named)


def _has_tag(key: str, value: str | None) -> sa.ColumnElement[bool]:
    each = members_of(vms.c.tags)
    found = sa.select(sa.literal(1)).select_from(each).where(each.c.key == key)
    return sa.exists(found if value is None else found.where(each.c.value == value))


def _with_values(connection: sa.Connection, rows: Sequence[Any]) -> list[tuple[Cursor, HistoryEntry]]:
    found_events = {
        row.id: _EVENTS.decode(row)
        for row in _named(connection, events, events.c.id, [row.id for row in rows if row.id is not None])
    }
    operation_ids = list(dict.fromkeys(row.operation for row in rows))
    found_operations = {
        row.id: _OPERATIONS.decode(row) for row in _named(connection, operations, operations.c.id, operation_ids)
    }
    done: dict[str, dict[str, Attempt]] = {}
    for row in _named(connection, attempts, attempts.c.operation, operation_ids):
        done.setdefault(row.operation, {})[row.vm] = _ATTEMPTS.decode(row)
    guests = machines_among(connection, {each.approved_by for each in found_events.values()} - {None})

    def line(operation: Operation, event: Event | None) -> HistoryEntry:
        touched = done.get(operation.id, {})
        resources = event.resources if event else operation.targets
        return HistoryEntry(
            operation,
            event,
            tuple(touched[vm] for vm in resources if vm in touched),
            is_approved_by_guest=event is not None and event.approved_by in guests,
        )

    return [
        (
            cursor_of(row),
            line(found_operations[row.operation], found_events.get(row.id)),
        )
        for row in rows
    ]


def _named(
    connection: sa.Connection, table: sa.Table, key: sa.ColumnElement[str], wanted: Sequence[str]
) -> Iterable[Any]:
    return connection.execute(sa.select(table).where(key.in_(wanted))) if wanted else ()


def machines_among(connection: sa.Connection, names: Iterable[str | None]) -> set[str]:
    """Those of the names that machines have, or had."""
    wanted = [name for name in names if name is not None]
    rows = connection.execute(sa.select(vms.c.name).where(vms.c.name.in_(wanted))) if wanted else ()
    return {row.name for row in rows}


def find_unknown(connection: sa.Connection, wanted: Filter) -> tuple[str, str] | None:
    """What the filter names that there never was: `("VM", "web-9")`. A slip of the pen, where nothing is found."""
    looked_up = (
        ("VM", wanted.vm, [vms.c.name]),
        ("set", wanted.set_name, [each.c.name for each in (availability_sets, scale_sets, cloud_services)]),
        ("scope", wanted.scope, [scopes.c.id]),
    )
    if wanted.rollout is not None and not _has_rollout(connection, wanted.rollout):
        return "rollout", wanted.rollout
    for what, name, columns in looked_up:
        if name is not None and not any(_has(connection, column, name) for column in columns):
            return what, name
    return None


def _has_rollout(connection: sa.Connection, beginning: str) -> bool:
    begins_so = operations.c.rollout.startswith(beginning.lower(), autoescape=True)
    return connection.execute(sa.select(sa.literal(1)).where(begins_so).limit(1)).first() is not None


def _has(connection: sa.Connection, column: sa.ColumnElement[str], name: str) -> bool:
    return connection.execute(sa.select(sa.literal(1)).where(column == name).limit(1)).first() is not None

"""Operations and events, open or ended, by id, phase or VM; the history, line by line, is in lines.py."""

from __future__ import annotations

import re
from collections.abc import Sequence

import sqlalchemy as sa

from forewarn.core.event import Event
from forewarn.core.operation import Attempt, Operation
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause
from forewarn.store.codec import Codec
from forewarn.store.json_text import names
from forewarn.store.tables import attempts, events, operations

_EVENTS = Codec(Event)
_OPERATIONS = Codec(Operation)
_ATTEMPTS = Codec(Attempt)
_ID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")
_LOWEST_ID = "00000000-0000-0000-0000-000000000000"
_HIGHEST_ID = _LOWEST_ID.replace("0", "F")


def find_operation(connection: sa.Connection, operation: str) -> Operation | None:
    """An operation, open or ended."""
    row = connection.execute(sa.select(operations).where(operations.c.id == operation)).one_or_none()
    return _OPERATIONS.decode(row) if row else None


def operations_of_batch(connection: sa.Connection, batch: str) -> list[Operation]:
    """The operations that one request asked for, open or ended; or the one of that id."""
    query = sa.select(operations).where(sa.or_(operations.c.batch == batch, operations.c.id == batch))
    return [_OPERATIONS.decode(row) for row in connection.execute(query)]


def last_on_host(connection: sa.Connection, host: str, cause: Cause) -> Operation | None:
    """The last operation that a host saw for this cause, open or ended."""
    query = sa.select(operations).where(operations.c.host == host, operations.c.cause == cause)
    row = connection.execute(query.order_by(operations.c.version.desc()).limit(1)).one_or_none()
    return _OPERATIONS.decode(row) if row else None


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


def attempts_of(connection: sa.Connection, operation: str) -> list[Attempt]:
    """What an operation has done to machines so far, in the order in which it began."""
    query = sa.select(attempts).where(attempts.c.operation == operation)
    rows = connection.execute(query.order_by(attempts.c.recorded_at, attempts.c.vm))
    return [_ATTEMPTS.decode(row) for row in rows]


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
        query = query.where(names(events.c.resources, vm))
    rows = connection.execute(query.order_by(events.c.number).limit(limit))
    return [_EVENTS.decode(row) for row in rows]

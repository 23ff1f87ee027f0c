"""The history as figures: what a summary needs of each line, and no more, so that many are read quickly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from forewarn.core.history import Figures, approver_of
from forewarn.core.operation import Outcome
from forewarn.core.phase import Phase
from forewarn.core.terms import Action
from forewarn.store.lines import Cursor, Filter, cursor_of, find_rows, machines_among
from forewarn.store.tables import attempts, events, operations

_SECOND = 1_000_000  # in microseconds, in which the store counts

_OF_EVENTS = [
    events.c.phase,
    events.c.duration_seconds,
    events.c.resources.label("machines"),
    events.c.notice,
    events.c.created_at,
    events.c.started_at,
    events.c.approvals,
]
_OF_OPERATIONS = [
    operations.c.phase,
    operations.c.duration_seconds,
    operations.c.targets.label("machines"),
    sa.null().label("notice"),
    sa.null().label("created_at"),
    sa.null().label("started_at"),
    sa.literal("[]").label("approvals"),
]

Touched = dict[tuple[str, str], float | None]  # operation and machine to the seconds away; None: nobody knows


def list_figures(
    connection: sa.Connection, wanted: Filter, *, after: Cursor | None, limit: int
) -> tuple[list[Figures], Cursor | None]:
    """The figures of a page, and where it ended; None: it was the last."""
    rows = find_rows(
        connection, wanted, after=after, limit=limit, of_events=_OF_EVENTS, of_operations=_OF_OPERATIONS
    )
    touched = _touched(connection, list({row.operation for row in rows}))
    first = [_first_approver(row.approvals) for row in rows]
    guests = machines_among(connection, set(first))
    figures = [_figures(row, by, touched, guests) for row, by in zip(rows, first, strict=True)]
    return figures, cursor_of(rows[-1]) if len(rows) == limit else None


def _first_approver(approvals: str) -> str | None:
    found: list[tuple[str, int]] = [] if approvals == "[]" else msgspec.json.decode(approvals)
    return found[0][0] if found else None


def _touched(connection: sa.Connection, of: Sequence[str]) -> Touched:
    if not of:
        return {}
    away_from = sa.case(
        (attempts.c.action == Action.RESTORE, operations.c.started_at), else_=attempts.c.recorded_at
    )
    query = sa.select(attempts.c.operation, attempts.c.vm, attempts.c.outcome, away_from, attempts.c.ended_at)
    rows = connection.execute(
        query.join(operations, operations.c.id == attempts.c.operation).where(
            attempts.c.operation.in_(of), attempts.c.ended_at.is_not(None)
        )
    )
    return {
        (operation, vm): None if outcome == Outcome.FAILED else max(last - began, 0) / _SECOND
        for operation, vm, outcome, began, last in rows
    }


def _figures(row: Any, first: str | None, touched: Touched, guests: set[str]) -> Figures:  # noqa: ANN401 - a row
    has_started = row.started_at is not None
    keys = [(row.operation, vm) for vm in msgspec.json.decode(row.machines)]
    took = [touched[key] for key in keys if key in touched]
    return Figures(
        outcome=Phase(row.phase),
        approver=approver_of(first, is_guest=first in guests) if has_started else None,
        promised=None if row.notice is None else row.notice / _SECOND,
        given=(row.started_at - row.created_at) / _SECOND if has_started else None,
        expected=row.duration_seconds if row.duration_seconds >= 0 else None,
        interruptions=[] if None in took else [seconds for seconds in took if seconds is not None],
    )

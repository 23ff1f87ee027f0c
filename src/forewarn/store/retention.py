"""Letting go of what is too old: operations that have ended, with all that belongs to them, and audit lines.

What is open is never touched, however old it is; what belongs to an operation goes with it, and not before.
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from forewarn.core.phase import Phase
from forewarn.store.codec import micros
from forewarn.store.tables import attempts, deeds, events, operations

MOST_OPERATIONS = 200  # of one batch: some milliseconds, in which nobody else writes
MOST_DEEDS = 1000
_OPEN = (Phase.SCHEDULED, Phase.STARTED)


def prune(connection: sa.Connection, before: datetime) -> bool:
    """Let go of some of what ended before that instant; whether there may be more."""
    gone = _old_operations(connection, before)
    for table, column in (
        (events, events.c.operation),
        (attempts, attempts.c.operation),
        (deeds, deeds.c.operation),
        (operations, operations.c.id),
    ):
        if gone:
            connection.execute(table.delete().where(column.in_(gone)))
    lines = _old_deeds(connection, before)
    if lines:
        connection.execute(deeds.delete().where(deeds.c.id.in_(lines)))
    return len(gone) == MOST_OPERATIONS or len(lines) == MOST_DEEDS


def _old_operations(connection: sa.Connection, before: datetime) -> list[str]:
    query = (
        sa.select(operations.c.id)
        .where(operations.c.ended_at < micros(before), operations.c.phase.not_in(_OPEN))
        .order_by(operations.c.ended_at)
        .limit(MOST_OPERATIONS)
    )
    return [row.id for row in connection.execute(query)]


def _old_deeds(connection: sa.Connection, before: datetime) -> list[int]:
    """Those that belong to no operation; the others go with theirs."""
    query = (
        sa.select(deeds.c.id)
        .where(deeds.c.at < micros(before), deeds.c.operation.is_(None))
        .order_by(deeds.c.at)
        .limit(MOST_DEEDS)
    )
    return [row.id for row in connection.execute(query)]

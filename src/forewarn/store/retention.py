"""Letting go of what is too old: operations and rollouts that have ended, with what is theirs, and audit lines.

What is open is never touched, however old it is; what belongs to an operation goes with it, and not before.
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from forewarn.core.phase import Phase
from forewarn.store.codec import micros
from forewarn.store.tables import attempts, deeds, events, operations, rollouts, turns

MOST_OPERATIONS = 200  # of one batch: some milliseconds, in which nobody else writes
MOST_DEEDS = 1000
MOST_TURNS = 1000
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
    had_a_rollout = _prune_a_rollout(connection, before)
    lines = _old_deeds(connection, before)
    if lines:
        connection.execute(deeds.delete().where(deeds.c.id.in_(lines)))
    return had_a_rollout or len(gone) == MOST_OPERATIONS or len(lines) == MOST_DEEDS


def _prune_a_rollout(connection: sa.Connection, before: datetime) -> bool:
    """Some turns of the oldest rollout, and with the last of them the rollout itself; whether there was one.

    It is there as long as an operation of it is.
    """
    kept = sa.select(sa.literal(1)).where(operations.c.rollout == rollouts.c.id)
    query = sa.select(rollouts.c.id).where(rollouts.c.ended_at < micros(before), ~sa.exists(kept))
    rollout = connection.execute(query.order_by(rollouts.c.ended_at, rollouts.c.id).limit(1)).scalar()
    if rollout is None:
        return False
    of_it = turns.c.rollout == rollout
    hosts = list(connection.execute(sa.select(turns.c.host).where(of_it).limit(MOST_TURNS)).scalars())
    if hosts:
        connection.execute(turns.delete().where(of_it, turns.c.host.in_(hosts)))
    if len(hosts) < MOST_TURNS:
        connection.execute(rollouts.delete().where(rollouts.c.id == rollout))
    return True


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

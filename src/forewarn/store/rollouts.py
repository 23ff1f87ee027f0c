"""Rollouts that are kept, open and ended: what the world no longer holds is found here."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from forewarn.core.rollout import Rollout, RolloutState, Turn, TurnState
from forewarn.store.codec import Codec
from forewarn.store.tables import rollouts, turns

_ROLLOUTS = Codec(Rollout)
_TURNS = Codec(Turn)


def find_rollouts(connection: sa.Connection, beginning: str, limit: int = 3) -> list[Rollout]:
    """The rollouts whose id begins so; a few are enough to tell that it is ambiguous."""
    begins_so = rollouts.c.id.startswith(beginning.lower(), autoescape=True)
    query = sa.select(rollouts).where(begins_so).order_by(rollouts.c.id).limit(limit)
    return [_ROLLOUTS.decode(row) for row in connection.execute(query)]


def list_rollouts(
    connection: sa.Connection, *, states: Sequence[RolloutState], after: str | None, limit: int
) -> list[Rollout] | None:
    """Rollouts, newest first; None: there is none of the id after which they are wanted."""
    query = sa.select(rollouts).where(rollouts.c.state.in_(states))
    if after is not None:
        last = connection.scalar(sa.select(rollouts.c.created_at).where(rollouts.c.id == after))
        if last is None:
            return None
        query = query.where(sa.tuple_(rollouts.c.created_at, rollouts.c.id) < (last, after))
    query = query.order_by(rollouts.c.created_at.desc(), rollouts.c.id.desc()).limit(limit)
    return [_ROLLOUTS.decode(row) for row in connection.execute(query)]


def list_turns(connection: sa.Connection, rollout: str, *, after: int, limit: int) -> list[Turn]:
    """The turns of a rollout in their order, from the one after that position on."""
    query = sa.select(turns).where(turns.c.rollout == rollout, turns.c.position > after)
    return [_TURNS.decode(row) for row in connection.execute(query.order_by(turns.c.position).limit(limit))]


def count_turns(connection: sa.Connection, wanted: Sequence[str]) -> dict[str, dict[TurnState, int]]:
    """By rollout, how many turns are in each state."""
    counts: dict[str, dict[TurnState, int]] = {rollout: {} for rollout in wanted}
    of_those = sa.select(turns.c.rollout, turns.c.state, sa.func.count()).where(turns.c.rollout.in_(wanted))
    for rollout, state, count in connection.execute(of_those.group_by(turns.c.rollout, turns.c.state)):
        counts[rollout][TurnState(state)] = count
    return counts

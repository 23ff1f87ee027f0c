"""What is too old goes, with all that belongs to it; what is open stays, however old it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

import pytest
import sqlalchemy as sa

from forewarn.core.event import Event
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.rollout import Rollout, RolloutState, Turn
from forewarn.core.world import AuditEntry
from forewarn.store import retention
from forewarn.store.retention import prune
from forewarn.store.sql import SqlStore
from forewarn.store.tables import attempts, deeds, events, operations, rollouts, turns
from tests.store.samples import ATTEMPT, EVENT, MARK, NOW, OPERATION, ROLLOUT, TURN, commit

DAY = timedelta(days=1)


def operation(number: int, days_ago: float | None, phase: Phase = Phase.COMPLETED) -> Operation:
    ended = None if days_ago is None else NOW - days_ago * DAY
    return replace(OPERATION, id=f"op-{number}", phase=phase, created_at=NOW - 999 * DAY, ended_at=ended)


def event(number: int, of: Operation, phase: Phase = Phase.COMPLETED) -> Event:
    return replace(EVENT, id=f"event-{number}", number=number, operation=of.id, phase=phase, ended_at=of.ended_at)


def keep(store: SqlStore, *entities, deeds: tuple[AuditEntry, ...] = ()) -> None:
    with store.transaction() as transaction:
        transaction.write(commit(1, *entities, deeds=deeds), MARK, 0)


def let_go(store: SqlStore, days: float) -> bool:
    with store.transaction() as transaction:
        return prune(transaction.connection, NOW - days * DAY)


def left(store: SqlStore, column: sa.Column) -> list[str]:
    with store.reading() as connection:
        return sorted(row[0] for row in connection.execute(sa.select(column)))


def test_an_old_operation_goes_with_its_events_attempts_and_deeds(store: SqlStore):
    old, recent = operation(1, 11), operation(2, 9)
    keep(
        store, old, recent, event(1, old), event(2, old), event(3, recent),
        replace(ATTEMPT, operation=old.id), replace(ATTEMPT, operation=recent.id),
        deeds=tuple(AuditEntry(NOW - 500 * DAY, "alice", "maintain", each) for each in ("op-1", "op-2")),
    )  # fmt: skip

    let_go(store, 10)

    assert left(store, operations.c.id) == ["op-2"]
    assert left(store, events.c.id) == ["event-3"]
    assert left(store, attempts.c.operation) == ["op-2"]
    assert left(store, deeds.c.operation) == ["op-2"]


@pytest.mark.parametrize("phase", [Phase.SCHEDULED, Phase.STARTED])
def test_what_is_open_stays_however_old_it_is(store: SqlStore, phase: Phase):
    is_open = operation(1, None, phase)
    withdrawn = replace(event(2, is_open, Phase.CANCELLED), ended_at=NOW - 900 * DAY)
    deed = AuditEntry(NOW - 900 * DAY, "alice", "maintain", is_open.id, subject="it")
    keep(
        store, is_open, event(1, is_open, phase), withdrawn, replace(ATTEMPT, operation=is_open.id), deeds=(deed,)
    )

    let_go(store, 10)

    assert left(store, operations.c.id) == ["op-1"]
    assert left(store, events.c.id) == ["event-1", "event-2"]
    assert left(store, attempts.c.operation) == ["op-1"]
    assert left(store, deeds.c.subject) == ["it"]


def test_deeds_that_belong_to_no_operation_go_by_their_own_age(store: SqlStore):
    keep(
        store, deeds=tuple(AuditEntry(NOW - days * DAY, "alice", "recover", subject=str(days)) for days in (11, 9))
    )

    let_go(store, 10)

    assert left(store, deeds.c.subject) == ["9"]


def test_what_ended_at_that_very_instant_is_kept(store: SqlStore):
    keep(store, operation(1, 10))

    let_go(store, 10)

    assert left(store, operations.c.id) == ["op-1"]


def test_it_goes_in_batches_the_oldest_first_until_nothing_is_left(store: SqlStore):
    keep(
        store,
        *(operation(number, 20 - number) for number in range(5)),
        deeds=tuple(
            AuditEntry(NOW - (20 - number) * DAY, "alice", "recover", subject=str(number)) for number in range(3)
        ),
    )

    steps = []
    with patch.object(retention, "MOST_OPERATIONS", 2), patch.object(retention, "MOST_DEEDS", 2):
        for _ in range(3):
            is_more = let_go(store, 10)
            steps.append((is_more, left(store, operations.c.id), left(store, deeds.c.subject)))

    assert steps == [
        (True, ["op-2", "op-3", "op-4"], ["2"]),
        (True, ["op-4"], []),
        (False, [], []),
    ]


def rollout(number: int, days_ago: float | None, hosts: int) -> list[Rollout | Turn]:
    ended, name = None if days_ago is None else NOW - days_ago * DAY, f"rollout-{number}"
    made = replace(
        ROLLOUT, id=name, state=RolloutState.COMPLETED if ended else RolloutState.RUNNING, ended_at=ended
    )
    return [made, *(replace(TURN, rollout=name, host=f"host-{n}", position=n) for n in range(hosts))]


def test_rollouts_go_with_their_turns_a_bounded_number_at_a_time_until_nothing_is_left(store: SqlStore):
    keep(store, *rollout(1, 11, 3), *rollout(2, 20, 5), *rollout(3, 9, 2), *rollout(4, None, 2))

    steps = []
    with patch.object(retention, "MOST_TURNS", 2):
        for _ in range(6):
            is_more = let_go(store, 10)
            steps.append((is_more, left(store, rollouts.c.id)[:2], len(left(store, turns.c.host))))

    assert steps == [
        (True, ["rollout-1", "rollout-2"], 10),
        (True, ["rollout-1", "rollout-2"], 8),
        (True, ["rollout-1", "rollout-3"], 7),
        (True, ["rollout-1", "rollout-3"], 5),
        (True, ["rollout-3", "rollout-4"], 4),
        (False, ["rollout-3", "rollout-4"], 4),
    ]


def test_a_rollout_stays_as_long_as_an_operation_of_it(store: SqlStore):
    keep(store, *rollout(1, 11, 1), replace(operation(1, 9), rollout="rollout-1"))

    assert not let_go(store, 10)
    before = left(store, rollouts.c.id)
    let_go(store, 8)

    assert (before, left(store, rollouts.c.id), left(store, turns.c.host)) == (["rollout-1"], [], [])


def test_letting_go_is_no_commit_so_that_nobody_has_to_read_the_world_anew(store: SqlStore):
    keep(store, operation(1, 11))

    let_go(store, 10)

    with store.transaction() as transaction:
        assert transaction.number == 1
        assert list(transaction.news(0)) == []

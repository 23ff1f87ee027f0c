"""Rollouts and the turns of their hosts, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from forewarn.core.rollout import Rollout, RolloutState, Turn, TurnState, Work
from forewarn.core.terms import Kind
from forewarn.core.window import DAYS, Window
from forewarn.store import rollouts
from forewarn.store.sql import SqlStore
from tests.store.samples import MARK, NOW, ROLLOUT, TURN, WORK, commit


def keep(store: SqlStore, *entities: Rollout | Turn) -> None:
    with store.transaction() as transaction:
        transaction.write(commit(1, *entities), MARK, 0)


def everything(store: SqlStore) -> list[object]:
    with store.transaction() as transaction:
        return list(transaction.everything())


def rollout(number: int, state: RolloutState = RolloutState.RUNNING, **more: object) -> Rollout:
    return replace(ROLLOUT, id=f"{number:08x}-0000-4000-8000-000000000000", state=state, **more)


def turn(of: Rollout, position: int, state: TurnState = TurnState.WAITING) -> Turn:
    return replace(TURN, rollout=of.id, host=f"host-{position}", position=position, state=state)


WINDOWS = {
    "none": None,
    "in UTC": Window(time(1, 5), timedelta(hours=1)),
    "in a zone, past midnight": Window(time(23, 59), timedelta(hours=4), ("Sat",), ZoneInfo("Europe/Berlin")),
    "a week with blackout dates": Window(
        time(0), timedelta(days=7), DAYS, ZoneInfo("Pacific/Apia"), (date(2026, 2, 28), date(2028, 2, 29))
    ),
}


@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
def test_the_work_of_a_rollout_is_read_back_the_same_with_its_window(store: SqlStore, window: Window | None):
    kept = replace(ROLLOUT, work=replace(WORK, window=window))

    keep(store, kept)

    (found,) = everything(store)
    assert found == replace(kept, version=1)
    assert isinstance(found, Rollout)
    if window is not None:
        assert found.work.window is not None
        assert found.work.window.in_words() == window.in_words()
        at = datetime(2026, 3, 28, 12, tzinfo=UTC)
        assert found.work.window.fit(at, timedelta(minutes=5)) == window.fit(at, timedelta(minutes=5))


def test_work_with_nothing_but_its_kind_is_read_back_the_same(store: SqlStore):
    keep(store, replace(ROLLOUT, work=Work(Kind.REDEPLOY)))

    assert everything(store) == [replace(ROLLOUT, work=Work(Kind.REDEPLOY), version=1)]


@pytest.mark.parametrize("state", [RolloutState.RUNNING, RolloutState.PAUSED], ids=str)
def test_an_open_rollout_comes_back_with_all_its_turns_in_their_order(store: SqlStore, state: RolloutState):
    kept = rollout(1, state)
    states = [TurnState.DONE, TurnState.FAILED, TurnState.SKIPPED, TurnState.OPEN] + [TurnState.WAITING] * 8
    turns = [turn(kept, position, state) for position, state in enumerate(states)]

    keep(store, kept, *reversed(turns))

    assert everything(store) == [replace(each, version=1) for each in (kept, *turns)]


@pytest.mark.parametrize("state", [RolloutState.COMPLETED, RolloutState.ABORTED, RolloutState.FAILED], ids=str)
def test_a_rollout_that_has_ended_comes_back_only_while_something_of_it_is_at_work(
    store: SqlStore, state: RolloutState
):
    at_work, over = rollout(1, state), rollout(2, state)
    turns = [turn(at_work, 0, TurnState.OPEN), turn(at_work, 1), turn(over, 0, TurnState.DONE), turn(over, 1)]

    keep(store, at_work, over, *turns)

    assert everything(store) == [replace(each, version=1) for each in (at_work, turns[0], turns[1])]


def test_a_rollout_is_found_by_its_beginning_in_any_case_and_an_ambiguous_one_gives_several(store: SqlStore):
    keep(store, rollout(0xAB1), rollout(0xAB2, RolloutState.COMPLETED))

    with store.transaction() as transaction:
        one = rollouts.find_rollouts(transaction.connection, "00000AB1")
        both = rollouts.find_rollouts(transaction.connection, "00000ab")
        none = rollouts.find_rollouts(transaction.connection, "%")

    assert [each.id[:8] for each in one] == ["00000ab1"]
    assert len(both) == 2
    assert none == []


def test_rollouts_are_listed_newest_first_by_state_page_by_page(store: SqlStore):
    second = timedelta(seconds=1)
    keep(
        store,
        rollout(1, RolloutState.COMPLETED, created_at=NOW),
        rollout(2, RolloutState.ABORTED, created_at=NOW + second),
        rollout(3, created_at=NOW + second),
        rollout(4, created_at=NOW + 2 * second),
    )

    def listed(after: int | None = None, limit: int = 10, *states: RolloutState) -> list[int] | None:
        name = None if after is None else rollout(after).id
        wanted = states or tuple(RolloutState)
        with store.transaction() as transaction:
            found = rollouts.list_rollouts(transaction.connection, states=wanted, after=name, limit=limit)
        return None if found is None else [int(each.id[:8], 16) for each in found]

    assert listed() == [4, 3, 2, 1]
    assert listed(None, 2) == [4, 3]
    assert listed(3, 2) == [2, 1]
    assert listed(1) == []
    assert listed(None, 10, RolloutState.RUNNING) == [4, 3]
    assert listed(3, 10, RolloutState.COMPLETED) == [1]
    assert listed(99) is None


def test_turns_are_listed_in_their_order_page_by_page_and_counted_by_state(store: SqlStore):
    first, second = rollout(1), rollout(2)
    states = [TurnState.DONE] * 3 + [TurnState.FAILED] + [TurnState.WAITING] * 8
    keep(
        store,
        first,
        second,
        turn(second, 0, TurnState.OPEN),
        *(turn(first, position, state) for position, state in enumerate(states)),
    )

    with store.transaction() as transaction:
        page = rollouts.list_turns(transaction.connection, first.id, after=8, limit=2)
        rest = rollouts.list_turns(transaction.connection, first.id, after=page[-1].position, limit=10)
        counts = rollouts.count_turns(transaction.connection, [first.id, second.id, "nobody"])

    assert [each.host for each in page + rest] == ["host-9", "host-10", "host-11"]
    assert counts == {
        first.id: {TurnState.DONE: 3, TurnState.FAILED: 1, TurnState.WAITING: 8},
        second.id: {TurnState.OPEN: 1},
        "nobody": {},
    }

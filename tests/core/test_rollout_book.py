"""How far a rollout is: the index over its turns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forewarn.core.rollout import Turn, TurnState
from forewarn.core.rollout_book import RolloutBook
from tests.core.worlds import at, done_turn, failed_turn, row, turn


def book(*turns: Turn) -> RolloutBook:
    made = RolloutBook()
    for each in turns:
        made.take(each)
    return made


FIRST = done_turn("h1", "web-1", ended=-30, domains=("web#1",))
SECOND = done_turn("h2", "web-2", ended=-10, domains=("web#2",))


@pytest.mark.parametrize(
    ("turns", "wave"),
    [
        row("the first that is not done", [turn("h1", 1), turn("h2", 2)], 1),
        row("the next once it is done", [FIRST, turn("h2", 2)], 2),
        row("the next once all of it is done or put off", [turn("h1", 1, TurnState.POSTPONED), turn("h2", 2)], 2),
        row("not the next while a host is at work", [turn("h1", 1, TurnState.OPEN), turn("h2", 2)], 1),
        row("none at the end", [FIRST, failed_turn("h2"), turn("h3", state=TurnState.SKIPPED)], None),
    ],
)
def test_the_wave_that_comes_is(turns: list[Turn], wave: int | None):
    assert book(*turns).wave == wave


def test_a_turn_takes_the_place_of_its_former_version():
    found = book(turn("h1"), turn("h2"))
    found.take(turn("h1", state=TurnState.OPEN, operation="maintain h1"))
    opened = (dict(found.counts), list(found.operations()))
    found.take(replace(FIRST, wave=0))

    assert opened == ({TurnState.WAITING: 1, TurnState.OPEN: 1}, ["maintain h1"])
    assert (found.done, list(found.operations())) == (1, [])
    assert [each.host for each in found.coming(0)] == ["h2"]


@pytest.mark.parametrize(
    ("state", "done"),
    [(state, state in {TurnState.DONE, TurnState.FAILED, TurnState.SKIPPED}) for state in TurnState],
)
def test_a_host_has_had_its_turn_when_it_is_done_failed_or_skipped(state: TurnState, *, done: bool):
    assert book(turn("h1", state=state)).done == int(done)


def test_it_is_remembered_that_somebody_postponed():
    found = book(turn("h1", state=TurnState.POSTPONED))
    found.take(FIRST)

    assert found.had_postponed
    assert found.copy().had_postponed
    assert not book(FIRST).had_postponed


def test_the_last_end_is_the_latest_in_whatever_order_they_come():
    assert book(FIRST, SECOND).last_end == book(SECOND, FIRST).last_end == at(-10)


def test_a_turn_that_touched_nobody_ends_nothing():
    assert book(done_turn("h1", ended=-5)).last_end is None


def test_the_other_update_domains_of_a_set_end_each_by_itself():
    again = done_turn("h3", "web-3", ended=-20, domains=("web#1",))
    found = book(FIRST, again, SECOND, done_turn("h4", "db-1", ended=-1, domains=("db#1",)))

    assert list(found.other_ends("web", {0})) == [(1, at(-20)), (2, at(-10))]
    assert list(found.other_ends("web", {1})) == [(2, at(-10))]
    assert list(found.other_ends("web", {1, 2})) == [(1, at(-20)), (2, at(-10))]


def test_a_turn_whose_end_is_not_known_ends_nothing():
    assert book(replace(FIRST, rests_from=None)).last_end is None


def test_ends_move_with_a_step_of_the_clock():
    untouched, unknown = done_turn("h3", ended=-1), turn("h4", touched=("web-4",))
    found = book(FIRST, SECOND, untouched, unknown)
    for each in (FIRST, SECOND):
        found.take(replace(each, rests_from=at(-120)))

    assert found.last_end == at(-120)
    assert list(found.other_ends("web", {0})) == [(1, at(-120)), (2, at(-120))]


def test_failures_come_in_the_order_in_which_they_happened():
    found = book(failed_turn("h1", version=7), failed_turn("h2", version=3), FIRST)

    assert found.failures() == ["h2"]  # h1 has been done since
    assert book(failed_turn("h1", version=7), failed_turn("h2", version=3)).failures() == ["h2", "h1"]


def test_a_copy_knows_the_same_and_changes_alone():
    found = book(FIRST, turn("h2", 2))
    copy = found.copy()
    copy.take(replace(SECOND, wave=2))

    assert (found.wave, copy.wave) == (2, None)
    assert copy.turns["h1"] == FIRST

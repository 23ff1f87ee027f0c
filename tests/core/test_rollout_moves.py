"""What is written of a look at a rollout."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.core.notice import HOST_MAINTENANCE
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.rollout import Rollout, RolloutState, Turn, TurnState
from forewarn.core.rollout_course import Outlook, stop_for_now
from forewarn.core.terms import Action, Kind
from forewarn.core.world import World
from tests.core.rollouts import (
    FLEET,
    MIGRATION,
    SHUT,
    turn_of,
    web,
)
from tests.core.worlds import (
    NOON,
    ROLLOUT,
    Course,
    at,
    done_turn,
    draft_of,
    failed,
    failed_turn,
    look_at,
    maintain,
    minutes,
    moved_on,
    open_turn,
    postponed_turn,
    rollout,
    row,
    started,
    turn,
    world,
)

# What is written of it.


def written(found: World, outlook: Outlook, *ids: str) -> tuple[Any, list[str]]:
    draft = moved_on(found, outlook, *ids)
    return draft, [deed.verb for deed in draft.seal().deeds]


NEW = "0b7e8c1a-0000-4000-8000-000000000001"


def test_an_announcement_makes_the_operation_and_opens_the_turn():
    found = world(*FLEET, rollout(turn("h1"), notice=minutes(20), duration_seconds=7, description="new kernel"))
    draft, verbs = written(found, look_at(found), NEW)
    operation, opened = draft.operation(NEW), draft.turn(ROLLOUT, "h1")
    (event,) = draft.events_of(NEW)

    assert (operation.host, operation.rollout, operation.asked_by) == ("h1", ROLLOUT, "operator")
    assert (operation.kind, operation.action, operation.duration_seconds) == (Kind.FREEZE, Action.FREEZE, 7)
    assert operation.description == "new kernel"
    assert event.not_before == at(20)
    assert (opened.state, opened.operation, opened.announced_at) == (TurnState.OPEN, NEW, NOON)
    assert verbs == ["maintain"]


def test_an_announcement_gives_more_notice_where_the_start_is_later_and_never_less():
    found = world(*FLEET, rollout(turn("h1")))
    first = turn_of(found, "h1")

    for start, not_before in ((at(40), at(40)), (NOON, at(15))):
        draft, _ = written(found, Outlook(announce=[(first, start)]), NEW)
        (event,) = draft.events_of(NEW)
        assert event.not_before == not_before


def test_an_announcement_without_a_description_says_what_guests_are_usually_told():
    found = world(*FLEET, rollout(turn("h1")))
    draft, _ = written(found, look_at(found), NEW)

    assert draft.operation(NEW).description == HOST_MAINTENANCE


def test_an_announcement_of_a_live_migration_migrates():
    found = world(*FLEET, rollout(turn("h1"), **MIGRATION))
    draft, _ = written(found, look_at(found), NEW)

    assert draft.operation(NEW).action is Action.MIGRATE


def test_an_announcement_that_is_refused_fails_the_turn_and_says_why():
    found = web(3, rollout(turn("h1")))
    draft, verbs = written(found, Outlook(announce=[(turn_of(found, "h1"), at(15))]), NEW)
    ended = draft.turn(ROLLOUT, "h1")

    assert (ended.state, ended.ended_at) == (TurnState.FAILED, NOON)
    assert "web" in ended.reason
    assert verbs == ["fail"]


def test_an_announcement_to_start_at_the_force_by_date_is_not_refused_for_a_minimum():
    found = web(3, rollout(turn("h1"), force_by=at(15)))
    draft, _ = written(found, look_at(found), NEW)

    assert draft.turn(ROLLOUT, "h1").state is TurnState.OPEN


def test_a_skipped_turn_has_ended_and_says_why():
    found = world(failed("h1"), rollout(turn("h1")))
    draft, verbs = written(found, look_at(found))
    ended = draft.turn(ROLLOUT, "h1")

    assert (ended.state, ended.ended_at) == (TurnState.SKIPPED, NOON)
    assert "h1" in ended.reason
    assert verbs == ["skip"]


def test_what_is_taken_back_is_cancelled_and_its_host_waits_for_another_turn():
    found = world(*FLEET, rollout(open_turn(maintain("h1", due=0)), window=SHUT))
    draft, verbs = written(found, look_at(found))
    again, operation = draft.turn(ROLLOUT, "h1"), draft.operation("maintain h1")

    assert (again.state, again.operation, again.announced_at) == (TurnState.WAITING, None, None)
    assert operation.phase is Phase.CANCELLED
    assert verbs == ["cancel"]


def test_what_has_started_meanwhile_is_not_taken_back():
    found = world(*FLEET, rollout(open_turn(started(maintain("h1")))))
    draft, _ = written(found, Outlook(withdraw=[(turn_of(found, "h1"), "late")]))

    assert draft.is_empty


def test_a_turn_without_an_operation_is_not_taken_back():
    found = world(*FLEET, rollout(turn("h1")))
    draft, _ = written(found, Outlook(withdraw=[(turn_of(found, "h1"), "late")]))

    assert draft.is_empty


@pytest.mark.parametrize(
    ("course", "state", "named"),
    [
        row(
            "completed when all went well", rollout(done_turn("h1", "vm-1", ended=-5)), RolloutState.COMPLETED, []
        ),
        row(
            "failed when a host failed, and names it",
            rollout(failed_turn("h1"), done_turn("h2", "vm-2", ended=-5), max_failures=1),
            RolloutState.FAILED,
            ["h1"],
        ),
    ],
)
def test_a_rollout_ends(course: Course, state: RolloutState, named: list[str]):
    found = world(*FLEET, course)
    draft, verbs = written(found, look_at(found))
    (ended,) = [each for each in draft.seal().entities if isinstance(each, Rollout)]

    assert (ended.state, ended.ended_at) == (state, NOON)
    assert bool(ended.reason) is bool(named)
    assert all(name in ended.reason for name in named)
    assert verbs == ["end rollout"]


def test_a_pause_takes_back_what_is_only_announced_and_lets_what_has_started_go_on():
    found = world(
        *FLEET,
        rollout(
            failed_turn("h1"),
            open_turn(started(maintain("h2"))),
            open_turn(maintain("h3")),
            postponed_turn(maintain("h4", due=60)),
            turn("h5"),
        ),
    )
    draft, verbs = written(found, look_at(found))
    sealed = draft.seal()
    (paused,) = [each for each in sealed.entities if isinstance(each, Rollout)]
    phases = {each.id: each.phase for each in sealed.entities if isinstance(each, Operation)}
    turns = {each.host: each.state for each in sealed.entities if isinstance(each, Turn)}

    assert paused.state is RolloutState.PAUSED
    assert "h1" in paused.reason
    assert phases == {"maintain h3": Phase.CANCELLED, "maintain h4": Phase.CANCELLED}
    assert turns == {"h3": TurnState.WAITING, "h4": TurnState.WAITING}
    assert verbs == ["pause rollout", "cancel", "cancel"]


def test_what_a_pause_takes_back_says_that_the_rollout_is_paused_and_why():
    found = world(*FLEET, rollout(open_turn(maintain("h1"))))
    draft = draft_of(found)
    stop_for_now(draft, found.rollouts[ROLLOUT], "lunch")

    assert "lunch" in draft.operation("maintain h1").reason

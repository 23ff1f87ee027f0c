"""Several events at once that want the same: nothing is undone that one of them needs.

What is a state of this machine is done once for all; what is told of the event is done for each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forewarn.agent import handlers
from forewarn.agent.case import Ending
from forewarn.agent.effects import memory_of
from forewarn.agent.policy import Approval, Occasion, OnFailure, Step
from forewarn.agent.scene import Scene
from tests.agent.little_world import (
    BEGUN,
    DO,
    DONE,
    FAILED,
    NOW,
    SKIPPED,
    UNDO,
    World,
    a_case,
    a_policy,
    a_profile,
    a_run,
    a_step,
    an_event,
)

EACH = a_profile(a_step(), approval=Approval.NEVER)


def a_state(name: str = "drain", **said: Any) -> Step:
    """A step whose effect is a state of this machine."""
    return a_step(name, **({"is_for_all_events": True} | said))


DRAIN = a_profile(a_state(), approval=Approval.NEVER)


def two_prepared() -> World:
    """Two events, one drain."""
    world = World.of(DRAIN).see(an_event("E1"))
    return world.end("E1", "drain").see(an_event("E2"))


def test_what_is_there_already_is_not_done_again():
    world = two_prepared()

    assert world.acted == [("E1", "drain", DO)]
    assert world.outcome("E2") is DONE
    assert world.cases["E2"].run("drain").of_event == "E1"
    assert world.cases["E2"].prepared_at is not None


def test_what_is_just_being_done_is_waited_for():
    world = World.of(DRAIN).see(an_event("E1")).see(an_event("E2"))

    words = world.words("E2")
    world.end("E1", "drain")

    assert words == "step drain, under way for event E1"
    assert world.outcome("E2") is DONE
    assert world.acted == [("E1", "drain", DO)]


@pytest.mark.parametrize(("first", "last"), [("E1", "E2"), ("E2", "E1")])
def test_the_last_event_undoes_it_whichever_brought_it_about(first: str, last: str):
    world = two_prepared()

    world.go(first)
    after_the_first = list(world.acted)
    world.go(last)

    assert after_the_first == [("E1", "drain", DO)]
    assert world.is_closed(first)
    assert world.running() == [(last, "drain", UNDO)]
    world.end(last, "drain", UNDO)
    assert world.is_closed(last)


def test_events_that_go_at_the_same_moment_undo_it_once():
    world = two_prepared()

    world.go("E1", "E2")
    [(event, _, _)] = world.running()
    world.end(event, "drain", UNDO)

    assert [each[2] for each in world.acted] == [DO, UNDO]
    assert world.is_closed("E1")
    assert world.is_closed("E2")


def test_an_event_that_is_slow_to_stop_does_not_undo_what_another_has_undone():
    slow = a_step("slow", has_undo=False, group=2)
    world = World.of(a_profile(a_state(), slow, approval=Approval.NEVER)).see(an_event("E1")).end("E1", "drain")
    world.see(an_event("E2"))
    world.end("E1", "slow")

    world.go("E1", "E2").end("E1", "drain", UNDO)
    before = world.is_closed("E1")
    world.end("E2", "slow", outcome=FAILED)

    assert not before, "E2 would not know that it is undone"
    assert [each for each in world.acted if each[2] is UNDO] == [("E1", "drain", UNDO)]
    assert world.outcome("E2", "drain", UNDO) is SKIPPED
    assert world.is_closed("E1")
    assert world.is_closed("E2")


@pytest.mark.parametrize("ending", list(Ending))
def test_who_is_told_that_an_event_is_over_does_not_wait_for_an_undo_that_is_put_off(ending: Ending):
    told = a_step("told", on=Occasion(ending.value), has_undo=False)
    world = World.of(a_profile(a_step(), told, approval=Approval.NEVER)).see(an_event("E1")).end("E1", "drain")
    world.see(an_event("E2")).end("E2", "drain")

    world.go("E1", ending=ending)
    running = world.running()
    world.end("E1", "told")

    assert running == [("E1", "told", DO)]
    assert world.words("E1") == "the undo of step drain, put off until event E2 is over"
    assert not world.is_closed("E1"), "its undo is still to come"
    world.go("E2", ending=ending).end("E1", "drain", UNDO)
    assert world.is_closed("E1")
    assert [each for each in world.acted if each[:2] == ("E1", "told")] == [("E1", "told", DO)]


def test_an_event_that_replaces_another_takes_its_preparation_over():
    world = World.of(DRAIN).see(an_event("E1"))
    world.end("E1", "drain")

    world.cases["E2"] = replace(world.cases["E1"], event=an_event("E2"), runs={}, prepared_at=None)
    world.go("E1")

    assert world.acted == [("E1", "drain", DO)], "neither undone nor done again"
    assert world.is_closed("E1")
    world.go("E2")
    assert world.running() == [("E2", "drain", UNDO)]


def test_what_is_just_being_undone_is_done_again_afterwards():
    world = World.of(DRAIN).see(an_event("E1"))
    world.end("E1", "drain").go("E1").see(an_event("E2"))

    words = world.words("E2")
    world.end("E1", "drain", UNDO)

    assert words == "step drain, under way for event E1"
    assert world.running() == [("E2", "drain", DO)]


def test_an_undo_that_is_tried_again_stops_for_an_event_that_needs_the_effect():
    world = World.of(DRAIN).see(an_event("E1"))
    world.end("E1", "drain").go("E1").end("E1", "drain", UNDO, FAILED)

    world.see(an_event("E2")).end("E2", "drain")
    world.advance(60)

    assert world.outcome("E1", "drain", UNDO) is SKIPPED
    assert world.is_closed("E1")
    assert world.running() == []


def test_a_failed_attempt_of_an_open_event_keeps_others_from_undoing_under_its_feet():
    world = World.of(a_profile(a_state(retries=3), approval=Approval.NEVER)).see(an_event("E1"))
    world.end("E1", "drain", outcome=FAILED).see(an_event("E2")).end("E2", "drain")

    world.go("E2")

    assert world.running() == []
    assert world.outcome("E2", "drain", UNDO) is SKIPPED


@pytest.mark.parametrize(
    ("is_state", "undone"), [(True, 1), (False, 2)], ids=["a state: once", "for each event: one after the other"]
)
def test_what_two_attempts_were_after_is_undone(*, is_state: bool, undone: int):
    step = a_step(on_failure=OnFailure.CONTINUE, is_for_all_events=is_state)
    world = World.of(a_profile(step, approval=Approval.NEVER)).see(an_event("E1"))
    world.end("E1", "drain", outcome=FAILED).see(an_event("E2")).end("E2", "drain")

    world.go("E1", "E2")
    at_once = []
    while running := world.running():
        at_once.append(len(running))
        world.end(*running[0])

    assert at_once == [1] * undone
    assert (world.is_closed("E1"), world.is_closed("E2")) == (True, True)


def test_the_same_step_in_another_profile_is_the_same_effect():
    other = a_profile(
        a_state("out of the balancer", options={"command": ("drain",)}), name="spot", approval=Approval.NEVER
    )
    world = World.of(DRAIN, other).see(an_event("E1"))
    world.end("E1", "drain").see(an_event("E2"), "spot")

    world.go("E1")

    assert world.acted == [("E1", "drain", DO)]
    world.go("E2")
    assert world.running() == [("E2", "out of the balancer", UNDO)]


def test_a_step_with_other_options_is_another_effect():
    other = a_profile(a_state(options={"command": ["drain", "--soft"]}), name="spot", approval=Approval.NEVER)
    world = World.of(DRAIN, other).see(an_event("E1"))

    world.end("E1", "drain").see(an_event("E2"), "spot")

    assert world.outcome("E2") is BEGUN


def test_a_step_without_an_undo_runs_for_every_event():
    world = World.of(a_profile(a_step(has_undo=False), approval=Approval.NEVER))

    world.see(an_event("E1")).end("E1", "drain").see(an_event("E2"))

    assert world.acted == [("E1", "drain", DO), ("E2", "drain", DO)]


def test_what_was_done_for_one_event_is_not_taken_for_done_for_another_where_it_is_told_of_the_event():
    world = World.of(a_profile(a_step())).see(an_event("E1")).end("E1", "drain")

    world.see(an_event("E2"))
    before = list(world.approved)
    world.end("E2", "drain")

    assert before == ["E1"]
    assert world.acted == [("E1", "drain", DO), ("E2", "drain", DO)]
    assert world.approved == ["E1", "E2"]


@pytest.mark.parametrize(("first", "last"), [("E1", "E2"), ("E2", "E1")])
def test_each_event_is_undone_for_itself_and_none_before_the_last_is_over(first: str, last: str):
    world = World.of(EACH).see(an_event("E1")).end("E1", "drain").see(an_event("E2")).end("E2", "drain")

    world.go(first)
    put_off = world.running(), world.words(first)
    world.go(last)
    undoing = world.running()
    world.end(*undoing[0])
    world.end(*world.running()[0])

    assert put_off == ([], f"the undo of step drain, put off until event {last} is over")
    assert len(undoing) == 1, "one after the other"
    assert sorted(world.acted[2:]) == [("E1", "drain", UNDO), ("E2", "drain", UNDO)]
    assert world.is_closed(first)
    assert world.is_closed(last)


def test_what_is_just_done_for_one_event_is_done_for_the_next_one_afterwards():
    world = World.of(EACH).see(an_event("E1")).see(an_event("E2"))

    at_once = list(world.acted)
    world.end("E1", "drain")

    assert at_once == [("E1", "drain", DO)]
    assert world.running() == [("E2", "drain", DO)]


@pytest.mark.parametrize(
    ("kind", "is_for_all_events"),
    [
        ("command", False),
        ("http", False),
        ("webhook", False),
        ("signal", True),
        ("systemd", True),
        ("readiness", True),
        ("haproxy", True),
        ("patroni", True),
    ],
)
def test_only_a_handler_that_is_told_nothing_of_the_event_acts_for_all(kind: str, *, is_for_all_events: bool):
    assert handlers.find(kind).is_for_all_events is is_for_all_events


def test_an_attempt_keeps_its_memory_where_it_was_whatever_the_options_are_by_now():
    mine = a_case(runs={("drain", DO): a_run(FAILED, memory="command/old/name")})
    edited = a_profile(a_step(options={"command": ["drain", "--soft"]}))

    assert memory_of(edited.steps[0], Scene(mine, edited, (), NOW)) == "command/old/name"


def test_an_event_that_begins_what_another_left_half_done_keeps_its_memory_in_the_same_place():
    drain = a_profile(a_step())
    spot = a_profile(a_step("out", options={"command": ("drain",)}), name="spot")
    runs = {("out", DO): a_run(FAILED, memory="command/spot/out")}
    other = a_case(an_event("E1"), profile="spot", runs=runs, policy=a_policy(spot))
    scene = Scene(a_case(an_event("E2")), drain, (other,), NOW)

    assert memory_of(drain.steps[0], scene) == "command/spot/out"


def test_another_kind_of_handler_is_not_given_what_it_could_not_read():
    mine = a_case(runs={("drain", DO): a_run(DONE, memory="haproxy/drain/drain")})
    drain = a_profile(a_step(uses="systemd"))

    assert memory_of(drain.steps[0], Scene(mine, drain, (), NOW)).startswith("systemd/")


def test_a_state_is_not_undone_before_what_another_event_built_on_it():
    web = a_profile(a_state(), a_step("stop web", group=2), name="web", approval=Approval.NEVER)
    db = a_profile(a_state(), a_step("stop db", group=2), name="db", approval=Approval.NEVER)
    world = World.of(web, db).see(an_event("E1"), "web").end("E1", "drain").end("E1", "stop web")
    world.see(an_event("E2"), "db").end("E2", "stop db").go("E1", "E2")

    world.end("E2", "stop db", UNDO)
    meanwhile = world.running()
    world.end("E1", "stop web", UNDO)
    after = [(step, direction) for _, step, direction in world.running()]

    assert meanwhile == [("E1", "stop web", UNDO)]
    assert after == [("drain", UNDO)]


def test_a_state_is_undone_after_a_minute_though_another_event_has_not_begun_to_undo_what_it_built_on_it():
    built = a_profile(a_state(), a_step("x", group=2), name="built", approval=Approval.NEVER)
    tells = a_step("tell", on=Occasion.FINISHED, has_undo=False)
    bare = a_profile(a_state(), tells, name="bare", approval=Approval.NEVER)
    other = a_profile(a_step("x"), name="other", approval=Approval.NEVER)
    world = World.of(built, bare, other).see(an_event("E1"), "built").end("E1", "drain").end("E1", "x")
    world.see(an_event("E3", minutes=9999), "other").end("E3", "x").see(an_event("E2"), "bare")
    world.go("E1", "E2")
    at_first = world.running()

    world.advance(60)
    after = world.running()
    world.end("E2", "drain", UNDO)

    assert (at_first, after) == ([], [("E2", "drain", UNDO)])
    assert world.running() == [("E2", "tell", DO)], "who is to be told does not wait for the other"


def test_what_was_undone_for_an_event_that_came_back_does_not_keep_another_from_undoing_its_own():
    state = a_profile(a_state(), name="state", approval=Approval.NEVER)
    other = a_profile(a_step("other"), name="other", approval=Approval.NEVER)
    kept = {("drain as done at 12:00:00Z", DO): a_run(order=1, profile="state", of_step="drain")}
    kept |= {("drain as done at 12:00:00Z", UNDO): a_run(order=2)}
    world = World.of(state, other).see(an_event("E2"), "other").change("E2", runs=kept)

    world.see(an_event("E3"), "state").end("E3", "drain").go("E3")

    assert ("E3", "drain", UNDO) in world.running()

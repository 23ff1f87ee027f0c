"""Cases that are met with another profile than before: when that begins, what counts, and how it is undone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from forewarn.agent.policy import Approval, Occasion, Profile
from forewarn.agent.standing import Phase, phase_of
from forewarn.agent.steps import Begin
from tests.agent.little_world import BEGUN, DO, DONE, FAILED, SKIPPED, UNDO, World, a_profile, a_step, an_event

LIGHT = a_profile(a_step("note"), name="light", approval=Approval.NEVER)


def met_with(world: World, profile: Profile, **changes: Any) -> World:
    """From now on E1 is met with that."""
    world.profiles[profile.name] = profile
    return world.change("E1", profile=profile.name, prepared_at=None, **changes)


def light() -> World:
    return World.of(LIGHT).see(an_event(), "light").end("E1", "note")


def undone(world: World) -> list[str]:
    """The steps whose undo was begun, in order; each comes off."""
    for _ in range(10):
        for event, step, direction in world.running():
            world.end(event, step, direction)
    return [move.step.name for _, move in world.made if isinstance(move, Begin) and move.direction is UNDO]


def test_a_profile_begins_when_it_wants_to_though_an_earlier_one_has_done_one_of_its_steps():
    night = a_profile(a_step("note"), a_step("stop"), name="night", lead_seconds=60)

    world = met_with(light(), night)
    too_early = world.running()
    world.advance(14 * 60)

    assert too_early == []
    assert world.running() == [("E1", "stop", DO)]


def test_a_profile_whose_time_had_not_come_does_not_begin_after_the_platform():
    world = met_with(light(), a_profile(a_step("stop"), name="heavy", lead_seconds=60))

    world.start("E1")

    assert world.running() == []


def test_an_event_that_starts_before_its_preparation_was_wanted_does_not_count_as_prepared():
    world = World.of(LIGHT).see(an_event(), "light").end("E1", "note", outcome=FAILED)

    met_with(world, a_profile(a_step("stop"), name="heavy", lead_seconds=60)).start("E1")

    assert world.cases["E1"].prepared_at is None


def test_what_was_told_on_another_occasion_under_the_same_name_is_told_too():
    coming = a_step("tell", on=Occasion.DETECTED, has_undo=False)
    over = a_step("tell", on=Occasion.FINISHED, has_undo=False, options={"command": ["over"]})
    first = a_profile(coming, name="first", approval=Approval.NEVER)
    world = World.of(first).see(an_event(), "first").end("E1", "tell")

    met_with(world, a_profile(over, name="second", approval=Approval.NEVER)).go("E1")

    assert world.running() == [("E1", "tell", DO)]


def test_what_only_the_first_profile_did_after_what_both_want_is_undone_first():
    both = a_step(is_for_all_events=True)
    long = a_profile(both, a_step("stop", group=2), name="long", approval=Approval.NEVER)
    world = World.of(long).see(an_event(), "long").end("E1", "drain").end("E1", "stop")

    met_with(world, a_profile(both, name="short", approval=Approval.NEVER)).go("E1")

    assert undone(world) == ["stop", "drain"], "traffic comes back when the rest is back"


def test_what_was_done_twice_is_undone_where_it_was_done_first():
    drain = a_step()
    long = a_profile(drain, a_step("stop", group=2), name="long", approval=Approval.NEVER)
    world = World.of(long).see(an_event(), "long").end("E1", "drain").end("E1", "stop")
    short = a_profile(drain, name="short", approval=Approval.NEVER)

    met_with(world, short, event=an_event(type="Freeze")).end("E1", "drain").go("E1")

    assert undone(world) == ["stop", "drain", "drain as done at 12:00:00Z"]


def test_an_event_that_goes_to_and_fro_leaves_no_more_behind_than_there_is_to_undo():
    first, second = (
        a_profile(a_step("mode", options={"command": [what]}), name=what, approval=Approval.NEVER) for what in "xy"
    )
    world = World.of(first, second).see(an_event(), "x").end("E1", "mode")

    for _ in range(5):
        met_with(world, second).end("E1", "mode")
        met_with(world, first).end("E1", "mode")
    names = {name for name, _ in world.cases["E1"].runs}
    world.go("E1")

    assert len(names) == 2
    assert len(undone(world)) == 2


def test_what_has_no_undo_is_kept_once_however_often_it_becomes_another():
    first, second = (
        a_profile(a_step("mode", has_undo=False, options={"command": [what]}), name=what, approval=Approval.NEVER)
        for what in "xy"
    )
    world = World.of(first, second).see(an_event(), "x").end("E1", "mode")

    for _ in range(5):
        met_with(world, second).end("E1", "mode")
        met_with(world, first).end("E1", "mode")

    assert {name for name, _ in world.cases["E1"].runs} == {"mode", "mode as done before"}


def test_an_event_with_one_more_step_than_when_it_was_prepared_is_not_prepared():
    world = World.of(a_profile(a_step())).see(an_event()).change("E1", held_by="ann").end("E1", "drain")
    longer = a_profile(a_step(), a_step("save", group=2), pause_before_approval_seconds=5)

    world.profiles["drain"] = longer
    world.settle()
    phase = phase_of(world.cases["E1"], longer)
    world.advance(60).end("E1", "save").change("E1", held_by="")
    too_early = list(world.approved)
    world.advance(5)

    assert phase is Phase.PREPARING
    assert too_early == []
    assert world.approved == ["E1"]


def test_what_runs_is_stopped_when_the_profile_has_a_longer_reserve():
    world = World.of(LIGHT).see(an_event(), "light")
    careful = a_profile(a_step("note"), name="careful", reserve_seconds=60, approval=Approval.NEVER)
    near = replace(an_event(), not_before=an_event(minutes=1.5).not_before)

    world.change("E1", event=near)
    met_with(world, careful).advance(31)

    assert world.stopped[:1] == [("E1", "note")]


def test_what_still_runs_of_another_profile_is_waited_for_before_the_approval():
    world = World.of(a_profile(a_step("call"))).see(an_event())

    met_with(world, a_profile(a_step("note", has_undo=False), name="other")).end("E1", "note")
    approved_meanwhile = list(world.approved)
    world.end("E1", "call")

    assert approved_meanwhile == []
    assert world.approved == ["E1"]


def test_what_is_left_out_in_one_profile_is_done_in_the_next():
    late = a_profile(a_step("note"), name="light", approval=Approval.NEVER, reserve_seconds=3600)
    world = World.of(late).see(an_event(), "light")

    met_with(world, a_profile(a_step("note"), name="other", approval=Approval.NEVER))

    assert world.outcome("E1", "note") is BEGUN


def test_what_is_done_again_under_its_name_is_not_found_there_through_another_event():
    x, y = (
        a_profile(
            a_step("lb", options={"server": what}, is_for_all_events=True), name=what, approval=Approval.NEVER
        )
        for what in "xy"
    )
    world = World.of(x, y).see(an_event("E1"), "x").end("E1", "lb").see(an_event("E2"), "x")

    met_with(world, y).end("E1", "lb")
    met_with(world, x)

    assert world.running() == [("E1", "lb", DO)]


def test_what_one_profile_left_out_does_not_hide_what_another_did_before():
    x = a_profile(a_step(options={"command": ["x"]}), name="x", approval=Approval.NEVER)
    late = a_step(options={"command": ["y"]})
    y = a_profile(late, name="y", approval=Approval.NEVER, reserve_seconds=3600)
    world = World.of(x, y).see(an_event("E1"), "x").end("E1", "drain")

    met_with(world, y)
    left_out = world.outcome("E1", "drain")
    met_with(world, x)

    assert left_out is SKIPPED
    assert (world.outcome("E1", "drain"), world.running()) == (DONE, [])


def test_what_was_told_is_not_told_again_when_the_event_is_what_it_was():
    coming = a_step("tell", on=Occasion.DETECTED, has_undo=False)
    first = a_profile(coming, name="first", approval=Approval.NEVER)
    second = a_profile(replace(coming, on=Occasion.STARTED), name="second", approval=Approval.NEVER)
    world = World.of(first, second).see(an_event(), "first").end("E1", "tell")

    met_with(world, second)
    met_with(world, first)

    assert world.acted == [("E1", "tell", DO)]


def test_the_groups_of_the_profile_that_did_it_say_in_which_order_it_is_undone():
    drain = a_step(is_for_all_events=True)
    first = a_profile(drain, a_step("stop", group=2), name="first", approval=Approval.NEVER)
    world = World.of(first).see(an_event(), "first").end("E1", "drain").end("E1", "stop")
    second = a_profile(a_step("snapshot"), replace(drain, group=3), name="second", approval=Approval.NEVER)

    met_with(world, second).end("E1", "snapshot").go("E1")

    assert undone(world) == ["snapshot", "stop", "drain"]


def test_a_step_that_has_all_the_time_there_is_is_not_stopped_because_it_began_a_moment_later():
    world = World.of(a_profile(a_step(timeout_seconds=3600), approval=Approval.NEVER)).see(an_event())
    run = world.cases["E1"].runs["drain", DO]
    later = timedelta(milliseconds=20)
    begun = replace(run, begun_at=run.begun_at + later, until=run.until + later)

    world.change("E1", runs={("drain", DO): begun}).advance(900)

    assert world.stopped == []

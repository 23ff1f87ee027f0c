"""Undoing for several events that overlap: what was done last is undone first, whoever undoes it."""

from __future__ import annotations

from dataclasses import replace

from forewarn.agent.policy import Approval
from tests.agent.little_world import DO, FAILED, UNDO, World, a_profile, a_run, a_step, an_event

BALANCER = a_step("balancer")
SERVICE = a_step("service", group=2, is_for_all_events=True)
BOTH = a_profile(BALANCER, SERVICE, name="both", approval=Approval.NEVER)
ONLY_SERVICE = a_profile(replace(SERVICE, group=1), name="only", approval=Approval.NEVER)


def prepared(world: World, event: str, profile: str, *steps: str) -> None:
    world.see(an_event(event), profile)
    for step in steps:
        world.end(event, step)


def test_what_was_done_before_a_state_that_is_left_to_another_event_is_undone_after_that():
    world = World.of(BOTH)
    prepared(world, "E1", "both", "balancer", "service")
    prepared(world, "E2", "both", "balancer")

    world.go("E1").go("E2")
    first = world.running()
    words = world.words("E1")
    world.end("E2", "service", UNDO)
    then = world.running()

    assert first == [("E2", "service", UNDO)]
    assert "event E2, to which the undo of step service is left" in words
    assert {(step, direction) for _, step, direction in then} == {("balancer", UNDO)}


def test_it_waits_also_for_an_event_of_another_profile_that_is_still_there():
    world = World.of(BOTH, ONLY_SERVICE)
    prepared(world, "E1", "both", "balancer", "service")
    world.see(an_event("E2"), "only")

    world.go("E1")
    meanwhile = world.running()
    world.go("E2").end("E2", "service", UNDO)
    world.end("E1", "balancer", UNDO)

    assert meanwhile == []
    assert world.is_closed("E1")
    assert world.is_closed("E2")


def test_an_event_with_nothing_more_to_undo_does_not_wait_for_the_one_that_a_state_is_left_to():
    world = World.of(ONLY_SERVICE)
    prepared(world, "E1", "only", "service")
    world.see(an_event("E2"), "only")

    world.go("E1")

    assert world.is_closed("E1")


def test_a_state_that_the_other_event_could_not_undo_holds_nobody_up():
    world = World.of(BOTH)
    prepared(world, "E1", "both", "balancer", "service")
    prepared(world, "E2", "both", "balancer")
    world.go("E1").go("E2")

    for _ in range(10):
        world.end("E2", "service", UNDO, FAILED).advance(60)
    for event in ("E1", "E2"):
        world.end(event, "balancer", UNDO)

    assert world.is_closed("E1")
    assert world.is_closed("E2")


def test_a_state_that_cannot_be_undone_does_not_let_two_events_wait_for_each_other():
    balancer, service = replace(BALANCER, is_for_all_events=True), SERVICE
    world = World.of(a_profile(balancer, service, name="both", approval=Approval.NEVER))
    prepared(world, "E1", "both", "balancer", "service")
    prepared(world, "E2", "both")
    world.go("E1").go("E2")

    for _ in range(10):
        world.end("E2", "service", UNDO, FAILED).advance(60)
    [(event, step, direction)] = world.running()
    world.end(event, step, direction)

    assert (step, direction) == ("balancer", UNDO)
    assert world.is_closed("E1")
    assert world.is_closed("E2")


def test_a_state_is_there_as_long_as_what_another_event_built_on_it_is_tried_to_be_undone():
    balancer, service = replace(BALANCER, is_for_all_events=True), replace(SERVICE, is_for_all_events=False)
    world = World.of(a_profile(balancer, service, name="both", approval=Approval.NEVER))
    prepared(world, "E1", "both", "balancer", "service")
    prepared(world, "E2", "both", "service")
    world.go("E1", "E2").end("E1", "service", UNDO)
    running = []

    for _ in range(9):
        world.end("E2", "service", UNDO, FAILED)
        running += world.running()
        world.advance(60)
    world.end("E2", "service", UNDO)

    assert {step for _, step, _ in running} <= {"service"}
    assert {step for _, step, _ in world.running()} == {"balancer"}


def test_events_that_did_the_first_group_anew_do_not_wait_for_each_other():
    world = World.of(BOTH)
    prepared(world, "E1", "both", "balancer", "service")
    prepared(world, "E2", "both", "balancer")
    for event in ("E1", "E2"):
        world.change(event, event=replace(world.cases[event].event, type="Redeploy")).end(event, "balancer")

    world.go("E1", "E2")

    assert [(step, direction) for _, step, direction in world.running()] == [("service", UNDO)]


def test_an_undo_that_may_have_been_done_is_not_done_twice_unless_it_may_be_retried():
    world = World.of(a_profile(a_step(), approval=Approval.NEVER)).see(an_event()).end("E1", "drain").go("E1")
    uncertain = {("drain", DO): a_run(), ("drain", UNDO): a_run(FAILED, is_uncertain=True)}

    world.change("E1", runs=uncertain).advance(600)
    patient = World.of(a_profile(a_step(retries=1), approval=Approval.NEVER)).see(an_event()).end("E1", "drain")
    patient.go("E1").change("E1", runs=uncertain).advance(600)

    assert world.is_closed("E1")
    assert patient.running() == [("E1", "drain", UNDO)]

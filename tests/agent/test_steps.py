"""Groups, needs, retries and the time that is left."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from forewarn.agent.case import UNDO_TRIES, with_run
from forewarn.agent.policy import OnFailure, Step
from forewarn.agent.steps import CAME_NEARER, Begin
from tests.agent.little_world import (
    BEGUN,
    DO,
    DONE,
    FAILED,
    NOW,
    SKIPPED,
    UNDO,
    Occasion,
    World,
    a_profile,
    a_step,
    an_event,
)


def begun(world: World) -> list[str]:
    return [step for _, step, _ in world.running()]


def test_steps_of_one_group_run_side_by_side_and_the_next_group_waits_for_all_of_them():
    world = World.of(a_profile(a_step("one"), a_step("two"), a_step("three", group=2))).see(an_event())

    first = begun(world)
    world.end("E1", "one")
    after_one = begun(world)
    world.end("E1", "two")

    assert first == ["one", "two"]
    assert after_one == ["two"]
    assert begun(world) == ["three"]


def test_a_step_begins_only_when_what_it_needs_has_succeeded():
    world = World.of(a_profile(a_step("one"), a_step("two", needs=("one",)))).see(an_event())

    before = begun(world)
    world.end("E1", "one")

    assert before == ["one"]
    assert begun(world) == ["two"]


def test_a_step_whose_need_has_failed_is_left_out_and_says_why():
    first = a_step("one", on_failure=OnFailure.CONTINUE)
    world = World.of(a_profile(first, a_step("two", needs=("one",)))).see(an_event())

    world.end("E1", "one", outcome=FAILED)

    assert world.outcome("E1", "two") is SKIPPED
    assert world.cases["E1"].run("two").note == "it needs one, which was not done"
    assert world.approved == []


def test_a_step_waits_while_what_it_needs_is_tried_again():
    world = World.of(a_profile(a_step("one", retries=1), a_step("two", needs=("one",)))).see(an_event())

    world.end("E1", "one", outcome=FAILED)
    waiting = world.outcome("E1", "two")
    world.advance(2).end("E1", "one")

    assert waiting is None
    assert begun(world) == ["two"]


@pytest.mark.parametrize(
    ("on_failure", "next_group", "is_approved"),
    [(OnFailure.HOLD, [], False), (OnFailure.CONTINUE, ["two"], True)],
    ids=["hold stops the rest", "continue goes on"],
)
def test_what_a_failed_step_means_for_the_rest(on_failure: OnFailure, next_group: list[str], *, is_approved: bool):
    world = World.of(a_profile(a_step("one", on_failure=on_failure), a_step("two", group=2))).see(an_event())

    world.end("E1", "one", outcome=FAILED, note="exit status 3")
    then = begun(world)
    if then:
        world.end("E1", "two")

    assert then == next_group
    assert (world.approved == ["E1"]) is is_approved


def test_a_failed_step_that_holds_says_so_in_what_is_waited_for():
    world = World.of(a_profile(a_step())).see(an_event())

    world.end("E1", "drain", outcome=FAILED, note="exit status 3")

    assert world.words("E1") == "its start, unapproved, as step drain failed (exit status 3)"


def test_a_step_is_tried_again_after_its_pause_as_often_as_it_may_be_and_not_once_more():
    world = World.of(a_profile(a_step(retries=2, retry_pause_seconds=5))).see(an_event())

    tries = []
    for _ in range(6):
        if world.running():
            tries.append(world.cases["E1"].run("drain").tries)
            world.end("E1", "drain", outcome=FAILED)
            assert not world.running(), "it does not wait for its pause"
        world.advance(5)

    assert tries == [1, 2, 3]
    assert world.approved == []


def test_a_retry_happens_even_if_the_clock_was_put_back_meanwhile():
    world = World.of(a_profile(a_step(retries=1))).see(an_event())
    world.end("E1", "drain", outcome=FAILED)

    world.now -= timedelta(hours=1)
    world.settle()

    assert begun(world) == ["drain"]


@pytest.mark.parametrize(
    ("minutes", "timeout", "seconds"),
    [(15, 60, 60), (1, 600, 55), (0.1, 60, 1)],
    ids=["its own time-out", "the time that is left", "the last second"],
)
def test_a_step_gets_its_time_out_or_what_time_is_left_before_the_reserve(
    minutes: float, timeout: float, seconds: float
):
    world = World.of(a_profile(a_step(timeout_seconds=timeout), reserve_seconds=5)).see(an_event(minutes=minutes))

    begins = [move.seconds for _, move in world.made if isinstance(move, Begin)]

    assert begins == [pytest.approx(seconds)]


def test_a_step_for_which_no_time_is_left_is_left_out_and_nothing_is_approved():
    world = World.of(a_profile(a_step(), reserve_seconds=5)).see(an_event(minutes=0.05))

    assert world.outcome("E1") is SKIPPED
    assert world.words("E1") == "its start, unapproved, as step drain was left out (no time was left for it)"
    assert world.approved == []


def test_a_retry_for_which_no_time_is_left_is_not_made():
    step = a_step(retries=5, retry_pause_seconds=30)
    world = World.of(a_profile(step, reserve_seconds=5)).see(an_event(minutes=0.5))

    world.end("E1", "drain", outcome=FAILED)
    world.advance(24.9)

    assert world.running() == []
    assert world.outcome("E1") is FAILED


def test_a_postponed_event_gives_a_failed_step_its_tries_back():
    world = World.of(a_profile(a_step(retries=1, retry_pause_seconds=30))).see(an_event(minutes=0.5))
    world.end("E1", "drain", outcome=FAILED)
    world.advance(10)

    world.change("E1", event=an_event(minutes=60)).advance(20)

    assert begun(world) == ["drain"]


def test_undo_goes_the_other_way_round_and_a_group_waits_for_the_one_after_it():
    world = World.of(a_profile(a_step("one"), a_step("two", group=2), a_step("three", group=3))).see(an_event())
    for step in ("one", "two", "three"):
        world.end("E1", step)

    order = []
    world.go("E1")
    for _ in range(3):
        [(_, step, direction)] = world.running()
        order.append(step)
        world.end("E1", step, direction)

    assert order == ["three", "two", "one"]
    assert world.is_closed("E1")


def test_only_what_was_begun_is_undone():
    world = World.of(a_profile(a_step("one"), a_step("two", group=2))).see(an_event())
    world.end("E1", "one", outcome=FAILED)

    world.go("E1")

    assert world.running() == [("E1", "one", UNDO)], "a failed attempt may have got half way"
    world.end("E1", "one", UNDO)
    assert [each for each in world.acted if each[1] == "two"] == []
    assert world.is_closed("E1")


def test_a_step_without_an_undo_has_none():
    world = World.of(a_profile(a_step(has_undo=False))).see(an_event())
    world.end("E1", "drain")

    world.go("E1")

    assert world.acted == [("E1", "drain", DO)]
    assert world.is_closed("E1")


def test_an_undo_is_tried_again_with_longer_pauses_and_given_up_in_the_end():
    world = World.of(a_profile(a_step(retry_pause_seconds=2))).see(an_event())
    world.end("E1", "drain").go("E1")

    pauses = []
    while world.running():
        world.end("E1", "drain", UNDO, FAILED)
        wake_at = world.plan("E1").wake_at
        if wake_at is not None:
            pauses.append((wake_at - world.now).total_seconds())
            world.advance(pauses[-1])

    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert len([each for each in world.acted if each[2] is UNDO]) == UNDO_TRIES
    assert world.is_closed("E1")


def test_an_undo_that_fails_for_good_does_not_hold_up_the_undo_of_what_was_done_before_it():
    world = World.of(a_profile(a_step("one"), a_step("two", group=2))).see(an_event())
    world.end("E1", "one").end("E1", "two").go("E1")

    for _ in range(UNDO_TRIES):
        world.end("E1", "two", UNDO, FAILED).advance(60)

    assert world.running() == [("E1", "one", UNDO)]


def test_what_runs_when_the_event_goes_is_told_to_stop_and_then_undone():
    world = World.of(a_profile(a_step())).see(an_event())

    world.go("E1")
    words = world.words("E1")
    still = world.running()
    world.end("E1", "drain", outcome=FAILED)

    assert words == "step drain to give up"
    assert still == [("E1", "drain", DO)]
    assert world.running() == [("E1", "drain", UNDO)]


@pytest.mark.parametrize("occasion", [Occasion.DETECTED, Occasion.STARTED])
def test_a_case_is_not_closed_while_a_step_that_tells_still_runs(occasion: Occasion):
    world = World.of(a_profile(a_step("tell", on=occasion, has_undo=False)))
    world.see(an_event()).start("E1")

    world.go("E1")
    before = world.is_closed("E1")
    world.end("E1", "tell")

    assert not before
    assert world.is_closed("E1")


def test_a_step_for_the_detection_is_tried_again_even_after_the_event_is_gone():
    tell = a_step("tell", on=Occasion.DETECTED, has_undo=False, retries=2)
    world = World.of(a_profile(tell)).see(an_event())
    world.end("E1", "tell", outcome=FAILED).go("E1")

    world.advance(2).end("E1", "tell")

    assert world.outcome("E1", "tell") is DONE
    assert world.is_closed("E1")


def test_steps_of_the_detection_do_not_hold_up_the_preparation():
    tell = a_step("tell", on=Occasion.DETECTED, has_undo=False)
    world = World.of(a_profile(tell, a_step())).see(an_event())

    world.end("E1", "drain")

    assert world.outcome("E1", "tell") is BEGUN
    assert world.approved == ["E1"]
    assert world.now == NOW


def stopped_for_lack_of_time(*its_steps: Step) -> World:
    """NotBefore came nearer while the first step ran, and it was given up."""
    world = World.of(a_profile(*its_steps)).see(an_event())
    world.change("E1", event=an_event(minutes=0))
    run = replace(world.cases["E1"].run("one"), tries_before=1)  # as `attempts.py` notes it
    world.cases["E1"] = with_run(world.cases["E1"], "one", DO, run)
    return world.end("E1", "one", outcome=FAILED, note=CAME_NEARER)


def test_a_step_that_had_no_time_left_has_failed_until_not_before_moves_away():
    world = stopped_for_lack_of_time(a_step("one"), a_step("two", needs=("one",), on_failure=OnFailure.CONTINUE))

    words = world.words("E1")
    world.change("E1", event=an_event(minutes=30)).advance(2)

    assert world.stopped
    assert words == f"its start, unapproved, as step one failed ({CAME_NEARER})"
    assert begun(world) == ["one"]
    world.end("E1", "one").end("E1", "two")
    assert world.approved == ["E1"]


def test_a_step_that_had_no_time_left_is_not_begun_again_once_the_platform_is_at_it():
    world = stopped_for_lack_of_time(a_step("one"))

    world.start("E1").advance(60)

    assert begun(world) == []

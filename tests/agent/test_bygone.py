"""The file is edited while an event lasts: what was done is undone all the same, or that it is not is said."""

from __future__ import annotations

import json
import os
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.agent.audit import record_of
from forewarn.agent.bygone import recipe_of, with_bygone
from forewarn.agent.case import Case, Direction, Outcome
from forewarn.agent.case_form import write_case
from forewarn.agent.config import read_settings
from forewarn.agent.effects import memory_of
from forewarn.agent.handlers.base import Task
from forewarn.agent.journal import Journal
from forewarn.agent.policy import Approval, Occasion, Profile, Step
from forewarn.agent.scene import Scene
from forewarn.agent.standing import Standing
from forewarn.agent.steps import Begin
from tests.agent.azure import Azure, event
from tests.agent.kept import Stage, kept
from tests.agent.little_world import (
    DO,
    DONE,
    FAILED,
    NOW,
    UNDO,
    World,
    a_case,
    a_profile,
    a_run,
    a_step,
    an_event,
)

OPTIONS = {"command": ["drain"], "undo": ["undrain"]}
DRAIN = a_profile(a_step(options=OPTIONS), approval=Approval.NEVER)
NOTHING = a_profile(approval=Approval.NEVER)


def begun_in(world: World) -> list[tuple[object, Direction]]:
    return [(move.step.options, move.direction) for _, move in world.made if isinstance(move, Begin)]


def edited(world: World, profile: Profile) -> World:
    """The file has another profile from now on."""
    world.profiles[profile.name] = profile
    return world.settle()


def done(profile: Profile = DRAIN) -> World:
    return World.of(profile).see(an_event()).end("E1", "drain")


def test_a_step_that_was_taken_out_of_the_file_is_undone_as_it_was_done():
    world = edited(done(), NOTHING)

    world.go("E1")

    assert world.running() == [("E1", "drain", UNDO)]
    undoing = world.made[-1][1]
    assert (undoing.step.uses, undoing.step.options) == ("command", OPTIONS)
    world.end("E1", "drain", UNDO)
    assert world.is_closed("E1")


def test_a_step_that_was_renamed_is_done_under_its_new_name_and_both_are_undone_the_new_one_first():
    renamed = a_profile(a_step("out", options=OPTIONS), approval=Approval.NEVER)
    world = edited(done(), renamed).end("E1", "out")

    world.go("E1")
    first = world.running()
    world.end("E1", "out", UNDO)

    assert first == [("E1", "out", UNDO)]
    assert world.running() == [("E1", "drain", UNDO)]


def test_a_profile_that_was_taken_out_of_the_file_is_undone_group_by_group():
    two = a_profile(a_step(options=OPTIONS), a_step("stop", group=2), approval=Approval.NEVER)
    world = edited(done(two).end("E1", "stop"), NOTHING)

    world.go("E1")
    first = world.running()
    world.end("E1", "stop", UNDO)

    assert first == [("E1", "stop", UNDO)]
    assert world.running() == [("E1", "drain", UNDO)]


def test_options_that_may_hold_secrets_are_found_under_another_name_and_nowhere_else():
    secret = a_step(options={"headers": {"Authorization": "Bearer s3cr3t"}}, uses="http", has_secrets=True)
    world = done(a_profile(secret, approval=Approval.NEVER))
    renamed = with_bygone(world.cases["E1"], NOTHING, {"x": a_profile(replace(secret, name="call"), name="x")})
    removed = with_bygone(world.cases["E1"], NOTHING, {"drain": NOTHING})

    assert [step.options for step in renamed.bygone] == [secret.options]
    assert (removed.bygone, removed.forgotten) == ((), ("drain",))
    assert "s3cr3t" not in json.dumps(write_case(world.cases["E1"], with_recipes=True))


def test_what_cannot_be_undone_is_said_all_along_and_the_event_did_not_go_well():
    world = edited(done(a_profile(a_step(has_secrets=True), approval=Approval.NEVER)), NOTHING)

    words = world.words("E1")
    world.go("E1")
    over = world.cases["E1"]

    assert words == "someone to put a step that does what drain did into the file, or to undo it by hand"
    assert world.outcome("E1", "drain", UNDO) is FAILED
    assert "see to it by hand" in over.run("drain", UNDO).note
    assert world.is_closed("E1")
    assert record_of(over, NOTHING)["is_all_well"] is False


def test_a_step_that_is_in_the_file_again_as_it_was_is_undone_as_the_file_says():
    secret = a_profile(a_step(has_secrets=True), approval=Approval.NEVER)
    world = edited(done(secret), NOTHING)

    edited(world, secret).go("E1")

    assert world.running() == [("E1", "drain", UNDO)]
    assert world.made[-1][1].step == secret.steps[0]


EDITED = a_step(options={"command": ["drain", "new"], "undo": ["undrain", "new"]})
KEPT_AS = "drain as done at 12:00:00Z"


@pytest.mark.parametrize(
    "step",
    [EDITED, a_step(uses="haproxy", options={}), a_step(options=OPTIONS, has_undo=False)],
    ids=["other options", "another kind", "no undo"],
)
def test_a_step_that_was_edited_is_done_as_it_is_now_and_what_was_done_is_undone_as_it_was(step: Step):
    world = edited(done(), a_profile(step, approval=Approval.NEVER))

    unprepared = world.cases["E1"].prepared_at
    world.end("E1", "drain").go("E1")
    if step.has_undo:
        world.end("E1", "drain", UNDO)

    begun = [move for _, move in world.made if isinstance(move, Begin)]
    assert unprepared is None
    assert begun[1].step == step
    assert (begun[-1].step.uses, begun[-1].step.options) == ("command", OPTIONS)
    assert world.running() == [("E1", KEPT_AS, UNDO)]
    world.end("E1", KEPT_AS, UNDO)
    assert world.is_closed("E1")


def test_nothing_is_approved_by_what_a_step_did_before_it_was_edited():
    manual = replace(DRAIN, approval=Approval.MANUAL)
    world = edited(done(manual), replace(manual, steps=(EDITED,)))

    world.change("E1", told_to_approve_by="ann")
    before = list(world.approved)
    world.end("E1", "drain")

    assert (before, world.approved) == ([], ["E1"])


def test_a_step_that_was_edited_after_its_event_was_gone_is_undone_as_it_was_done():
    world = done()
    world.profiles["drain"] = a_profile(EDITED, approval=Approval.NEVER)

    world.go("E1")

    assert world.running() == [("E1", "drain", UNDO)]
    assert world.made[-1][1].step.options == OPTIONS


@pytest.mark.parametrize("is_there", [True, False], ids=["edited while it is there", "edited when it is gone"])
def test_a_step_that_was_edited_and_whose_options_were_not_kept_is_not_undone_at_the_wrong_place(
    *, is_there: bool
):
    world = done(a_profile(replace(DRAIN.steps[0], has_secrets=True), approval=Approval.NEVER))
    world.profiles["drain"] = a_profile(replace(EDITED, has_secrets=True), approval=Approval.NEVER)

    if is_there:
        world.settle().end("E1", "drain").go("E1").end("E1", "drain", UNDO)
    else:
        world.go("E1")

    name = KEPT_AS if is_there else "drain"
    begun = [move for _, move in world.made if isinstance(move, Begin) and move.direction is UNDO]
    assert [move.step.options for move in begun] == ([EDITED.options] if is_there else [])
    assert world.outcome("E1", name, UNDO) is FAILED
    assert world.is_closed("E1")


def test_a_step_that_was_edited_there_and_back_is_done_anew_as_something_else_was_done_since():
    world = edited(done(), a_profile(EDITED, approval=Approval.NEVER)).end("E1", "drain")

    edited(world, DRAIN).end("E1", "drain").go("E1")
    world.end("E1", "drain", UNDO).end("E1", f"{KEPT_AS} (2)", UNDO)

    done_so = [(OPTIONS, DO), (EDITED.options, DO), (OPTIONS, DO)]
    assert begun_in(world) == [*done_so, (OPTIONS, UNDO), (EDITED.options, UNDO)], "the last is undone first"
    assert world.is_closed("E1")


def test_a_step_that_was_edited_there_and_back_before_anything_was_done_counts_as_it_was():
    late = a_profile(EDITED, approval=Approval.NEVER, lead_seconds=60)
    world = edited(done(), replace(late, name="late"))

    world.change("E1", profile="late", prepared_at=None).change("E1", profile="drain", prepared_at=None)
    world.go("E1").end("E1", "drain", UNDO)

    assert begun_in(world) == [(OPTIONS, DO), (OPTIONS, UNDO)]
    assert world.is_closed("E1")


def test_a_step_that_runs_while_the_file_is_edited_comes_to_its_end_first():
    world = edited(World.of(DRAIN).see(an_event()), a_profile(EDITED, approval=Approval.NEVER))

    before = world.running()
    world.end("E1", "drain")

    assert before == [("E1", "drain", DO)]
    assert [world.outcome("E1", name) for name in (KEPT_AS, "drain")] == [DONE, Outcome.BEGUN]


def test_what_was_told_once_is_not_told_again_because_the_file_says_it_otherwise():
    hook = a_step("tell", on=Occasion.DETECTED, has_undo=False)
    world = World.of(a_profile(hook, approval=Approval.NEVER)).see(an_event()).end("E1", "tell")

    edited(world, a_profile(replace(hook, options={"command": ["other"]}), approval=Approval.NEVER))

    assert world.running() == []


def test_an_event_relies_on_what_was_done_for_another_not_on_what_the_file_says_of_it():
    old, new = (replace(step, is_for_all_events=True) for step in (DRAIN.steps[0], EDITED))
    world = done(a_profile(old, approval=Approval.NEVER))
    world.profiles["drain"] = a_profile(new, approval=Approval.NEVER)
    first, profile = world.cases["E1"], world.profiles["drain"]

    rivals = [
        [run for _, run, _ in Scene(a_case(an_event("E2")), profile, [first], NOW, world.profiles).rivals(step)]
        for step in (old, new)
    ]
    world.see(an_event("E2")).end("E2", "drain")

    assert rivals == [[first.run("drain")], []]
    assert world.acted == [("E1", "drain", DO), ("E2", "drain", DO)], "the second for both"
    assert world.cases["E1"].run("drain").of_event == "E2"


def test_what_a_step_remembers_does_not_lie_where_it_lay_before_it_was_edited():
    first = a_run(memory="command/drain/drain", recipe=recipe_of(DRAIN.steps[0], "Reboot"))
    scene = Scene(a_case(runs={(KEPT_AS, DO): first}), a_profile(EDITED), (), NOW)

    places = [memory_of(step, scene) for step in (EDITED, replace(DRAIN.steps[0], name=KEPT_AS))]

    assert places == [f"command/{recipe_of(EDITED, 'Reboot').likeness}", "command/drain/drain"]


def test_a_case_that_is_given_another_profile_is_prepared_by_that_too_and_all_of_it_is_undone():
    secret = a_profile(a_step(has_secrets=True), name="light", approval=Approval.NEVER)
    full = a_profile(EDITED, a_step("stop", group=2), name="full")
    world = World.of(secret, full).see(an_event(minutes=30), "light").end("E1", "drain")

    world.change("E1", profile="full", prepared_at=None).end("E1", "drain")
    before = list(world.approved)
    world.end("E1", "stop").go("E1").end("E1", "stop", UNDO).end("E1", "drain", UNDO)

    assert (before, world.approved) == ([], ["E1"])
    assert world.made[-1][1].step.options == secret.steps[0].options, "known, as the file has it still"
    assert world.running() == [("E1", KEPT_AS, UNDO)]


def test_what_had_no_undo_is_not_missed():
    world = edited(done(a_profile(a_step(has_undo=False), approval=Approval.NEVER)), NOTHING)

    world.go("E1")

    assert world.is_closed("E1")
    assert (world.outcome("E1", "drain", UNDO), world.words("E1")) == (None, "")


def test_nothing_is_undone_under_the_feet_of_an_event_whose_step_is_bygone():
    other = a_profile(a_step("out", options=OPTIONS), name="spot", approval=Approval.NEVER)
    world = World.of(DRAIN, other).see(an_event("E1")).end("E1", "drain")
    world.see(an_event("E2"), "spot").end("E2", "out")

    edited(world, NOTHING).go("E2")

    assert world.running() == []
    assert world.words("E2") == "the undo of step out, put off until event E1 is over"


def test_a_machine_stays_out_of_service_by_a_step_that_is_bygone():
    recipe = recipe_of(a_step(uses="readiness", options={}), "Reboot")
    standing = Standing({"drain": NOTHING})
    standing.cases = (a_case(runs={("out", DO): a_run(DONE, recipe=recipe)}),)

    assert standing.out_of_service_for() == ["E1"]


def test_a_journal_that_is_older_does_not_know_how_to_undo_what_the_file_lacks():
    profile = with_bygone(a_case(runs={("drain", DO): a_run(DONE)}), NOTHING, {})

    assert profile.forgotten == ("drain",)


def test_the_recipe_is_in_the_journal_for_its_owner_alone_and_shown_nowhere_else(tmp_path: Path):
    case = a_case(runs={("drain", DO): a_run(recipe=recipe_of(DRAIN.steps[0], "Reboot"))})
    before = os.umask(0)
    try:
        with closing(Journal(tmp_path)) as journal:
            journal.save(case)
            modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.glob("journal.db*")}
    finally:
        os.umask(before)

    with closing(Journal(tmp_path)) as journal:
        assert journal.load() == [case]
    assert modes == {0o600}
    assert "undrain" not in json.dumps(write_case(case))
    assert "undrain" not in json.dumps(record_of(case, DRAIN))


@pytest.mark.parametrize(
    ("more", "has_secrets"), [("", False), ("environment = { TOKEN = 'x' }", True)], ids=["plain", "variables"]
)
def test_options_that_may_hold_secrets_are_told_by_their_type(tmp_path: Path, more: str, *, has_secrets: bool):
    file = tmp_path / "agent.toml"
    step = f"[[profiles.p.steps]]\nname = 's'\nuses = 'command'\ncommand = ['a']\nundo = ['b']\n{more}\n"
    file.write_text(f"[profiles.p]\n{step}", encoding="utf-8")

    assert read_settings(file).profiles["p"].steps[0].has_secrets is has_secrets


def test_a_step_renamed_between_two_agents_is_undone_by_the_second(
    azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    def is_done(case: Case) -> bool:
        run = case.run("drain")
        return run is not None and run.outcome is Outcome.DONE

    azure.show(event("E1"))
    stage = Stage()
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        agent.wait_for(is_done, "the preparation")
    azure.show()

    with kept(azure.url, tmp_path, stage, NOTHING) as agent:
        over = agent.wait_until_closed()

    undone: Task = stage.tasks[-1]
    assert stage.ran() == ["E1 drain do", "E1 drain undo"]
    assert undone.options == OPTIONS
    assert over.run("drain", UNDO).outcome is Outcome.DONE
    assert "step drain is not in profile drain: it will be undone as it was done" in caplog.text


def test_a_step_edited_between_two_agents_is_done_anew_and_each_is_undone_by_its_own_options(
    azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    azure.show(event("E1"))
    stage = Stage()
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")

    with kept(azure.url, tmp_path, stage, a_profile(EDITED, approval=Approval.NEVER)) as agent:
        agent.wait_for(lambda case: len(case.runs) > 1 and case.prepared_at is not None, "the edited step")
        azure.show()
        agent.wait_until_closed()

    done_by = [(task.options["undo"][-1], task.direction, task.memory) for task in stage.tasks]
    assert [each[:2] for each in done_by] == [("undrain", DO), ("new", DO), ("new", UNDO), ("undrain", UNDO)]
    assert done_by[0][2] == done_by[3][2] != done_by[1][2] == done_by[2][2]
    assert "step drain is another in profile drain now: it will be undone as it was done" in caplog.text

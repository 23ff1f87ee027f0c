"""The file is edited while an event lasts: what was done is undone all the same, or that it is not is said."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.agent.audit import record_of
from forewarn.agent.bygone import recipe_of, with_bygone
from forewarn.agent.case import Case, Outcome
from forewarn.agent.case_form import write_case
from forewarn.agent.config import read_settings
from forewarn.agent.handlers.base import Task
from forewarn.agent.journal import Journal
from forewarn.agent.policy import Approval, Profile
from forewarn.agent.standing import Standing
from tests.agent.azure import Azure, event
from tests.agent.kept import Stage, kept
from tests.agent.little_world import (
    DO,
    DONE,
    FAILED,
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

    assert words == "someone to put step drain back into the file, or to undo it by hand"
    assert world.outcome("E1", "drain", UNDO) is FAILED
    assert "see to it by hand" in over.run("drain", UNDO).note
    assert world.is_closed("E1")
    assert record_of(over, NOTHING)["is_all_well"] is False


def test_a_step_that_is_in_the_file_again_is_undone_as_the_file_says():
    world = edited(done(a_profile(a_step(has_secrets=True), approval=Approval.NEVER)), NOTHING)

    edited(world, DRAIN).go("E1")

    assert world.running() == [("E1", "drain", UNDO)]
    assert world.made[-1][1].step == DRAIN.steps[0]


@pytest.mark.parametrize(
    "step",
    [a_step(uses="haproxy", options={}), a_step(options=OPTIONS, has_undo=False)],
    ids=["another kind", "no undo"],
)
def test_a_step_that_has_become_something_else_is_undone_as_it_was_done(step):
    world = edited(done(), a_profile(step, approval=Approval.NEVER))

    world.go("E1")

    assert world.running() == [("E1", "drain", UNDO)]
    assert world.made[-1][1].step.options == OPTIONS


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
    recipe = recipe_of(a_step(uses="readiness", options={}))
    standing = Standing({"drain": NOTHING})
    standing.cases = (a_case(runs={("out", DO): a_run(DONE, recipe=recipe)}),)

    assert standing.out_of_service_for() == ["E1"]


def test_a_journal_that_is_older_does_not_know_how_to_undo_what_the_file_lacks():
    profile = with_bygone(a_case(runs={("drain", DO): a_run(DONE)}), NOTHING, {})

    assert profile.forgotten == ("drain",)


def test_the_recipe_is_in_the_journal_for_its_owner_alone_and_shown_nowhere_else(tmp_path: Path):
    case = a_case(runs={("drain", DO): a_run(recipe=recipe_of(DRAIN.steps[0]))})
    before = os.umask(0)
    try:
        Journal(tmp_path).save(case)
    finally:
        os.umask(before)

    assert Journal(tmp_path).load() == [case]
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.glob("journal.db*")} == {0o600}
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
    assert "step drain is not in profile drain any more: it will be undone as it was done" in caplog.text

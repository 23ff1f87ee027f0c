"""An event keeps the rules and profiles with which it was first seen, whatever becomes of the file."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from datetime import time
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent.audit import record_of
from forewarn.agent.case import Case, Outcome
from forewarn.agent.case_form import write_case
from forewarn.agent.config import read_settings
from forewarn.agent.config_secrets import find_secret
from forewarn.agent.effects import memory_of
from forewarn.agent.handlers.base import Option, Result, Task
from forewarn.agent.journal import Journal
from forewarn.agent.orders import Order, Refusal, Verb, give
from forewarn.agent.policy import Approval, Policy, Profile, Rule, SecretOption
from forewarn.agent.policy_form import read_policy, write_policy
from forewarn.agent.scene import Scene
from forewarn.agent.superseded import profile_of
from tests.agent.azure import Azure, event
from tests.agent.kept import BAD, Kept, Stage, kept
from tests.agent.little_world import (
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

OLD = {"command": ("drain",), "undo": ("undrain",)}
NEW = {"command": ("drain", "new"), "undo": ("undrain", "new")}
DRAIN = a_profile(a_step(options=OLD), approval=Approval.NEVER)
EDITED = a_profile(a_step(options=NEW), approval=Approval.NEVER)
NOTHING = a_profile(approval=Approval.NEVER)
RESET = Order(Verb.RESET, "E1", "ann")
RETRY = Order(Verb.RETRY, "E1", "ann")


def is_prepared(case: Case) -> bool:
    return case.is_open and case.prepared_at is not None


def is_done(case: Case) -> bool:
    run = case.run("drain")
    return run is not None and run.outcome is Outcome.DONE


def by_options(stage: Stage) -> list[tuple[str, str, str]]:
    return [(task.event.id, task.options["undo"][-1], task.direction.value) for task in stage.tasks]


def prepare(azure: Azure, place: Path, stage: Stage, profile: Profile = DRAIN, **settings: Any) -> None:
    """An agent prepares for E1, and ends."""
    azure.show(event("E1"))
    with kept(azure.url, place, stage, profile, **settings) as agent:
        agent.wait_for(is_done, "the preparation")


def finish(azure: Azure, agent: Kept, *events: str) -> None:
    azure.show()
    for each in events:
        agent.wait_until_closed(each)


# Edits between two agents.


@pytest.mark.parametrize("edited", [NOTHING, EDITED], ids=["step taken out", "step edited"])
def test_an_edit_does_not_change_how_an_open_event_is_undone(azure: Azure, tmp_path: Path, edited: Profile):
    stage = Stage()
    prepare(azure, tmp_path, stage)
    azure.show()

    with kept(azure.url, tmp_path, stage, edited) as agent:
        agent.wait_until_closed()

    assert by_options(stage) == [("E1", "undrain", "do"), ("E1", "undrain", "undo")]


def test_a_profile_taken_out_of_the_file_is_undone_as_it_was(azure: Azure, tmp_path: Path):
    stage = Stage()
    prepare(azure, tmp_path, stage)
    azure.show()

    with kept(azure.url, tmp_path, stage, a_profile(name="other")) as agent:
        over = agent.wait_until_closed()

    assert (over.profile, over.run("drain", UNDO).outcome) == ("drain", DONE)


def test_an_edit_applies_to_events_that_are_first_seen_after_it(azure: Azure, tmp_path: Path):
    stage = Stage()
    prepare(azure, tmp_path, stage)

    azure.show(event("E1"), event("E2"))
    with kept(azure.url, tmp_path, stage, EDITED) as agent:
        agent.wait_for(is_prepared, "the later event", "E2")
        finish(azure, agent, "E1", "E2")

    done = [each for each in by_options(stage) if each[2] == "do"]
    assert done == [("E1", "undrain", "do"), ("E2", "new", "do")]
    assert sorted(by_options(stage)[2:]) == [("E1", "undrain", "undo"), ("E2", "new", "undo")]


def test_an_event_that_changes_after_an_edit_is_met_by_the_rules_with_which_it_was_seen(
    azure: Azure, tmp_path: Path
):
    frozen = a_profile(a_step("pause"), name="frozen", approval=Approval.NEVER)
    first = {
        "rules": (Rule("frozen", types=("Freeze",)), Rule("drain")),
        "profiles": {"frozen": frozen, "drain": DRAIN},
    }
    stage = Stage()
    prepare(azure, tmp_path, stage, **first)

    azure.show(event("E1", EventType="Freeze"))
    with kept(azure.url, tmp_path, stage, NOTHING, rules=(Rule("drain"),)) as agent:
        changed = agent.wait_for(lambda case: case.profile == "frozen" and is_prepared(case), "the other profile")
        finish(azure, agent, "E1")

    assert changed.run("pause").outcome is DONE
    undone = [f"{task.step} {task.direction}" for task in stage.tasks[2:]]
    assert undone == ["pause undo", "drain undo"]


def test_an_event_that_comes_back_after_an_edit_keeps_what_it_had(azure: Azure, tmp_path: Path):
    stage = Stage()
    prepare(azure, tmp_path, stage)
    azure.show()

    with kept(azure.url, tmp_path, stage, EDITED) as agent:
        agent.wait_until_closed()
        azure.show(event("E1"))
        agent.wait_for(is_prepared, "its second life")

    assert by_options(stage)[-1] == ("E1", "undrain", "do")


def test_the_log_of_a_new_agent_names_events_that_keep_an_earlier_file(
    azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO")
    prepare(azure, tmp_path, Stage())

    with kept(azure.url, tmp_path, Stage(), replace(DRAIN)) as agent:
        agent.wait_for(is_prepared, "its state")
    same = [record for record in caplog.records if record.message == "event keeps earlier configuration"]
    with kept(azure.url, tmp_path, Stage(), EDITED) as agent:
        agent.wait_for(is_prepared, "its state")
    [line] = [record for record in caplog.records if record.message == "event keeps earlier configuration"]

    assert same == []
    assert (line.event, line.hint) == ("E1", "forewarn agent reset E1")


# Reset.


def test_reset_prepares_by_the_edited_file_and_undoes_each_as_it_was_done(azure: Azure, tmp_path: Path):
    stage = Stage()
    prepare(azure, tmp_path, stage)

    with kept(azure.url, tmp_path, stage, EDITED) as agent:
        agent.wait_for(is_prepared, "the journaled preparation")
        before = len(stage.tasks)
        agent.keeper.say(RESET)
        agent.wait_for(lambda case: len(case.runs) > 1 and is_prepared(case), "the edited step")
        finish(azure, agent, "E1")

    assert before == 1
    assert [each[1:] for each in by_options(stage)] == [
        ("undrain", "do"),
        ("new", "do"),
        ("new", "undo"),
        ("undrain", "undo"),
    ]
    memories = [task.memory for task in stage.tasks]
    assert memories[0] == memories[3] != memories[1] == memories[2]


def test_reset_outlives_the_agent(azure: Azure, tmp_path: Path):
    stage = Stage()
    prepare(azure, tmp_path, stage)
    with kept(azure.url, tmp_path, stage, EDITED) as agent:
        agent.wait_for(is_prepared, "the journaled preparation")
        agent.keeper.say(RESET)
        agent.wait_for(lambda case: len(case.runs) > 1 and is_prepared(case), "the edited step")
    azure.show()

    with kept(azure.url, tmp_path, stage, NOTHING) as agent:
        agent.wait_until_closed()

    assert [each[1:] for each in by_options(stage)[2:]] == [("new", "undo"), ("undrain", "undo")]


def test_reset_does_not_repeat_a_step_that_was_not_edited():
    world = World.of(DRAIN).see(an_event()).end("E1", "drain")
    longer = replace(DRAIN, steps=(*DRAIN.steps, a_step("save", group=2)))

    told, _ = give(world.cases["E1"], RESET, DRAIN, approves=True, policy=replace(a_policy(longer), rules=RULES))
    world.cases["E1"] = told
    world.settle()

    assert world.acted == [("E1", "drain", DO), ("E1", "save", DO)]


RULES = (Rule("drain"),)


@pytest.mark.parametrize(
    ("case", "policy"),
    [
        (a_case(policy=Policy(RULES, {"drain": DRAIN})), Policy(RULES, {"drain": DRAIN})),
        (a_case(started_at=NOW), Policy(RULES, {"drain": EDITED})),
        (a_case(ending="finished"), Policy(RULES, {"drain": EDITED})),
    ],
    ids=["nothing was edited", "it has started", "it is over"],
)
def test_reset_is_refused(case: Case, policy: Policy):
    refusal = give(case, RESET, profile_of(case), approves=True, policy=policy)

    assert isinstance(refusal, Refusal)
    assert refusal.status == 409


# Retry.


def test_retry_runs_what_failed_again_with_all_its_tries():
    world = (
        World.of(replace(DRAIN, approval=Approval.AFTER_SUCCESS))
        .see(an_event())
        .end("E1", "drain", outcome=FAILED)
    )

    told, _ = give(world.cases["E1"], RETRY, DRAIN, approves=True)
    world.cases["E1"] = told
    world.settle().end("E1", "drain")

    assert world.acted == 2 * [("E1", "drain", DO)]
    assert world.approved == ["E1"]


def test_retry_of_a_named_step_runs_it_again_though_it_was_done():
    world = World.of(DRAIN).see(an_event()).end("E1", "drain")

    told, _ = give(world.cases["E1"], replace(RETRY, step="drain"), DRAIN, approves=True)
    world.cases["E1"] = told
    world.settle()

    assert world.running() == [("E1", "drain", DO)]
    assert world.cases["E1"].prepared_at is None


def test_retry_of_an_event_that_is_over_runs_its_failed_undo_again(azure: Azure, tmp_path: Path):
    stage = Stage({"drain undo": lambda _: replace(BAD, is_uncertain=True)})
    azure.show(event("E1"))
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        agent.wait_for(is_prepared, "the preparation")
        finish(azure, agent, "E1")
        stage.parts = {}
        agent.keeper.say(RETRY)
        agent.wait_for(lambda case: case.run("drain", UNDO).outcome is DONE, "the undo")
        agent.wait_until_closed()

    assert [each[2] for each in by_options(stage)] == ["do", "undo", "undo"]


@pytest.mark.parametrize(
    ("runs", "step", "status"),
    [
        ({("drain", DO): a_run()}, "", 409),
        ({("drain", DO): a_run(Outcome.BEGUN)}, "drain", 409),
        ({}, "drain", 404),
        ({("drain", DO): a_run(FAILED)}, "save", 404),
    ],
    ids=["nothing failed", "it runs", "it never ran", "there is no such step"],
)
def test_retry_is_refused(runs: dict[Any, Any], step: str, status: int):
    case = a_case(runs=runs, policy=a_policy(DRAIN))

    refusal = give(case, replace(RETRY, step=step), DRAIN, approves=True)

    assert isinstance(refusal, Refusal)
    assert refusal.status == status


def test_a_step_that_was_left_out_is_asked_for_again_by_retry():
    case = a_case(runs={("drain", DO): a_run(SKIPPED)}, policy=a_policy(DRAIN))

    told, _ = give(case, replace(RETRY, step="drain"), DRAIN, approves=True)

    assert told.run("drain") is None


# Secrets.


FILE = """
[[rules]]
profile = "p"

[profiles.p]
[[profiles.p.steps]]
name = "call"
uses = "http"
url = "https://lb/drain?key=l1teral"
undo = { url = { env = "UNDO_URL" } }
headers = { Authorization = { file = "bearer" }, Accept = "" }
"""


def settings_of(tmp_path: Path, text: str = FILE) -> Any:
    file, bearer = tmp_path / "agent.toml", tmp_path / "bearer"
    file.write_text(text, encoding="utf-8")
    if not bearer.exists():
        bearer.write_text("t0ps3cret", encoding="utf-8")
        bearer.chmod(0o600)
    return read_settings(file, {"UNDO_URL": "https://lb/back"}, {})


def test_the_journal_has_references_and_no_secrets(tmp_path: Path):
    settings = settings_of(tmp_path)
    place = tmp_path / "state"
    place.mkdir()
    with closing(Journal(place)) as journal:
        journal.save(a_case(profile="p", policy=settings.policy))

    kept_bytes = b"".join(each.read_bytes() for each in place.glob("journal.db*"))

    assert b"https://lb/drain" not in kept_bytes
    assert b"https://lb/back" not in kept_bytes
    assert b"t0ps3cret" not in kept_bytes
    assert b"UNDO_URL" in kept_bytes
    assert str(tmp_path / "bearer").encode() in kept_bytes


def test_references_are_read_again_with_what_is_behind_them_now(tmp_path: Path):
    settings = settings_of(tmp_path)
    (tmp_path / "bearer").write_text("r0tated", encoding="utf-8")

    policy = read_policy(
        write_policy(settings.policy), lambda each: find_secret(each, {"UNDO_URL": "x"}, settings.literals)
    )

    [step], [before] = policy.profiles["p"].steps, settings.profiles["p"].steps
    assert step.options == {
        **before.options,
        "headers": {"Authorization": "r0tated", "Accept": ""},
        "undo": {"url": "x"},
    }
    assert step.missing == ""
    assert policy == replace(policy, profiles={"p": replace(settings.profiles["p"], steps=(step,))})


@pytest.mark.parametrize(
    ("gone", "what"),
    [("literal", "url"), ("env", "undo.url"), ("file", "headers.Authorization")],
)
def test_a_step_whose_secret_is_gone_says_which(tmp_path: Path, gone: str, what: str):
    settings = settings_of(tmp_path)
    literals = {} if gone == "literal" else settings.literals
    environment = {} if gone == "env" else {"UNDO_URL": "x"}
    if gone == "file":
        (tmp_path / "bearer").unlink()

    policy = read_policy(write_policy(settings.policy), lambda each: find_secret(each, environment, literals))

    [step] = policy.profiles["p"].steps
    assert step.missing.startswith(f"{what}: ")


def secret_profile(text: str) -> Profile:
    secret = SecretOption(("command",), {"literal": text})
    return a_profile(
        a_step(options={"command": text, "undo": (text,)}, secrets=(secret,)), approval=Approval.NEVER
    )


def test_a_step_whose_secret_is_gone_is_not_run_and_is_when_it_is_back(
    azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    stage = Stage()
    profile = secret_profile("s3cr3t")
    prepare(azure, tmp_path, stage, profile, literals={"s3cr3t": "s3cr3t"})
    azure.show()

    with kept(azure.url, tmp_path, stage, NOTHING) as agent:
        failed = agent.wait_until_closed()
        refused = agent.keeper.say(RETRY)
    with kept(azure.url, tmp_path, stage, NOTHING, literals={"s3cr3t": "s3cr3t"}) as agent:
        meanwhile = len(stage.tasks)
        agent.keeper.say(RETRY)
        agent.wait_for(lambda case: case.run("drain", UNDO).outcome is DONE, "the undo")

    assert isinstance(refused, Refusal)
    assert meanwhile == 1
    assert failed.run("drain", UNDO).note.startswith("command: ")
    assert ("step unrecoverable", "drain") in [
        (each.message, getattr(each, "step", "")) for each in caplog.records
    ]
    assert by_options(stage)[-1] == ("E1", "s3cr3t", "undo")


def test_a_secret_that_only_an_earlier_file_names_is_kept_out_of_notes(azure: Azure, tmp_path: Path):
    def tell(task: Task) -> Result:
        return Result(is_done=True, note="called with s3cr3t")

    profile = secret_profile("s3cr3t")
    stage = Stage()
    stage.options = (Option("command", "secret", ""),)
    prepare(azure, tmp_path, stage, profile, literals={"s3cr3t": "s3cr3t"})
    azure.show()

    stage.parts = {"drain undo": tell}
    with kept(azure.url, tmp_path, stage, NOTHING, literals={"s3cr3t": "s3cr3t"}) as agent:
        over = agent.wait_until_closed()

    assert over.run("drain", UNDO).note == "called with [secret]"


# The form in which policies are kept.


def test_a_policy_is_what_it_was_after_the_journal(tmp_path: Path):
    rule = Rule("drain", types=("Freeze",), between=(time(22), time(6)), resources=("web-*",), line=3)
    policy = Policy((rule,), {"drain": DRAIN, "edited": replace(EDITED, name="edited", lead_seconds=60.0)})
    with closing(Journal(tmp_path)) as journal:
        journal.save(a_case(policy=policy))

    with closing(Journal(tmp_path)) as journal:
        assert journal.load() == [a_case(policy=policy)]


def test_many_events_share_one_copy_of_a_policy_which_goes_with_the_last_of_them(tmp_path: Path):
    policy, later = a_policy(DRAIN), a_policy(EDITED)
    cases = [a_case(an_event(f"E{number}"), policy=policy, closed_at=NOW) for number in range(50)]
    with closing(Journal(tmp_path)) as journal:
        journal.save(*cases)
        journal.save(a_case(an_event("new"), policy=later))
        before = _policies(tmp_path)
        journal.purge(NOW.replace(year=2027))
        journal.save(a_case(an_event("next"), policy=policy))

    assert before == 2
    assert _policies(tmp_path) == 2
    with closing(Journal(tmp_path)) as journal:
        assert [case.policy for case in journal.load()] == [later, policy]


def _policies(place: Path) -> int:
    with closing(sqlite3.connect(place / "journal.db")) as rows:
        return int(rows.execute("SELECT count(*) FROM policies").fetchone()[0])


def test_an_entry_whose_policy_cannot_be_read_is_kept_aside(tmp_path: Path):
    with closing(Journal(tmp_path)) as journal:
        journal.save(a_case(policy=a_policy(DRAIN)))
    with closing(sqlite3.connect(tmp_path / "journal.db")) as rows, rows:
        rows.execute("UPDATE policies SET body = '{'")

    with closing(Journal(tmp_path)) as journal:
        cases = journal.load()

        assert (cases, journal.unreadable) == ([], {"E1"})


def test_options_are_in_the_journal_for_its_owner_alone_and_shown_nowhere_else(tmp_path: Path):
    case = a_case(runs={("drain", DO): a_run()}, policy=a_policy(DRAIN))
    before = os.umask(0)
    try:
        with closing(Journal(tmp_path)) as journal:
            journal.save(case)
            modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.glob("journal.db*")}
    finally:
        os.umask(before)

    assert modes == {0o600}
    assert "undrain" not in json.dumps(write_case(case))
    assert "undrain" not in json.dumps(record_of(case, DRAIN))


# A journal of the first form.


_FORM_1 = (
    "CREATE TABLE cases (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL, closed_at REAL)"
)


def first_form(place: Path, *runs: dict[str, Any], **said: Any) -> None:
    """A journal as the version before policies wrote it."""
    body = write_case(a_case(**said))
    run = write_case(a_case(runs={("drain", DO): a_run()}))["runs"][0]
    plain = {name: value for name, value in run.items() if name not in {"of_step", "of_type"}}
    body["runs"] = [{**plain, "profile": "drain", **each} for each in runs]
    with closing(sqlite3.connect(place / "journal.db")) as rows, rows:
        rows.execute(_FORM_1)
        rows.execute("CREATE TABLE losses (journal TEXT NOT NULL)")
        rows.execute("INSERT INTO cases (id, body) VALUES ('E1', ?)", (json.dumps(body),))
        rows.execute("PRAGMA user_version = 1")


def recipe(**said: Any) -> dict[str, Any]:
    return {
        "uses": "command",
        "likeness": "345fc383",  # of OLD
        "has_undo": True,
        "options": {"command": ["drain"], "undo": ["undrain"]},
        "group": 1,
        "timeout_seconds": 60,
        "retry_pause_seconds": 2,
        "is_for_all_events": False,
        "on": "prepare",
        "of_type": "Reboot",
        "retries": 0,
        **said,
    }


def test_a_case_of_the_first_form_takes_the_file_once(azure: Azure, tmp_path: Path):
    first_form(tmp_path, {"step": "drain", "recipe": recipe()})
    stage = Stage()
    azure.show(event("E1"))
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        case = agent.wait_for(is_prepared, "the case")
    azure.show()

    with kept(azure.url, tmp_path, stage, NOTHING) as agent:
        agent.wait_until_closed()

    assert case.run("drain").of_type == "Reboot"
    assert by_options(stage) == [("E1", "undrain", "undo")]


@pytest.mark.parametrize(
    ("run", "undone"),
    [
        ({"step": "drain", "recipe": recipe()}, [("E1", "undrain", "undo")]),
        ({"step": "drain as done at 12:00:00Z", "recipe": recipe()}, [("E1", "undrain", "undo")]),
        ({"step": "drain", "recipe": recipe(options=None)}, []),
        ({"step": "gone", "recipe": None}, []),
    ],
    ids=["edited since", "kept under another name", "its options were secret", "nothing was noted"],
)
def test_what_the_first_form_noted_of_an_attempt_is_undone_by_that(
    azure: Azure, tmp_path: Path, run: dict[str, Any], undone: list[Any]
):
    first_form(tmp_path, run, ending="finished", ended_at=NOW)
    stage = Stage()
    with kept(azure.url, tmp_path, stage, NOTHING) as agent:
        over = agent.wait_for(
            lambda case: (
                case.run(run["step"], UNDO) is not None and case.run(run["step"], UNDO).outcome in {DONE, FAILED}
            ),
            "the undo",
        )

    assert by_options(stage) == undone
    assert (over.run(run["step"], UNDO).outcome is DONE) is bool(undone)


def test_options_of_the_first_form_that_were_secret_are_found_in_the_file_under_another_name(tmp_path: Path):
    first_form(tmp_path, {"step": "drain", "recipe": recipe(options=None)})
    renamed = a_policy(a_profile(replace(DRAIN.steps[0], name="out"), name="other"))

    with closing(Journal(tmp_path)) as journal:
        [case] = journal.load(renamed)

    assert [(step.name, step.options, step.missing) for step in profile_of(case).superseded] == [
        ("drain", OLD, "")
    ]


def test_a_journal_of_a_later_form_is_refused_and_this_form_is_later_than_the_first(tmp_path: Path):
    with closing(Journal(tmp_path)) as journal:
        journal.save(a_case())
    with closing(sqlite3.connect(tmp_path / "journal.db")) as rows:
        assert rows.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_step_keeps_its_memory_over_a_rotated_secret():
    old, new = (secret_profile("k").steps[0] for _ in range(2))
    rotated = replace(new, options={**new.options, "command": "rotated"})

    places = {memory_of(step, Scene(a_case(), a_profile(step), (), NOW)) for step in (old, rotated)}

    assert len(places) == 1

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
from forewarn.agent.handlers.base import Option, Result, Task
from forewarn.agent.journal import Journal
from forewarn.agent.orders import Order, Refusal, Verb
from forewarn.agent.policy import Approval, Policy, Profile, Rule, SecretOption
from forewarn.agent.policy_form import read_policy, write_policy
from tests.agent.azure import Azure, event
from tests.agent.kept import Kept, Stage, kept
from tests.agent.little_world import (
    DO,
    DONE,
    NOW,
    UNDO,
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

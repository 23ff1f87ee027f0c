"""A journal of the first form is opened, and nothing that it noted is lost."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent.case_form import write_case
from forewarn.agent.effects import memory_of
from forewarn.agent.journal import Journal
from forewarn.agent.scene import Scene
from forewarn.agent.superseded import profile_of
from tests.agent.azure import Azure, event
from tests.agent.kept import Stage, kept
from tests.agent.little_world import (
    DO,
    DONE,
    FAILED,
    NOW,
    UNDO,
    a_case,
    a_policy,
    a_profile,
    a_run,
)
from tests.agent.test_kept_policy import (
    DRAIN,
    NOTHING,
    OLD,
    by_options,
    is_prepared,
    secret_profile,
)

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

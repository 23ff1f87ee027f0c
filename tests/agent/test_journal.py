"""What was saved is there after a crash; one agent per journal."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.agent.case import Case, Consent, Ending
from forewarn.agent.case_form import read_case, write_case
from forewarn.agent.journal import Held, Journal, JournalProblem, Lock
from forewarn.agent.policy_form import write_policy
from tests.agent.little_world import BEGUN, DO, FAILED, NOW, UNDO, a_case, a_run, an_event

FULL = a_case(
    an_event(source="User", description="ünïcode", duration_seconds=-1),
    boot="b-1",
    not_before=NOW,
    runs={
        ("drain", DO): a_run(FAILED, tries=3, note="exit status 3", boot="b-1"),
        ("drain", UNDO): a_run(BEGUN),
        ("stop", DO): a_run(of_event="E0"),
    },
    named_by=("http://a", "http://b"),
    prepared_at=NOW,
    consent=Consent.GIVEN,
    consent_by="ann",
    consent_at=NOW,
    consent_tries=2,
    unconfirmed_at=NOW,
    started_at=NOW,
    told_to_approve_by="ann",
    is_urgent=True,
    held_by="bob",
    was_prepared_for=True,
    ending=Ending.FINISHED,
    ended_at=NOW,
    closed_at=NOW,
)

FULL_OF_OTHERS = replace(FULL, event=an_event("E2"))
_SAVE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from forewarn.agent.case_form import read_case
from forewarn.agent.journal import Journal
import json
from forewarn.agent.policy_form import read_policy, refuse_all
Journal(Path(sys.argv[1])).save(read_case(json.loads(sys.argv[2]), read_policy(sys.argv[3], refuse_all)))
os.kill(os.getpid(), signal.SIGKILL)
"""


def loaded(place: Path) -> list[Case]:
    with closing(Journal(place)) as journal:
        return journal.load()


@pytest.mark.parametrize("case", [a_case(), FULL], ids=["new", "full"])
def test_a_case_comes_back_as_it_was(case: Case, tmp_path: Path):
    with closing(Journal(tmp_path)) as journal:
        journal.save(case)

    assert loaded(tmp_path) == [case]
    assert read_case(json.loads(json.dumps(write_case(case))), case.policy) == case


def test_a_case_of_an_older_journal_does_not_say_who_has_named_its_event():
    older = write_case(FULL)
    del older["named_by"]

    assert read_case(json.loads(json.dumps(older))).named_by == ()


def test_every_member_of_a_case_is_kept():
    empty = Case(an_event(minutes=None), "", "", "", NOW, NOW)

    kept = {name for name, value in write_case(FULL).items() if value != write_case(empty)[name]}

    assert kept == set(write_case(empty)) - {"first_seen_at", "last_seen_at"}


def test_what_was_saved_survives_the_death_of_the_process(tmp_path: Path):
    said = (json.dumps(write_case(FULL)), write_policy(FULL.policy))
    command = [sys.executable, "-c", _SAVE_AND_DIE, str(tmp_path), *said]

    died = subprocess.run(command, check=False, timeout=60)

    assert died.returncode < 0
    assert loaded(tmp_path) == [FULL]


def test_what_is_saved_is_on_the_disk_when_save_returns(journal: Journal, tmp_path: Path):
    journal.save(FULL)

    assert journal._rows.execute("PRAGMA synchronous").fetchone() == (2,)
    assert not journal._rows.in_transaction
    assert loaded(tmp_path) == [FULL], "another reader sees it"


def test_several_cases_are_saved_all_or_none(journal: Journal, tmp_path: Path):
    journal.save(a_case(), FULL_OF_OTHERS)
    journal._rows.execute(
        "CREATE TRIGGER no BEFORE INSERT ON cases WHEN NEW.id = 'E4' BEGIN SELECT RAISE(FAIL, 'no'); END"
    )

    with pytest.raises(JournalProblem):
        journal.save(a_case(an_event("E3")), a_case(an_event("E4")))

    assert not journal._rows.in_transaction
    assert [case.id for case in loaded(tmp_path)] == ["E1", "E2"]


def test_a_case_that_is_saved_again_replaces_itself_and_keeps_its_place(journal: Journal):
    for event in ("E1", "E2"):
        journal.save(a_case(an_event(event)))

    journal.save(a_case(an_event("E1"), held_by="ann"))

    assert [(case.id, case.held_by) for case in journal.load()] == [("E1", "ann"), ("E2", "")]


def test_cases_that_were_closed_long_ago_are_purged_and_no_others(journal: Journal):
    for days, event in ((31, "old"), (29, "recent")):
        journal.save(a_case(an_event(event), closed_at=NOW - timedelta(days=days)))
    journal.save(a_case(an_event("open"), first_seen_at=NOW - timedelta(days=400)))

    purged = journal.purge(NOW - timedelta(days=30))

    assert purged == ["old"]
    assert [case.id for case in journal.load()] == ["recent", "open"]


def test_a_member_that_a_later_version_added_is_passed_over(tmp_path: Path):
    said = write_case(FULL)
    said["mood"] = "good"
    said["event"]["Severity"] = "low"
    said["runs"][0]["luck"] = 7

    assert read_case(said, FULL.policy) == FULL


def test_half_a_character_is_kept_as_it_is(tmp_path: Path):
    odd = replace(FULL, why="half a character: \ud83d")

    with closing(Journal(tmp_path)) as journal:
        journal.save(odd)

        assert journal.load() == [odd]


def test_what_is_purged_is_purged_at_once_however_much_it_is(tmp_path: Path):
    said: list[str] = []
    with closing(Journal(tmp_path)) as journal:
        journal.save(*(a_case(an_event(f"E{n}"), closed_at=NOW) for n in range(50)))
        journal._rows.set_trace_callback(said.append)
        purged = journal.purge(NOW + timedelta(days=1))

    assert len(purged) == 50
    assert len(said) <= 3


def test_a_journal_of_a_later_version_is_refused_and_not_touched(tmp_path: Path):
    with sqlite3.connect(tmp_path / "journal.db") as rows:
        rows.execute("PRAGMA user_version = 99")
    rows.close()

    with pytest.raises(JournalProblem, match="later version of the agent"):
        Journal(tmp_path)

    assert not list(tmp_path.glob("*.broken-*"))


def test_a_disk_that_takes_nothing_is_a_sentence(journal: Journal):
    journal.save(a_case())
    journal._rows.execute("PRAGMA max_page_count = 1")

    with pytest.raises(JournalProblem, match=r"could not be written: .*full"):
        journal.save(replace(FULL, why="x" * 100_000))


def test_a_second_agent_is_told_who_has_the_journal(tmp_path: Path):
    first = Lock(tmp_path)

    with pytest.raises(Held, match=f"process {os.getpid()}.*another state_dir"):
        Lock(tmp_path)

    first.release()
    Lock(tmp_path).release()


def test_the_lock_of_a_dead_agent_holds_nobody_up(tmp_path: Path):
    code = "import os, signal, sys; from pathlib import Path; from forewarn.agent.journal import Lock; "
    code += "kept = Lock(Path(sys.argv[1])); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, timeout=60)

    Lock(tmp_path).release()

    assert (tmp_path / "agent.lock").read_text().startswith("process ")

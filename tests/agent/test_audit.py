"""One record per event that is over."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.agent.audit import Audit
from forewarn.agent.case import Consent
from tests.agent.azure import SERVER_ERROR, Azure, event
from tests.agent.kept import Stage, kept
from tests.agent.little_world import DO, FAILED, NOW, UNDO, a_profile, a_run, a_step
from tests.agent.outputs import files_no_longer_than
from tests.agent.test_journal import FULL
from tests.waiting import wait_until

PROFILE = a_profile(a_step(), a_step("stop"))
CLOSED = replace(
    FULL,
    closed_at=NOW + timedelta(seconds=9),
    runs={
        ("drain", DO): a_run(ended_at=NOW + timedelta(seconds=4)),
        ("drain", UNDO): a_run(FAILED, tries=10, note="no network", ended_at=NOW + timedelta(seconds=8)),
    },
)


def test_a_record_says_what_when_how_long_by_whom_and_what_came_of_it(tmp_path: Path):
    Audit(tmp_path / "audit").write(CLOSED, PROFILE)

    [record] = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert (record["event"], record["type"], record["vm"]) == ("E1", "Reboot", "web-0")
    assert (record["approved_by"], record["approval_tries"], record["ending"]) == ("ann", 2, "finished")
    assert (record["profile"], record["why"]) == ("drain", "rule 1 fits")
    assert record["seconds"] == {"preparing": 0, "approving": 0, "started": 0, "recovering": 8, "whole": 9}
    assert [(each["step"], each["direction"], each["outcome"], each["seconds"]) for each in record["steps"]] == [
        ("drain", "do", "done", 4),
        ("drain", "undo", "failed", 8),
    ]
    assert record["is_all_well"] is False


def test_an_approval_that_the_endpoint_did_not_confirm_was_asked_for_and_given_by_nobody(tmp_path: Path):
    Audit(tmp_path / "audit").write(replace(CLOSED, consent=Consent.ASKED), PROFILE)

    record = json.loads((tmp_path / "audit").read_text())
    assert (record["approval"], record["asked_by"], record["approved_by"]) == ("asked", "ann", None)


def test_the_log_says_of_an_approval_that_was_not_confirmed_that_it_was_asked_for(
    azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO")
    azure.fail_always(lambda asked: SERVER_ERROR if asked.method == "POST" else None)
    with kept(azure.url, tmp_path, Stage(), a_profile(a_step())) as agent:
        azure.show(event("E1"))
        agent.wait_for(lambda case: case.consent is Consent.ASKED, "the approval")
        azure.start("E1")
        agent.wait_for(lambda case: case.started_at is not None, "Started")
        azure.show()
        agent.wait_until_closed()
        wait_until(lambda: "event over" in caplog.messages, "the log")

    [over] = [record for record in caplog.records if record.getMessage() == "event over"]
    assert (over.approval, over.asked_by, hasattr(over, "approved_by")) == ("asked", "agent", False)


def test_an_event_has_one_record_though_the_agent_died_right_after_it(tmp_path: Path):
    for _ in range(2):
        Audit(tmp_path / "audit").write(CLOSED, PROFILE)

    assert len((tmp_path / "audit").read_text().splitlines()) == 1


def test_a_second_life_of_an_event_has_a_record_of_its_own(tmp_path: Path):
    audit = Audit(tmp_path / "audit")

    audit.write(CLOSED, PROFILE)
    audit.write(replace(CLOSED, first_seen_at=NOW + timedelta(hours=1)), PROFILE)

    assert len((tmp_path / "audit").read_text().splitlines()) == 2


def test_a_line_that_a_crash_cut_short_spoils_no_other(tmp_path: Path):
    (tmp_path / "audit").write_text('{"event": "E0", "first')

    Audit(tmp_path / "audit").write(CLOSED, PROFILE)

    assert json.loads((tmp_path / "audit").read_text().splitlines()[1])["event"] == "E1"


def test_a_record_that_cannot_be_written_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    Audit(tmp_path / "nowhere" / "audit").write(CLOSED, PROFILE)

    assert '"approved_by": "ann"' in caplog.text


def test_a_record_that_the_disk_takes_in_part_is_taken_back_and_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    audit = Audit(tmp_path / "audit")
    audit.write(CLOSED, PROFILE)
    before = (tmp_path / "audit").read_text()

    with files_no_longer_than(len(before) + 200):
        audit.write(replace(CLOSED, event=replace(CLOSED.event, id="E2")), PROFILE)
    cut = (tmp_path / "audit").read_text()
    audit.write(replace(CLOSED, event=replace(CLOSED.event, id="E3")), PROFILE)

    assert cut == before
    assert '"event": "E2"' in caplog.text
    lines = (tmp_path / "audit").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["E1", "E3"]


@pytest.mark.parametrize("kind", ["a pipe", "a device"])
def test_a_record_waits_for_nobody_and_is_in_the_log_where_the_file_is_none(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "audit" if kind == "a pipe" else Path(os.devnull)
    if kind == "a pipe":
        os.mkfifo(path)
    writing = threading.Thread(target=Audit(path).write, args=(CLOSED, PROFILE), daemon=True)

    writing.start()
    writing.join(60)

    assert not writing.is_alive()
    assert "and no file" in caplog.text
    assert '"approved_by": "ann"' in caplog.text

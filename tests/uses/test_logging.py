"""What the agent tells of an event that it does nothing about."""

from __future__ import annotations

import json
from pathlib import Path

from tests.uses.machine import a_machine
from tests.uses.page import block, filled


def test_every_event_is_in_the_log_and_has_one_audit_record_and_none_is_approved(tmp_path: Path):
    audit = tmp_path / "events.jsonl"
    config = filled(block("Event logging", "toml"), {"/var/log/forewarn-events.jsonl": audit})
    with a_machine(tmp_path, config) as machine:
        first = machine.announce()
        machine.wait_for(first, "prepared")
        machine.service.advance(minutes=15)
        machine.wait_for(first, "started")
        machine.start_again()
        machine.finish(first)
        second = machine.announce()
        machine.wait_for(second, "prepared")
        machine.service.post(f"/v1/events/{second}/cancel")
        machine.wait_for(second, "cancelled")
        approvers = [machine.approver(event) for event in (first, second)]

    records = {said["event"].lower(): said for said in map(json.loads, audit.read_text().splitlines())}
    told = {
        event: [line["message"] for line in machine.log if line.get("event", "").lower() == event.lower()]
        for event in (first, second)
    }
    assert approvers == [None, None]
    assert [said["event"].lower() for said in records.values()] == [first.lower(), second.lower()]
    assert told[first].index("event appeared") < told[first].index("event started")
    assert told[first].index("event started") < told[first].index("event finished")
    assert "event cancelled" in told[second]
    record = records[first.lower()]
    assert (record["type"], record["source"], record["resources"], record["vm"]) == (
        "Reboot",
        "User",
        ["web-0"],
        "web-0",
    )
    assert (record["ending"], records[second.lower()]["ending"]) == ("finished", "cancelled")
    assert record["not_before"].startswith("2026-03-02T12:15:00")
    assert (record["approved_by"], record["steps"], record["is_all_well"]) == (None, [], True)
    assert all(set(line) >= {"time", "level", "message"} for line in machine.log)

"""Sick hosts, capacity that is taken back and postponed events, on the command line."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.command import CommandLine, shown
from tests.cli.conftest import command_line
from tests.fleets import SMALL
from tests.running import RunningService, running


def short(event: dict[str, Any]) -> str:
    return event["id"][:8].lower()


def announced(service: RunningService) -> dict[str, Any]:
    """An event of planned work."""
    return service.post("/v1/hosts/host-2/maintain", {"kind": "Freeze"})["events"][0]


def test_a_larger_risk_pulls_the_move_nearer_and_a_smaller_one_changes_nothing(cli: CommandLine):
    first = cli.json("host", "degrade", "host-0", "--risk", "low")
    nearer = cli.says("host", "degrade", "host-0", "--risk", "imminent")
    after = cli.json("host", "degrade", "host-0", "--risk", "high")

    assert nearer.startswith("Redeploy of host-0 scheduled: 2 events\n")
    assert nearer.count("12:10:00Z  10 min\n") == 2
    assert after["operation"]["id"] == first["operation"]["id"]
    assert {event["not_before"] for event in after["events"]} == {"2026-03-02T12:10:00Z"}


def test_one_sick_host_too_many_is_refused_unless_it_is_said_anyway(cli: CommandLine):
    for number in range(5):
        cli.says("host", "degrade", f"host-{number}")

    code, complaint = cli.complains("host", "degrade", "host-5")

    assert code == 1
    assert complaint.startswith(
        "error: host-5 is not called degraded: 5 hosts are sick already, host-0 (degraded)"
    )
    assert "hint:  See whether they are: forewarn host list." in complaint
    assert cli.says("host", "degrade", "host-5", "--anyway").startswith("Redeploy of host-5 scheduled")


def test_a_failed_host_is_told_as_one_says(cli: CommandLine):
    assert cli.says("host", "fail", "host-0", "--kind", "reboot").startswith(
        "Reboot of host-0 started: 2 events\n"
    )


def test_a_reclaim_has_a_line_for_every_event(cli: CommandLine):
    said = cli.says("host", "reclaim", "host-1", "--vms", "1")

    (event,) = cli.json("event", "list")["events"]
    assert said == shown(
        "Preempt of 1 VM on host-1: 1 event",
        "EVENT     SCOPE   VMS     STARTS BY  NOTICE",
        f"{short(event)}  frugal  frugal  12:00:30Z  30 s",
        "follow it: forewarn event watch",
    )


def test_a_program_is_given_the_evictions(cli: CommandLine):
    answer = cli.json("host", "reclaim", "host-4", "--vms", "1")

    assert [each["targets"] for each in answer["operations"]] == [["spot_0"]]
    assert [each["kind"] for each in answer["events"]] == ["Preempt"]


def test_a_reclaim_of_more_than_there_are_is_refused(still: CommandLine):
    assert still.complains("host", "reclaim", "host-1", "--vms", "2") == (
        1,
        shown(
            "error: 2 Spot VMs were to leave host-1; running there and not leaving already: 1 (frugal).",
            "hint:  Only Spot VMs can be evicted. Ask for fewer.",
        ),
    )


def test_a_postponed_event_is_shown_with_who_postponed_it(service: RunningService, cli: CommandLine):
    event = announced(service)

    said = cli.says("event", "postpone", short(event), "--by", "2h", "--reason", "a launch")

    assert "  not before    14:15:00Z\n" in said
    assert "  postponed by  operator at 12:00:00Z, from 12:15:00Z\n" in said
    assert said == cli.says("event", "show", short(event))


@pytest.mark.parametrize("until", ["2026-03-02T22:00:00Z", "2026-03-02T22:00:00", "2026-03-02T23:00+01:00"])
def test_an_event_is_postponed_until_an_instant(service: RunningService, cli: CommandLine, until: str):
    event = announced(service)

    answer = cli.json("event", "postpone", event["id"], "--until", until)

    assert answer["not_before"] == "2026-03-02T22:00:00Z"


def test_a_second_postponement_is_refused_with_the_first(service: RunningService, cli: CommandLine):
    event = announced(service)
    cli.says("event", "postpone", event["id"], "--by", "2h")

    code, complaint = cli.complains("event", "postpone", event["id"], "--by", "2h")

    assert code == 1
    assert "was postponed already, by operator at 12:00:00Z; an event can be postponed once." in complaint


def test_an_instant_that_is_none_is_a_slip_of_usage(still: CommandLine):
    outcome = still("event", "postpone", "4f1c9a02", "--until", "teatime")

    assert outcome.code == 2
    assert "'teatime' is no instant; write it like 2026-03-02T22:00:00Z" in outcome.err


def test_an_event_says_that_a_minimum_holds_it():
    fleet = {**SMALL, "availability_sets": [{"name": "web", "min_available": 2}]}
    with running(fleet) as service:
        service.post("/v1/vms/web-0/stop")
        event = announced(service)
        service.advance(minutes=15)
        said = command_line(service).says("event", "show", event["id"])

    assert (
        "  waiting for  web to have 3 available (its minimum is 2; 2 are, and host-2 has 1 of them: web-2)\n"
        in said
    )


def test_an_exported_minimum_makes_the_same_fleet(tmp_path):
    fleet = {**SMALL, "cloud_services": [{"name": "legacy", "min_available": 1}]}
    with running(fleet) as service:
        exported = command_line(service).says("fleet", "export")
    file = tmp_path / "fleet.toml"
    file.write_text(exported, encoding="utf-8")

    with running(fleet) as other:
        again = command_line(other).json("fleet", "apply", str(file))

    assert 'name = "legacy"\nmin_available = 1\n' in exported
    assert again["differences"] == []


def test_a_minimum_that_cannot_be_is_refused_with_file_and_line(still: CommandLine, tmp_path):
    file = tmp_path / "fleet.toml"
    file.write_text('[[scale_sets]]\nname = "pool"\nmin_available = -1\n', encoding="utf-8")

    assert still.complains("fleet", "apply", str(file)) == (
        1,
        f"error: {file}:3: min_available is -1. It can be 0 to 100000.\n",
    )

"""`forewarn host`: work on whole hosts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.command import CommandLine, shown
from tests.rest.test_rest import EVENT_FIELDS
from tests.running import RunningService


def short_ids(answer: list[dict[str, Any]]) -> list[str]:
    return [event["id"][:8].lower() for event in answer]


def test_host_list_has_a_line_for_every_host(still: CommandLine):
    lines = still.says("host", "list").splitlines()

    assert lines[0] == "NAME    CONDITION  ZONE  TAKES VMS  OPERATIONS  VMS"
    assert lines[1] == "host-0  up               yes        0           solo web-0"
    assert len(lines) == 1 + 6


def test_host_show_names_its_vms(still: CommandLine):
    assert still.says("host", "show", "host-3") == shown(
        "host-3 is up",
        "  fault domain  0",
        "  takes VMs     yes",
        "  VMs           pool_0",
        "                twin",
    )


def test_a_program_is_given_hosts_in_the_words_of_rest(still: CommandLine):
    listed, host = still.json("host", "list"), still.json("host", "show", "host-0")

    assert [each["name"] for each in listed["hosts"]] == [f"host-{n}" for n in range(6)]
    assert host in listed["hosts"]
    assert (host["condition"], host["vms"]) == ("up", ["solo", "web-0"])


def test_announced_work_has_a_line_for_every_event(service: RunningService, cli: CommandLine):
    said = cli.says("host", "maintain", "host-0", "--kind", "reboot", "--notice", "1h30m")

    web, solo = short_ids(service.get("/v1/events")["events"])
    assert said == shown(
        "Reboot of host-0 scheduled: 2 events",
        "EVENT     SCOPE  VMS    STARTS BY  NOTICE",
        f"{web}  web    web-0  13:30:00Z  90 min",
        f"{solo}  solo   solo   13:30:00Z  90 min",
        "follow it: forewarn event watch",
    )


def test_a_freeze_of_nine_seconds_with_the_least_notice_is_what_maintain_does_by_itself(cli: CommandLine):
    answer = cli.json("host", "maintain", "host-0")

    assert set(answer) == {"operation", "events"}
    assert all(set(event) >= EVENT_FIELDS for event in answer["events"])
    assert [
        (event["kind"], event["duration_seconds"], event["not_before"], event["description"])
        for event in answer["events"]
    ] == [("Freeze", 9, "2026-03-02T12:15:00Z", "Host server is undergoing maintenance.")] * 2


def test_what_is_asked_for_is_what_guests_are_told(cli: CommandLine):
    options = ["--by", "live_migration", "--seconds", "3", "--description", "A new kernel."]

    first, _ = cli.json("host", "maintain", "host-0", *options)["events"]

    assert (first["kind"], first["duration_seconds"], first["description"]) == ("Freeze", 3, "A new kernel.")


def test_work_on_a_host_without_vms_says_that_nobody_has_to_be_told(service: RunningService, cli: CommandLine):
    cli.says("host", "fail", "host-3")
    cli.says("clock", "advance", "10m")
    cli.says("host", "recover", "host-3")

    assert cli.says("host", "maintain", "host-3") == (
        "Freeze of host-3 completed: no VM is on it, nobody has to be told\n"
    )


def test_a_degraded_host_gives_seven_days_unless_told_otherwise(service: RunningService, cli: CommandLine):
    by_itself = cli.says("host", "degrade", "host-0")
    sooner = cli.says("host", "degrade", "host-1", "--notice", "1d")

    assert by_itself.startswith("Redeploy of host-0 scheduled: 2 events\n")
    assert "2026-03-09 12:00:00Z  7 days\n" in by_itself
    assert "2026-03-03 12:00:00Z  24 h\n" in sooner
    assert cli.says("host", "show", "host-0").startswith("host-0 is degraded\n")


def test_a_degraded_host_that_is_reported_again_is_told_as_it_is_now(service: RunningService, cli: CommandLine):
    web, solo = short_ids(cli.json("host", "degrade", "host-0")["events"])
    service.advance(days=2, hours=3)

    the_same = cli.says("host", "degrade", "host-0")
    nearer = cli.says("host", "degrade", "host-0", "--risk", "imminent")

    assert the_same == shown(
        "Redeploy of host-0 scheduled already: 2 events",
        "EVENT     SCOPE  VMS    STARTS BY             LEFT",
        f"{web}  web    web-0  2026-03-09 12:00:00Z  4 days 21 h",
        f"{solo}  solo   solo   2026-03-09 12:00:00Z  4 days 21 h",
        "follow it: forewarn event watch",
    )
    assert nearer == shown(
        "Redeploy of host-0 scheduled already: 2 events",
        "EVENT     SCOPE  VMS    STARTS BY  LEFT",
        f"{web}  web    web-0  15:10:00Z  10 min",
        f"{solo}  solo   solo   15:10:00Z  10 min",
        "follow it: forewarn event watch",
    )


def test_a_failed_host_gives_no_notice(service: RunningService, cli: CommandLine):
    said = cli.says("host", "fail", "host-0")

    web, solo = short_ids(service.get("/v1/events")["events"])
    assert said == shown(
        "Redeploy of host-0 started: 2 events",
        "EVENT     SCOPE  VMS    STARTS BY  NOTICE",
        f"{web}  web    web-0  now        none",
        f"{solo}  solo   solo   now        none",
        "follow it: forewarn event watch",
    )


def test_a_recovered_host_takes_vms_again(cli: CommandLine):
    cli.says("host", "degrade", "host-0")

    assert cli.says("host", "recover", "host-0") == "host-0 is up and takes VMs again\n"
    assert cli.json("host", "show", "host-0")["takes_vms"] is True


def test_a_host_that_recovers_while_work_on_it_goes_on_is_not_said_to_take_vms(cli: CommandLine):
    cli.says("host", "fail", "host-0")

    said = cli.says("host", "recover", "host-0")

    assert said == "host-0 is up and takes VMs again when the work on it has ended\n"
    assert cli.json("host", "show", "host-0")["takes_vms"] is False


def test_a_program_is_given_the_recovered_host(cli: CommandLine):
    cli.says("host", "degrade", "host-0")

    answer = cli.json("host", "recover", "host-0")

    assert (answer["name"], answer["condition"]) == ("host-0", "up")


# Refusals.


@pytest.mark.parametrize("verb", ["show", "maintain", "degrade", "fail", "recover"])
def test_an_unknown_host_is_refused_with_a_hint_and_exit_1(still: CommandLine, verb: str):
    assert still.complains("host", verb, "nobody") == (
        1,
        shown("error: There is no host nobody.", "hint:  forewarn host list"),
    )


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (
            ["maintain", "host-0", "--notice", "14m59s"],
            "A Freeze needs at least 15 min of notice; 899 s was asked for.",
            "Ask for 15 min or more, or for no notice in particular to get the least.",
        ),
        (
            ["maintain", "host-0", "--kind", "Redeploy", "--notice", "0"],
            "A Redeploy needs at least 10 min of notice; 0 s was asked for.",
            "Ask for 10 min or more, or for no notice in particular to get the least.",
        ),
        (
            ["degrade", "host-0", "--notice", "8d"],
            "A degraded host gets at most 7 days of notice; 8 days was asked for.",
            "Ask for 7 days or less.",
        ),
        (
            ["maintain", "host-0", "--kind", "Reboot", "--by", "live_migration"],
            "A live migration is felt as a Freeze, not as a Reboot.",
            "Ask for --kind Freeze with --by live_migration.",
        ),
    ],
    ids=["too little notice", "no notice", "too much notice", "migration that is no freeze"],
)
def test_a_rule_that_says_no_is_told_with_a_hint(still: CommandLine, arguments: list[str], error: str, hint: str):
    assert still.complains("host", *arguments) == (1, shown(f"error: {error}", f"hint:  {hint}"))
    assert still.json("event", "list") == {"events": []}


def test_a_host_that_is_well_has_nothing_to_recover_from(still: CommandLine):
    assert still.complains("host", "recover", "host-0") == (
        1,
        shown(
            "error: host-0 is up; there is nothing to recover.",
            "hint:  See which hosts are sick: forewarn host list",
        ),
    )

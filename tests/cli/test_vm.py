"""`forewarn vm`: what owners ask for, and what they are told."""

from __future__ import annotations

import pytest

from tests.cli.command import CommandLine, shown
from tests.rest.test_rest import EVENT_FIELDS, VM_FIELDS
from tests.running import RunningService


def only_event(service: RunningService) -> str:
    """The beginning of the id of the one event there is."""
    (event,) = service.get("/v1/events")["events"]
    return event["id"][:8].lower()


def test_vm_list_has_a_line_for_every_vm(still: CommandLine):
    lines = still.says("vm", "list").splitlines()

    assert lines[0] == "NAME           STATE    HOST    SCOPE   UPDATE DOMAIN  PRIORITY  EVENTS"
    assert lines[2] == "FrontEnd_IN_0  running  host-4  legacy  0              Regular"
    assert lines[4] == "frugal         running  host-1  frugal                 Spot"
    assert len(lines) == 1 + 14


def test_vm_show_leaves_out_what_a_vm_does_not_have(still: CommandLine):
    assert still.says("vm", "show", "solo") == shown(
        "solo is running",
        "  host            host-0",
        "  scope           solo",
        "  fault domain    0",
        "  zone            1",
        "  priority        Regular",
        "  resource group  default",
        "  addresses       127.0.2.1",
        "  computer name   solo",
        "  tags            team=blue",
        "                  env=test",
    )


def test_vm_show_says_what_becomes_of_a_spot_vm_and_of_a_deleted_instance(still: CommandLine):
    assert "  on eviction     Delete\n" in still.says("vm", "show", "frugal")
    assert "  terminate notice  PT10M\n" in still.says("vm", "show", "pool_1")


def test_a_program_is_given_vms_in_the_words_of_rest(still: CommandLine):
    listed, solo = still.json("vm", "list"), still.json("vm", "show", "solo")

    assert [vm["name"] for vm in listed["vms"]].count("solo") == 1
    assert all(set(vm) >= VM_FIELDS for vm in (*listed["vms"], solo))


@pytest.mark.parametrize(
    ("verb", "vm", "kind", "starts", "seen_by"),
    [
        (
            "restart",
            "web-1",
            "Reboot",
            "by 12:15:00Z (15 min notice)",
            "web-0 web-1 web-2  (availability set web)",
        ),
        ("redeploy", "solo", "Redeploy", "by 12:10:00Z (10 min notice)", "solo"),
        ("evict", "frugal", "Preempt", "by 12:00:30Z (30 s notice)", "frugal"),
        (
            "delete",
            "pool_1",
            "Terminate",
            "by 12:10:00Z (10 min notice)",
            "pool_0 pool_1 pool_2  (scale set pool)",
        ),
    ],
    ids=["restart", "redeploy", "evict", "delete"],
)
def test_an_announced_operation_says_when_it_starts_who_sees_it_and_how_to_follow_it(
    service: RunningService, cli: CommandLine, verb: str, vm: str, kind: str, starts: str, seen_by: str
):
    service.guest(vm).document()

    said = cli.says("vm", verb, vm)

    event = only_event(service)
    assert said == shown(
        f"{kind} of {vm} scheduled as {event}",
        f"  starts   {starts}, sooner once approved",
        f"  seen by  {seen_by}",
        f"follow it: forewarn event watch {event}",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["restart", "solo"],
            [
                "Restart of solo runs now, without an event",
                "  scope solo is off: none of its guests has polled in the last 24 h",
            ],
        ),
        (
            ["redeploy", "web-0"],
            [
                "Redeploy of web-0 runs now, without an event",
                "  scope web is off: none of its guests has polled in the last 24 h",
            ],
        ),
        (
            ["delete", "solo"],
            [
                "Delete of solo runs now, without an event",
                "  no terminate notice is set for it, or none of its guests has polled in the last 24 h",
            ],
        ),
        (["stop", "solo"], ["Stop of solo runs now, without an event"]),
        (["stop", "solo", "--deallocate"], ["Stop of solo runs now, without an event"]),
    ],
    ids=["restart", "redeploy", "delete", "stop", "deallocate"],
)
def test_an_operation_that_nobody_is_told_of_says_so_and_why(
    cli: CommandLine, arguments: list[str], said: list[str]
):
    assert cli.says("vm", *arguments) == shown(*said)


@pytest.mark.parametrize(("flags", "state"), [([], "stopped"), (["--deallocate"], "deallocated")])
def test_a_vm_is_stopped_and_started_again(cli: CommandLine, flags: list[str], state: str):
    cli.says("vm", "stop", "twin", *flags)
    cli.says("clock", "advance", "1m")
    while_stopped = cli.json("vm", "show", "twin")["state"]
    started = cli.says("vm", "start", "twin")
    cli.says("clock", "advance", "1m")

    assert while_stopped == state
    assert started == "Start of twin runs now, without an event\n"
    assert cli.json("vm", "show", "twin")["state"] == "running"


def test_a_program_is_given_the_operation_and_its_event(service: RunningService, cli: CommandLine):
    service.guest("solo").document()

    announced, silent = cli.json("vm", "restart", "solo"), cli.json("vm", "stop", "twin")

    assert set(announced) == set(silent) == {"operation", "event"}
    assert set(announced["event"]) >= EVENT_FIELDS
    assert announced["event"]["operation"] == announced["operation"]["id"]
    assert silent["event"] is None


def test_a_vm_with_an_announced_event_is_listed_with_it(service: RunningService, cli: CommandLine):
    service.guest("solo").document()
    cli.says("vm", "restart", "solo")

    event = only_event(service)
    assert cli.says("vm", "show", "solo").endswith(f"  events          {event}\n")
    assert f"Regular   {event}\n" in cli.says("vm", "list")


# Refusals.


@pytest.mark.parametrize("verb", ["show", "restart", "redeploy", "evict", "delete", "stop", "start"])
def test_an_unknown_vm_is_refused_with_a_hint_and_exit_1(still: CommandLine, verb: str):
    assert still.complains("vm", verb, "nobody") == (
        1,
        shown("error: There is no VM nobody.", "hint:  forewarn vm list"),
    )


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["start", "solo"], "solo is running; it cannot be started.", "forewarn vm restart solo"),
        (
            ["evict", "solo"],
            "solo cannot be evicted: its priority is Regular, and only Spot VMs can be.",
            'Give it priority = "Spot" in the fleet.',
        ),
    ],
    ids=["start a running VM", "evict a Regular VM"],
)
def test_a_rule_that_says_no_is_told_with_a_hint(still: CommandLine, arguments: list[str], error: str, hint: str):
    assert still.complains("vm", *arguments) == (1, shown(f"error: {error}", f"hint:  {hint}"))


def test_a_second_restart_names_the_first_and_how_to_cancel_it(service: RunningService, cli: CommandLine):
    service.guest("solo").document()
    cli.says("vm", "restart", "solo")

    code, complaint = cli.complains("vm", "restart", "solo")

    event = only_event(service)
    assert (code, complaint) == (
        1,
        shown(
            f"error: solo cannot be restarted: Reboot of solo is scheduled ({event}, starts by 12:15:00Z).",
            f"hint:  forewarn event cancel {event}",
        ),
    )

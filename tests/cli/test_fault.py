"""`forewarn fault`: add, list, clear."""

from __future__ import annotations

from tests.cli.command import CommandLine, shown
from tests.running import RunningService


def test_a_fault_is_added_with_its_options_listed_and_cleared(cli: CommandLine, service: RunningService):
    service.guest("solo").document()

    added = cli.says(
        "fault", "add", "status", "--vm", "solo", "--code", "429", "--retry-after", "2", "--count", "2"
    )
    statuses = [service.guest("solo").call().status for _ in range(3)]
    listed = cli.says("fault", "list")
    cleared = cli.says("fault", "clear", "status-1")

    assert added == shown("status-1 strikes solo, the first 2 requests.", "end it: forewarn fault clear status-1")
    assert statuses == [429, 429, 200]
    assert listed == shown(
        "FAULT     VM    STRIKES               OPTIONS                          ASKED  STRUCK",
        "status-1  solo  the first 2 requests  code 429, retry_after 2, on any  3      2",
    )
    assert cleared == shown("1 fault cleared, struck 2 times.")
    assert cli.says("fault", "list") == shown(
        "Nothing goes wrong on purpose. Add a fault: forewarn fault add NAME"
    )


def test_switches_and_lists_of_members_are_options_too(cli: CommandLine):
    reset = cli.json("fault", "add", "reset", "--carried-out", "--rate", "0.25", "--seed", "9")
    missing = cli.json("fault", "add", "missing_members", "--members", "Events,NotBefore")

    assert (reset["options"], reset["rate"], reset["seed"]) == ({"carried_out": True, "on": "any"}, 0.25, 9)
    assert reset["pace"] == "0.25 of all requests, seed 9"
    assert missing["options"] == {"members": ["Events", "NotBefore"]}
    assert [each["id"] for each in cli.json("fault", "list")["faults"]] == ["reset-1", "missing_members-2"]
    assert cli.says("fault", "clear") == shown("2 faults cleared, struck 0 times.")


def test_the_mark_of_a_fault_is_shown_with_the_event(cli: CommandLine, service: RunningService):
    service.guest("solo").document()
    cli.says("fault", "add", "shortened_notice", "--seconds", "30")
    cli.says("vm", "restart", "solo")
    (event,) = cli.json("event", "list")["events"]

    assert "\n  fault        shortened_notice\n" in cli.says("event", "show", event["id"])
    assert event["fault"] == "shortened_notice"


def test_a_slip_is_told_in_a_sentence(cli: CommandLine):
    assert cli.complains("fault", "add", "lots") == (
        1,
        shown(
            "error: There is no fault 'lots'. Did you mean lost?",
            "hint:  It can be status, delay, slow_body, reset, closed, truncated, null_events, missing_members, "
            "proxy_page, stale, duplicated, lost, first_call, clock_skew, early_start or shortened_notice.",
        ),
    )
    assert cli.complains("fault", "add", "delay", "--code", "500") == (
        1,
        shown(
            "error: delay has no option 'code'.", "hint:  It takes seconds, on, vm, rate, count, every or seed."
        ),
    )
    assert cli.complains("fault", "clear", "delay-1")[0] == 1
    assert cli.complains("fault", "add", "delay", "--seconds", "x")[0] == 2

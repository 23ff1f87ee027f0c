"""`forewarn scope` and `forewarn clock`."""

from __future__ import annotations

import pytest

from tests.cli.command import CommandLine, shown
from tests.cli.conftest import command_line
from tests.fleets import SMALL
from tests.running import RunningService, running

# Scopes.


def test_scope_list_says_who_asks(service: RunningService, cli: CommandLine):
    service.guest("web-1").document()

    lines = cli.says("scope", "list").splitlines()

    assert lines[0] == "SCOPE   KIND              IS   LAST POLL  INCARNATION  EVENTS  VMS"
    assert lines[3] == "legacy  cloud service     off             1            0       FrontEnd_IN_0 FrontEnd_IN_1"
    assert lines[8] == "web     availability set  on   12:00:00Z  1            0       web-0 web-1 web-2"
    assert len(lines) == 1 + 8


def test_scope_show_says_since_when_it_is_on_and_what_is_announced(service: RunningService, cli: CommandLine):
    service.guest("web-1").document()
    cli.says("clock", "advance", "20h")
    service.guest("web-2").document()
    event = cli.json("vm", "restart", "web-0")["event"]["id"]

    assert cli.says("scope", "show", "web") == shown(
        "availability set web is on",
        "  on since     2026-03-02 12:00:00Z",
        "  last poll    08:00:00Z",
        "  incarnation  2",
        "  VMs          web-0",
        "               web-1",
        "               web-2",
        f"  events       {event[:8].lower()}",
    )


def test_a_scope_that_is_off_has_no_last_poll(still: CommandLine):
    assert still.says("scope", "show", "twin") == shown(
        "vm twin is off", "  incarnation  1", "  VMs          twin"
    )


def test_a_program_is_given_scopes_in_the_words_of_rest(still: CommandLine):
    listed, scope = still.json("scope", "list"), still.json("scope", "show", "web")

    assert scope in listed["scopes"]
    assert set(scope) >= {"id", "kind", "is_on", "last_poll", "incarnation"}
    assert (scope["is_on"], scope["last_poll"]) == (False, None)


def test_a_scope_whose_id_has_a_slash_is_found():
    fleet = {"scale_sets": [{"name": "big", "capacity": 3, "placement_group_size": 2}]}
    with running(fleet) as service:
        said = command_line(service).says("scope", "show", "big/1")

    assert said.startswith("scale set big/1 is off\n")


def test_an_unknown_scope_is_refused_with_a_hint_and_exit_1(still: CommandLine):
    assert still.complains("scope", "show", "nobody") == (
        1,
        shown("error: There is no scope nobody.", "hint:  forewarn scope list"),
    )


# The clock.


def test_clock_show_says_when_something_is_due(service: RunningService, cli: CommandLine):
    before = cli.says("clock", "show")
    cli.says("host", "maintain", "host-0")

    assert before == "2026-03-02T12:00:00Z  (virtual clock, standing still)\n"
    assert cli.says("clock", "show") == before + "something is due at 2026-03-02T12:15:00Z\n"


@pytest.mark.parametrize(
    ("duration", "now"),
    [
        ("45s", "2026-03-02T12:00:45Z"),
        ("15m", "2026-03-02T12:15:00Z"),
        ("1h30m", "2026-03-02T13:30:00Z"),
        ("2d", "2026-03-04T12:00:00Z"),
        ("PT15M", "2026-03-02T12:15:00Z"),
        ("90", "2026-03-02T12:01:30Z"),
        ("0", "2026-03-02T12:00:00Z"),
    ],
)
def test_the_clock_is_advanced_by_what_is_written(cli: CommandLine, duration: str, now: str):
    assert cli.says("clock", "advance", duration) == f"{now}  (virtual clock, standing still)\n"


def test_advance_returns_when_all_that_was_due_has_been_done(cli: CommandLine):
    cli.says("host", "maintain", "host-0")

    cli.says("clock", "advance", "16m")

    assert cli.says("event", "list") == "Nothing is scheduled.\n"


def test_clock_next_goes_to_what_is_due(cli: CommandLine):
    cli.says("host", "maintain", "host-0")

    assert cli.says("clock", "next") == shown(
        "2026-03-02T12:15:00Z  (virtual clock, standing still)", "something is due at 2026-03-02T12:15:05Z"
    )
    assert {event["phase"] for event in cli.json("event", "list")["events"]} == {"Started"}


def test_a_clock_that_plays_says_how_fast_and_stands_still_again(cli: CommandLine):
    fast, real, paused = (
        cli.says("clock", "play", "--rate", "60"),
        cli.says("clock", "play"),
        cli.says("clock", "pause"),
    )

    assert fast.endswith("(virtual clock, running 60 times as fast as real time)\n")
    assert real.endswith("(virtual clock, running as fast as real time)\n")
    assert paused.endswith("(virtual clock, standing still)\n")


@pytest.mark.parametrize(
    "arguments",
    [["show"], ["advance", "1s"], ["next"], ["play", "--rate", "2"], ["pause"]],
    ids=lambda arguments: arguments[0],
)
def test_a_program_is_given_the_clock(cli: CommandLine, arguments: list[str]):
    answer = cli.json("clock", *arguments)

    assert set(answer) >= {"now", "mode"}
    assert answer["mode"] == "virtual"


def test_the_system_clock_is_shown_and_not_moved():
    with running(SMALL, clock="system", clock_start=None) as service:
        cli = command_line(service)
        shown_clock = cli.says("clock", "show")
        refusals = {cli.complains("clock", *each) for each in (["advance", "1m"], ["next"], ["play"], ["pause"])}

    assert shown_clock.endswith("Z  (system clock)\n")
    assert refusals == {
        (
            1,
            shown(
                "error: The service runs on the system clock, which cannot be moved.",
                "hint:  Serve with --clock virtual to move time by hand.",
            ),
        )
    }

"""`forewarn report`: sentences for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.command import CommandLine, shown
from tests.cli.conftest import command_line
from tests.fleets import SMALL
from tests.running import RunningService, running

_PACE = "Counted in seconds of the virtual clock; a client that keeps real time: --pace real."


@pytest.fixture
def service() -> Iterator[RunningService]:
    """A service that looks on, as it does with a virtual clock."""
    with running(SMALL, watch_guests=None) as started:
        yield started


def _ask_every_minute(service: RunningService) -> None:
    for _ in range(3):
        service.guest("frugal").document()
        service.advance(minutes=1)


def test_people_are_told_what_is_to_be_mended_and_what_was_seen(service: RunningService, cli: CommandLine):
    _ask_every_minute(service)

    assert cli.says("report", "frugal") == shown(
        "frugal: 1 fault to mend.",
        "  to mend  too_slow: It asks every 60 s. An eviction (Preempt) is announced 30 s ahead: it can come and "
        "go without being seen. Of the other notices at worst this is left: Freeze 14 min of 15 min, Reboot 14 "
        "min of 15 min, Redeploy 9 min of 10 min, Terminate 4 min of 5 min. Ask once a second.",
        "  seen     It asked for the document 3 times, with 60 s between as a rule and 60 s at the longest; the "
        "last time was 60 s ago.",
        "           It kept below the limit of 5 requests a second.",
        "           It read api-version 2020-07-01.",
        _PACE,
    )


def test_a_good_client_gets_a_good_word(service: RunningService, cli: CommandLine):
    solo = service.guest("solo")
    solo.document()
    event = service.post("/v1/vms/solo/restart")["event"]["id"]
    service.advance(seconds=1)
    solo.document()
    service.advance(seconds=3)
    solo.approve(event)
    service.advance(seconds=65)
    solo.document()
    service.advance(seconds=2)
    solo.document()

    lines = cli.says("report", "solo").splitlines()

    assert lines[0] == "solo does well: there is nothing to mend."
    assert lines[-2] == (
        f"        Reboot of solo ({event[:8].lower()}): shown 1 s after it was announced, approved 3 s after it "
        "could have known, its end noticed at once."
    )


def test_without_a_name_all_are_told_of_and_how_many_were_not_heard(service: RunningService, cli: CommandLine):
    for vm in ("solo", "web-0"):
        service.guest(vm).document()

    lines = cli.says("report").splitlines()

    assert [line for line in lines if not line.startswith(" ")] == [
        "solo does well: there is nothing to mend.",
        "web-0 does well: there is nothing to mend.",
        "12 other VMs have not asked for anything.",
        _PACE,
    ]


def test_who_has_not_asked_is_said_so(cli: CommandLine):
    assert cli.says("report") == "No guest has asked for anything yet.\n"
    assert cli.says("report", "web-0") == "web-0 has not asked for anything yet.\n"


def test_a_program_is_given_the_report(service: RunningService, cli: CommandLine):
    _ask_every_minute(service)

    virtual, real = cli.json("report"), cli.json("report", "frugal", "--pace", "real")

    assert (virtual["pace"], real["pace"]) == ("virtual", "real")
    assert [each["code"] for each in virtual["guests"][0]["findings"]] == ["too_slow"]
    assert real["guests"][0]["findings"] == []
    assert virtual == service.get("/v1/report")


def test_a_name_that_is_none_is_refused_with_one_that_is_near(cli: CommandLine):
    assert cli.complains("report", "web-9") == (
        1,
        shown("error: There is no VM web-9.", "hint:  Did you mean web-2? forewarn vm list"),
    )


def test_a_pace_that_is_none_is_a_slip_of_the_pen(cli: CommandLine):
    code, said = cli.complains("report", "--pace", "fast")

    assert code == 2
    assert "'fast' is not one of 'real', 'virtual'" in said


def test_a_service_that_does_not_look_on_says_how_to_make_it():
    with running(SMALL, watch_guests=False) as service:
        complaint = command_line(service).complains("report")

    assert complaint == (
        1,
        shown(
            "error: The service does not note what guests ask.",
            "hint:  Serve with --watch-guests; with --clock virtual it does unless watch_guests is set to no.",
        ),
    )

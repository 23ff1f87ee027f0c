"""`forewarn report`: sentences for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.command import CommandLine
from tests.cli.conftest import command_line
from tests.fleets import SMALL
from tests.running import RunningService, running


@pytest.fixture
def service() -> Iterator[RunningService]:
    """A service that watches its guests, as it does with a virtual clock."""
    with running(SMALL, watch_guests=None) as started:
        yield started


def _ask_every_minute(service: RunningService) -> None:
    for _ in range(3):
        service.guest("frugal").document()
        service.advance(minutes=1)


def test_report_shows_the_sentences_of_the_json(service: RunningService, cli: CommandLine):
    _ask_every_minute(service)

    said, (guest,) = cli.says("report", "frugal").splitlines(), cli.json("report", "frugal")["guests"]

    assert said[0] == guest["summary"]
    assert said[1] == f"  to fix  too_slow: {guest['findings'][0]['sentence']}"
    assert [line.removeprefix("  seen").strip() for line in said[2:-1]] == guest["facts"]
    assert "--pace real" in said[-1]


def test_report_on_a_good_client_has_its_events(service: RunningService, cli: CommandLine):
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

    assert lines[0].startswith("solo does well")
    assert lines[-2].startswith(f"        Reboot of solo ({event[:8].lower()}): seen 1 s after")
    assert "approved 3 s after" in lines[-2]


def test_report_without_a_name_shows_all_guests_and_counts_the_silent_ones(
    service: RunningService, cli: CommandLine
):
    for vm in ("solo", "web-0"):
        service.guest(vm).document()

    lines = cli.says("report").splitlines()

    heads = [line for line in lines if not line.startswith(" ")]
    assert [head.split()[0] for head in heads[:3]] == ["solo", "web-0", "12"]


def test_report_says_that_a_guest_has_sent_no_request(cli: CommandLine):
    assert cli.says("report").startswith("No guest ")
    assert cli.says("report", "web-0").startswith("web-0 ")


def test_json_report_is_that_of_rest(service: RunningService, cli: CommandLine):
    _ask_every_minute(service)

    virtual, real = cli.json("report"), cli.json("report", "frugal", "--pace", "real")

    assert (virtual["pace"], real["pace"]) == ("virtual", "real")
    assert [each["code"] for each in virtual["guests"][0]["findings"]] == ["too_slow"]
    assert real["guests"][0]["findings"] == []
    assert virtual == service.get("/v1/report")


def test_unknown_vm_is_refused_with_a_suggestion(cli: CommandLine):
    code, said = cli.complains("report", "web-9")

    assert code == 1
    assert all(each in said for each in ("web-9", "web-2", "forewarn vm list"))


def test_unknown_pace_is_a_usage_error(cli: CommandLine):
    code, said = cli.complains("report", "--pace", "fast")

    assert code == 2
    assert "'fast' is not one of 'real', 'virtual'" in said


def test_service_that_does_not_watch_says_how_to_turn_it_on():
    with running(SMALL, watch_guests=False) as service:
        complaint = command_line(service).complains("report")

    code, said = complaint
    assert code == 1
    assert "--watch-guests" in said

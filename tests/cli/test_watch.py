"""`forewarn event watch`: follows an event to its end, and leaving it stops nothing."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from forewarn.drivers.machines import Trouble
from tests.cli.command import CommandLine, shown
from tests.cli.conftest import command_line
from tests.cli.meanwhile import Meanwhile
from tests.cli.test_event import restarted, short
from tests.fleets import SMALL
from tests.running import RunningService


class Watch(Meanwhile):
    """`forewarn event watch`."""

    def __init__(self, directory: Path, url: str, *arguments: str) -> None:
        super().__init__(directory, "event", "watch", *arguments, "--url", url)


def test_a_watched_event_is_told_line_by_line_until_it_ends(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    event = restarted(service)
    watch = Watch(tmp_path, cli.url, short(event))
    watch.wait_for("Scheduled")

    cli.says("clock", "advance", "5m")
    service.guest("solo").approve(event["id"])
    cli.says("clock", "advance", "70s")

    assert (watch.ends(), watch.err) == (0, "")
    assert watch.out == shown(
        f"12:00:00Z  {short(event)}  Reboot of solo  Scheduled, not before 12:15:00Z",
        f"12:05:00Z  {short(event)}  Reboot of solo  Scheduled, not before 12:15:00Z, approved by solo",
        f"12:05:00Z  {short(event)}  Reboot of solo  Started",
        f"12:06:05Z  {short(event)}  Reboot of solo  Completed",
    )


def test_a_watched_event_that_is_approved_and_held_says_by_whom(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    service.guest("solo").document()
    service.guest("web-0").document()
    _, solo = service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})["events"]
    watch = Watch(tmp_path, cli.url, solo["id"])
    watch.wait_for("Scheduled")

    service.guest("solo").approve(solo["id"])
    cli.says("event", "cancel", solo["id"])

    assert watch.ends() == 0
    assert watch.out == shown(
        f"12:00:00Z  {short(solo)}  Freeze of solo  Scheduled, not before 12:15:00Z",
        f"12:00:00Z  {short(solo)}  Freeze of solo  Scheduled, not before 12:15:00Z, approved by solo",
        f"12:00:00Z  {short(solo)}  Freeze of solo  Cancelled: cancelled by operator",
    )


def test_a_watch_of_an_event_that_fails_ends_with_exit_1(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    service.service.machines.order("solo", Trouble.FAILS)
    event = restarted(service)
    watch = Watch(tmp_path, cli.url, event["id"])
    watch.wait_for("Scheduled")

    cli.says("clock", "advance", "20m")

    assert watch.ends() == 1
    assert f"{short(event)}  Reboot of solo  Failed: " in watch.out


def test_a_watch_of_an_event_that_has_ended_already_ends_at_once(service: RunningService, cli: CommandLine):
    event = restarted(service)
    cli.says("event", "cancel", event["id"])

    assert cli.says("event", "watch", event["id"]) == (
        f"12:00:00Z  {short(event)}  Reboot of solo  Cancelled: cancelled by operator\n"
    )


def test_a_program_is_given_a_document_on_a_line_for_every_change(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    event = restarted(service)
    watch = Watch(tmp_path, cli.url, event["id"], "--json")
    watch.wait_for("Scheduled")

    cli.says("clock", "advance", "20m")

    assert watch.ends() == 0
    told = [json.loads(line) for line in watch.out.splitlines()]
    assert [each["phase"] for each in told] == ["Scheduled", "Started", "Completed"]
    assert {each["id"] for each in told} == {event["id"]}


def test_a_watch_of_everything_tells_what_is_there_and_what_comes(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    first = restarted(service)
    watch = Watch(tmp_path, cli.url)
    watch.wait_for(short(first))

    second = restarted(service, "twin")
    watch.wait_for(short(second))
    watch.process.send_signal(signal.SIGINT)

    watch.ends()
    assert watch.out == shown(
        f"12:00:00Z  {short(first)}  Reboot of solo  Scheduled, not before 12:15:00Z",
        f"12:00:00Z  {short(second)}  Reboot of twin  Scheduled, not before 12:15:00Z",
    )


@pytest.mark.parametrize("what", ["one event", "everything"])
def test_ctrl_c_ends_the_watch_and_stops_nothing(
    service: RunningService, cli: CommandLine, tmp_path: Path, what: str
):
    event = restarted(service)
    watch = Watch(tmp_path, cli.url, *([event["id"]] if what == "one event" else []))
    watch.wait_for("Scheduled")

    watch.process.send_signal(signal.SIGINT)

    assert watch.ends() == 130
    assert "Traceback" not in watch.err
    assert service.get(f"/v1/events/{event['id']}")["phase"] == "Scheduled"
    service.advance(minutes=20)
    assert service.get(f"/v1/events/{event['id']}")["phase"] == "Completed"


def test_a_watch_whose_service_stops_says_how_to_go_on_and_ends_with_exit_3(tmp_path: Path):
    service = RunningService(SMALL).start()
    event = restarted(service)
    url = command_line(service).url
    watch = Watch(tmp_path, url, event["id"])
    watch.wait_for("Scheduled")

    service.stop()

    assert (watch.ends(), watch.err) == (
        3,
        shown(
            f"error: The service at {url} has ended the stream.",
            f"hint:  Once it is back: forewarn event watch {short(event)}",
        ),
    )

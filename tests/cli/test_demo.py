"""`forewarn serve --demo`: a fleet that looks after itself, as it is and in fast motion."""

from __future__ import annotations

import re
import signal
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forewarn.cli.demo import YOU, Demo, demo_settings, typed_command
from forewarn.config import Settings
from tests.cli.command import FOREWARN, CommandLine
from tests.cli.serving import serve_ends, serving
from tests.running import RunningService, call, running, wait_until

TARGET = "/metadata/scheduledevents?api-version=2020-07-01"
FLEET_FILE = demo_settings(Settings()).fleet
PACE = 100.0


@contextmanager
def fast_motion(*, rate: float) -> Iterator[RunningService]:
    """The demo with people in a hurry, and a clock that runs at that rate."""
    fleet: dict[str, Any] = tomllib.loads(FLEET_FILE.read_text(encoding="utf-8"))
    with running(fleet, guest=YOU) as service:
        demo = Demo(service.service, pace=PACE)

        async def start() -> None:
            demo.start()

        service.post("/v1/clock", {"rate": rate})
        service._on_loop(start())
        try:
            yield service
        finally:
            service._on_loop(demo.stop())


def poll_as_you(port: int) -> Any:
    return call("127.0.0.1", port, "GET", TARGET, headers={"Metadata": "true"})


def test_it_starts_and_within_seconds_there_is_something_to_see(tmp_path: Path):
    with serving(tmp_path, "--demo") as served:
        first = poll_as_you(served.metadata_port)
        wait_until(lambda: len(served.cli.json("event", "list", "--phase", "all")["events"]) > 0, "an event", 60)

        assert first.status == 200
        assert f'curl -H Metadata:true "http://127.0.0.1:{served.metadata_port}{TARGET}"\n' in served.out
        assert f"  {FOREWARN} vm restart web-0 --url {served.cli.url}\n" in served.out
        wait_until(
            lambda: re.search(r"Z  [0-9a-f]{8}  Reboot of \S+ Scheduled, not before", served.out) is not None,
            "a line",
        )
        assert served.stop(signal.SIGINT) == 0
    assert not (tmp_path / "forewarn.db").exists()


@pytest.mark.parametrize(
    ("typed", "path", "shown"),
    [
        ("here/bin/forewarn", "", "here/bin/forewarn"),
        ("here/bin/forewarn", "here/bin", "forewarn"),
        ("here/bin/forewarn", "there/bin", "here/bin/forewarn"),
        ("my place/forewarn", "", "'my place/forewarn'"),
        ("gone/forewarn", "", "forewarn"),
    ],
    ids=["by its path", "on the PATH", "another on the PATH", "with a space", "not a program"],
)
def test_the_demo_names_the_command_as_it_can_be_typed(
    typed: str, path: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for place in ("here/bin", "there/bin", "my place"):
        (tmp_path / place).mkdir(parents=True)
        program = tmp_path / place / "forewarn"
        program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [typed])
    monkeypatch.setenv("PATH", str(tmp_path / path) if path else "")

    assert typed_command() == shown


def test_guests_approve_what_concerns_them_and_events_of_every_kind_come_and_go():
    with fast_motion(rate=PACE) as service:

        def history() -> list[dict[str, Any]]:
            return service.get("/v1/history")["history"]

        def completed() -> set[str]:
            return {row["kind"] for row in history() if row["outcome"] == "Completed" and row["approved_by"]}

        wait_until(
            lambda: completed() >= {"Reboot", "Freeze", "Preempt", "Redeploy"},
            "every kind to be approved and done",
        )
        wait_until(lambda: any(row["cause"] == "start" for row in history()), "an evicted VM to be started again")

        assert all(row["approved_by"] in (*row["resources"], None) for row in history())


def test_nobody_approves_in_your_name():
    with fast_motion(rate=0) as service:
        assert poll_as_you(service.metadata_port).status == 200
        yours = service.post(f"/v1/vms/{YOU}/restart")["event"]

        def approved() -> list[str]:
            return [event["approved_by"] for event in service.get("/v1/events?phase=all")["events"]]

        wait_until(lambda: any(approved()), "another guest to approve something")

        assert service.get(f"/v1/events/{yours['id']}")["approved_by"] is None


def test_the_demo_keeps_out_of_the_way_of_what_was_named():
    named = Settings(store="sqlite:///mine.db", guest="me")

    assert demo_settings(named) == replace(named, fleet=FLEET_FILE)
    assert demo_settings(Settings()).store == "sqlite://"
    assert demo_settings(Settings()).guest == YOU


def test_the_demo_and_a_fleet_of_ones_own_are_two_things():
    outcome = serve_ends("--demo", "--fleet", "mine.toml")

    assert outcome.code == 2
    assert "--demo brings a fleet of its own." in outcome.err


def test_the_demos_fleet_is_a_fleet_file_that_applies(cli: CommandLine):
    assert cli.says("fleet", "apply", str(FLEET_FILE)).endswith(" changes applied.\n")

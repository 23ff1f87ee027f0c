"""`forewarn serve`: what it says, what it takes over from its store, and how it ends."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from forewarn import __version__
from tests.cli.command import FOREWARN, CommandLine, environment, shown
from tests.cli.serving import serving
from tests.cli.test_fleet import FLEET, sorted_by_name
from tests.cli.test_watch import Watch
from tests.running import call, free_port, wait_until

VIRTUAL = ("--clock", "virtual", "--clock-start", "2026-03-02T12:00:00Z")


@pytest.fixture
def fleet_file(tmp_path: Path) -> Path:
    file = tmp_path / "fleet.toml"
    file.write_text(FLEET)
    return file


def test_it_says_where_guests_and_operators_are_heard(tmp_path: Path, fleet_file: Path):
    options = ("--store", "sqlite://", "--fleet", str(fleet_file), "--guest", "solo")
    with serving(tmp_path, *VIRTUAL, *options) as served:
        poll = call(
            "127.0.0.1",
            served.metadata_port,
            "GET",
            "/metadata/scheduledevents?api-version=2020-07-01",
            headers={"Metadata": "true"},
        )

        assert served.out == shown(
            f"forewarn {__version__}",
            f"  guests     http://127.0.0.1:{served.metadata_port}/metadata/scheduledevents",
            f"  operators  http://127.0.0.1:{served.operator_port}",
            "  store      sqlite://",
            "  clock      virtual, 2026-03-02T12:00:00Z",
            "  fleet      2 hosts, 2 VMs; a loopback caller is solo",
            "Ctrl-C stops it.",
        )
    assert poll.status == 200


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_it_ends_cleanly_when_told_to(tmp_path: Path, how: signal.Signals):
    with serving(tmp_path, "--store", "sqlite://") as served:
        assert served.stop(how) == 0
        assert served.err == "stopping\n"


def test_it_goes_on_and_ends_cleanly_when_nobody_reads_its_log_any_more(tmp_path: Path, fleet_file: Path):
    port = free_port()
    where = ("--metadata", "127.0.0.1:0", "--operator", f"127.0.0.1:{port}")
    process = subprocess.Popen(
        [FOREWARN, "serve", *VIRTUAL, *where, "--store", "sqlite://", "--fleet", str(fleet_file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    try:
        assert process.stderr is not None
        process.stderr.close()
        cli = CommandLine(f"http://127.0.0.1:{port}")
        wait_until(lambda: cli("clock", "show").code == 0, "the service to be ready")
        event = cli.json("host", "maintain", "host-0")["events"][0]["id"]
        cli.says("clock", "advance", "20m")
        phase = cli.json("event", "show", event)["phase"]
        process.send_signal(signal.SIGTERM)

        assert (phase, process.wait(60)) == ("Completed", 0)
    finally:
        process.kill()
        process.wait(60)


def test_a_watch_does_not_keep_it_from_ending(tmp_path: Path, fleet_file: Path):
    with serving(tmp_path, "--store", "sqlite://", "--fleet", str(fleet_file)) as served:
        event = served.cli.json("host", "maintain", "host-0")["events"][0]["id"]
        watch = Watch(tmp_path, served.cli.url)
        watch.wait_for(event[:8].lower())

        assert served.stop() == 0
        assert watch.ends() == 3


def test_a_fleet_file_is_applied_to_an_empty_store_and_compared_with_any_other(tmp_path: Path, fleet_file: Path):
    options = ("--store", f"sqlite:///{tmp_path}/kept.db", "--fleet", str(fleet_file), *VIRTUAL)
    with serving(tmp_path, *options) as served:
        applied = served.cli.json("fleet", "export")
        first = served.err
    with serving(tmp_path, *options) as served:
        same = served.err
    fleet_file.write_text(FLEET.replace('name = "solo"', 'name = "sola"'))
    with serving(tmp_path, *options) as served:
        differs = served.err
        kept = served.cli.json("fleet", "export")

    assert (first, same) == ("", "")
    assert differs == shown(
        f"The fleet differs from {fleet_file} (forewarn fleet apply changes it on purpose):",
        "  + VM sola",
        "  - VM solo",
    )
    assert sorted_by_name(kept) == sorted_by_name(applied)


def test_what_was_asked_and_the_virtual_instant_survive_a_restart(tmp_path: Path, fleet_file: Path):
    options = ("--store", f"sqlite:///{tmp_path}/kept.db", "--fleet", str(fleet_file))
    with serving(tmp_path, *options, *VIRTUAL) as served:
        (event,) = served.cli.json("host", "maintain", "host-0")["events"]
        served.cli.says("clock", "advance", "10m")

    with serving(tmp_path, *options, "--clock", "virtual", "--clock-start", "2030-01-01T00:00:00Z") as served:
        assert served.cli.json("clock", "show")["now"] == "2026-03-02T12:10:00Z"
        assert served.cli.json("event", "show", event["id"])["not_before"] == "2026-03-02T12:15:00Z"
        served.cli.says("clock", "advance", "6m")
        assert served.cli.json("event", "show", event["id"])["phase"] == "Completed"


def test_settings_come_from_file_environment_and_flags(tmp_path: Path, fleet_file: Path):
    config = tmp_path / "forewarn.toml"
    config.write_text(f'store = "sqlite://"\nfleet = "{fleet_file}"\nclock = "system"\nguest = "web-0"\n')

    with serving(
        tmp_path, "--config", str(config), "--guest", "solo", FOREWARN_CLOCK="virtual", FOREWARN_GUEST="nobody"
    ) as served:
        said = served.out

    assert "  store      sqlite://\n  clock      virtual, " in said
    assert "  fleet      2 hosts, 2 VMs; a loopback caller is solo\n" in said


def test_without_a_word_the_store_is_a_file_where_it_was_started(tmp_path: Path):
    with serving(tmp_path) as served:
        assert (
            "  store      sqlite:///forewarn.db\n  clock      system\n  fleet      0 hosts, 0 VMs\n" in served.out
        )

    assert (tmp_path / "forewarn.db").exists()


@pytest.mark.parametrize(("log_format", "first"), [("auto", "{"), ("plain", "2")])
def test_logs_go_to_stderr_in_the_format_that_was_asked_for(
    tmp_path: Path, fleet_file: Path, log_format: str, first: str
):
    options = ("--store", "sqlite://", "--fleet", str(fleet_file), "--log-format", log_format, *VIRTUAL)
    with serving(tmp_path, *options) as served:
        before = served.out
        served.cli.says("vm", "stop", "solo")
        (line,) = served.err.splitlines()

        assert served.out == before
    assert line.startswith(first)
    assert "action begins" in line

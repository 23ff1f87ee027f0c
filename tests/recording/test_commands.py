"""`forewarn record` and `forewarn replay` as commands: what they say, refuse, and leave when they are stopped."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forewarn.recording.file import read_recording
from tests.cli.command import FOREWARN, CommandLine, environment, forewarn, shown
from tests.recording.replaying import document, end, error, event, header, written
from tests.running import call, free_port, running, wait_until

_EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
FLEET = {"vms": [{"name": "web-0", "addresses": ["127.0.0.1"]}]}


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs meanwhile."""
    process = subprocess.Popen(
        [FOREWARN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


def read_until(process: subprocess.Popen[str], end_of_it: str) -> list[str]:
    """What it prints up to a line."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if lines[-1] == end_of_it:
            return lines
    raise AssertionError(f"it ended before it said {end_of_it!r}: {lines}")


@contextmanager
def replayed(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str], int, CommandLine]]:
    """A replay: its process, what it said at first, the guests' port, and commands to it."""
    metadata, operator = free_port(), free_port()
    where = ("--metadata", f"127.0.0.1:{metadata}", "--operator", f"127.0.0.1:{operator}")
    with started("replay", *arguments, *where) as process:
        said = read_until(process, "Ctrl-C stops it.")
        yield process, said, metadata, CommandLine(f"http://127.0.0.1:{operator}")


def read(port: int) -> dict[str, object]:
    reply = call("127.0.0.1", port, "GET", _EVENTS, headers={"Metadata": "true"})
    assert reply.status == 200, reply
    return json.loads(reply.body)


def leave(process: subprocess.Popen[str]) -> None:
    """Read nothing more of what it prints."""
    for each in (process.stdout, process.stderr):
        assert each is not None
        each.close()


# record


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_stopped_recording_is_whole_and_prints_a_summary(tmp_path: Path, how: signal.Signals):
    file = tmp_path / "life.jsonl"
    with running(FLEET) as service:
        endpoint = f"http://127.0.0.1:{service.metadata_port}"
        with started("record", "--endpoint", endpoint, "--out", str(file), "--every", "0.2") as recorder:
            wait_until(lambda: file.exists() and len(file.read_bytes().splitlines()) == 2, "the first document")
            service.post("/v1/vms/web-0/restart")
            wait_until(lambda: len(file.read_bytes().splitlines()) == 3, "the second document")
            recorder.send_signal(how)
            out, err = recorder.communicate(timeout=60)

    recording = read_recording(file)
    assert recorder.returncode == 0
    assert re.fullmatch(rf"Recorded 2 documents in \d+ s: {file}\n", out)
    first, empty, announced = err.splitlines()
    assert first == f"Recording {endpoint} into {file}. Ctrl-C ends it."
    assert empty.endswith("Z  1: no events")
    assert re.search(r"Z  2: Reboot of web-0 \([0-9a-f]{8}\) Scheduled$", announced)
    assert (recording.header.endpoint, recording.header.vm) == (endpoint, "web-0")
    assert recording.end is not None


def test_recording_ends_after_its_length(tmp_path: Path):
    file = tmp_path / "life.jsonl"
    with running(FLEET) as service:
        endpoint = f"http://127.0.0.1:{service.metadata_port}/metadata/scheduledevents"

        with started("record", "--endpoint", endpoint, "--out", str(file), "--for", "1s") as recorder:
            recorder.communicate(timeout=60)

    recording = read_recording(file)
    assert (recorder.returncode, len(recording.changes)) == (0, 1)
    assert recording.seconds >= 1


def test_recording_goes_on_after_a_closed_pipe(tmp_path: Path):
    file = tmp_path / "life.jsonl"
    with running(FLEET) as service:
        endpoint = f"http://127.0.0.1:{service.metadata_port}"
        with started("record", "--endpoint", endpoint, "--out", str(file), "--every", "0.2") as recorder:
            wait_until(lambda: file.exists() and len(file.read_bytes().splitlines()) == 2, "the first document")
            leave(recorder)
            service.post("/v1/vms/web-0/restart")
            wait_until(lambda: len(file.read_bytes().splitlines()) == 3, "the second document")
            service.advance(minutes=15)
            wait_until(lambda: len(file.read_bytes().splitlines()) == 4, "the third document")
            recorder.send_signal(signal.SIGINT)
            code = recorder.wait(60)

    recording = read_recording(file)
    assert (code, len(recording.changes)) == (0, 3)
    assert recording.end is not None


def test_recording_without_documents_fails_after_a_closed_pipe_too(tmp_path: Path):
    file = tmp_path / "life.jsonl"
    with running({"vms": [{"name": "web-0"}]}) as service:
        endpoint = f"http://127.0.0.1:{service.metadata_port}"

        with started("record", "--endpoint", endpoint, "--out", str(file), "--for", "1s") as recorder:
            leave(recorder)
            code = recorder.wait(60)

    assert code == 1
    assert json.loads(file.read_text().splitlines()[-1])["end"] is True


def test_full_disk_is_reported():
    with running(FLEET) as service:
        endpoint = f"http://127.0.0.1:{service.metadata_port}"

        with started("record", "--endpoint", endpoint, "--out", "/dev/full", "--overwrite") as recorder:
            _, err = recorder.communicate(timeout=60)

    assert recorder.returncode == 1
    assert err.count("error: ") == 1
    assert "/dev/full" in err


def test_recording_without_documents_fails_with_the_reason(tmp_path: Path):
    file = tmp_path / "life.jsonl"
    with running({"vms": [{"name": "web-0"}]}) as service:
        endpoint = f"http://127.0.0.1:{service.metadata_port}"

        with started("record", "--endpoint", endpoint, "--out", str(file), "--for", "1s") as recorder:
            out, err = recorder.communicate(timeout=60)

    assert recorder.returncode == 1
    assert out.startswith("Recorded 0 documents in 1 s, 1 time without an answer: ")
    assert "no answer (status 404): " in err
    assert json.loads(file.read_text().splitlines()[1])["status"] == 404


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--endpoint", "ftp://x"), 2, "'ftp://x'"),
        (("--api-version", "2030-01-01"), 2, "2030-01-01"),
        (("--every", "0"), 2, "Invalid value for '--every'"),
    ],
)
def test_unusable_arguments_of_record_are_refused(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
):
    ran = forewarn("record", "--out", str(tmp_path / "life.jsonl"), *arguments)

    assert ran.code == code
    assert said in ran.err
    assert list(tmp_path.iterdir()) == []


def test_existing_recording_is_not_overwritten(tmp_path: Path):
    file = tmp_path / "life.jsonl"
    file.write_text("mine")

    ran = forewarn("record", "--out", str(file))

    assert (ran.code, file.read_text()) == (1, "mine")
    assert ran.err.startswith(f"error: {file} is there already")


# replay


def test_replay_prints_its_file_addresses_and_limits(tmp_path: Path):
    lines = [document(0, 1), error(10), document(25, 2, event())]
    file = written(tmp_path, header(endpoint="http://169.254.169.254"), *lines)

    with replayed(str(file), "--virtual") as (process, said, port, command):
        assert process.stdout is not None
        first = process.stdout.readline()
        moved = command.says("clock", "next")
        told = [process.stdout.readline() for _ in range(2)]
        events = read(port)["Events"]
        process.send_signal(signal.SIGINT)
        code = process.wait(60)

    assert (
        said
        == shown(
            f"{file}: 2 documents in 25 s",
            "  recorded   2026-03-02 12:00:00Z, api-version 2020-07-01, http://169.254.169.254",
            f"  guests     http://127.0.0.1:{port}/metadata/scheduledevents",
            f"  operators  {command.url}",
            "  clock      2026-03-02 12:00:00Z, standing still until forewarn clock moves it",
            "Every caller is web-0. What it approves is noted, and changes nothing.",
            "There was no answer 1 time, for 15 s in all: the document before stays.",
            "The recording was broken off, so it has no end.",
            "Ctrl-C stops it.",
        ).splitlines()
    )
    assert first == "2026-03-02 12:00:00Z  1: no events\n"
    assert moved == "2026-03-02T12:00:25Z  (virtual clock, standing still)\n"
    assert told == [
        "2026-03-02 12:00:25Z  2: Reboot of web-0 (a123bc45) Scheduled\n",
        "The recording is over; its last document stays.\n",
    ]
    assert [each["NotBefore"] for each in events] == ["Mon, 02 Mar 2026 12:15:00 GMT"]
    assert code == 0


def test_rate_makes_the_replay_faster_and_approvals_are_printed(tmp_path: Path):
    started_event = event(EventStatus="Started", NotBefore="")
    lines = [document(0, 1, event()), document(600, 2, started_event), document(1200, 3), end(1200)]
    file = written(tmp_path, header(), *lines)

    with replayed(str(file), "--rate", "600") as (process, said, port, _):
        assert process.stdout is not None
        body = json.dumps({"StartRequests": [{"EventId": event()["EventId"]}]}).encode()
        reply = call("127.0.0.1", port, "POST", _EVENTS, body, {"Metadata": "true"})
        told = [process.stdout.readline() for _ in range(5)]
        last = read(port)

    statuses = [line.split("  ", 1)[1] for line in told if "Z  " in line]
    assert any(line.endswith(", 600 times as fast as it was") for line in said)
    assert reply.status == 200
    assert "a123bc45 approved; the recording goes on as it was\n" in statuses
    assert [line for line in statuses if "approved" not in line] == [
        "1: Reboot of web-0 (a123bc45) Scheduled\n",
        "2: Reboot of web-0 (a123bc45) Started\n",
        "3: no events\n",
    ]
    assert last == {"DocumentIncarnation": 3, "Events": []}


def test_replay_goes_on_after_a_closed_pipe(tmp_path: Path):
    started_event = event(EventStatus="Started", NotBefore="")
    lines = [document(0, 1, event()), document(600, 2, started_event), document(1200, 3), end(1200)]
    file = written(tmp_path, header(), *lines)

    with replayed(str(file), "--virtual") as (process, _, port, command):
        leave(process)
        body = json.dumps({"StartRequests": [{"EventId": event()["EventId"]}]}).encode()
        approved = call("127.0.0.1", port, "POST", _EVENTS, body, {"Metadata": "true"})
        moved = [command.json("clock", "next")["now"] for _ in range(2)]
        last = read(port)
        process.send_signal(signal.SIGINT)
        code = process.wait(60)

    assert approved.status == 200
    assert moved == ["2026-03-02T12:10:00Z", "2026-03-02T12:20:00Z"]
    assert last == {"DocumentIncarnation": 3, "Events": []}
    assert code == 0


def test_replay_at_a_rate_goes_on_after_a_closed_pipe(tmp_path: Path):
    file = written(tmp_path, header(), document(0, 1), document(600, 2, event()), document(1200, 3), end(1200))

    with replayed(str(file), "--rate", "600", "--rate-limit", "0") as (process, _, port, _command):
        leave(process)

        wait_until(lambda: read(port)["DocumentIncarnation"] == 3, "the last document")
        process.send_signal(signal.SIGTERM)

        assert process.wait(60) == 0


def test_damaged_file_is_refused_with_its_line_and_replayed_on_request(tmp_path: Path):
    file = written(tmp_path, header(), document(0, 1), "{half\n", document(9, 2), end(9))

    refused = forewarn("replay", str(file))
    with replayed(str(file), "--skip-damaged", "--virtual") as (process, said, port, _):
        document_told = read(port)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)

    assert refused.code == 1
    assert refused.err.startswith(f"error: {file}:3: the line cannot be read: JSON is malformed")
    assert refused.err.endswith("hint:  Play the rest with --skip-damaged.\n")
    assert said[0] == f"{file}: 2 documents in 9 s"
    assert document_told == {"DocumentIncarnation": 1, "Events": []}
    assert err.startswith(f"warning: {file}:3: the line cannot be read: JSON is malformed")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--rate", "2", "--virtual"), "--rate and --virtual"),
        (("--metadata", "nowhere"), "'nowhere'"),
        (("--rate", "0"), "Invalid value for '--rate'"),
        (("--rate", "nan"), "nan"),
        (("--rate", "1e300"), "1e+300"),
    ],
)
def test_unusable_arguments_of_replay_are_refused(tmp_path: Path, arguments: tuple[str, ...], said: str):
    file = written(tmp_path, header(), document(0, 1))

    ran = forewarn("replay", str(file), *arguments)

    assert ran.code == 2
    assert said in ran.err


def test_busy_port_is_reported(tmp_path: Path):
    file = written(tmp_path, header(), document(0, 1))
    with running() as service:
        taken = f"127.0.0.1:{service.metadata_port}"

        with started("replay", str(file), "--metadata", taken, "--operator", f"127.0.0.1:{free_port()}") as replay:
            _, err = replay.communicate(timeout=60)

    assert replay.returncode == 1
    assert err.startswith("error: ")
    assert taken in err

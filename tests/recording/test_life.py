"""A whole life of a real service, recorded and replayed: a guest sees the same, byte for byte and in order."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from forewarn.recording.file import read_recording
from forewarn.recording.replay import ReplayOptions
from forewarn.wire.imds.versions import EVENTS_VERSIONS
from forewarn.wire.times import rfc1123
from tests.recording.replaying import NEWEST, Life, RunningReplay, event, header, record_a_life, replaying, written
from tests.recording.replaying import document as line
from tests.running import START


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    return record_a_life(tmp_path_factory.mktemp("life") / "life.jsonl")


def step_through(replay: RunningReplay, life: Life, version: str) -> list[tuple[float, bytes]]:
    """What a guest sees at every change, and when."""
    found = [(0.0, replay.guest(version=version).body)]
    for _ in life.seen[1:]:
        now = replay.move(until="next")
        found.append(((now - START).total_seconds(), replay.guest(version=version).body))
    return found


def test_the_life_has_every_kind_of_change(life: Life):
    kinds = {
        (event["EventType"], event["EventStatus"])
        for seen in life.seen
        for event in json.loads(seen.bodies[NEWEST])["Events"]
    }

    assert {kind for kind, _ in kinds} == {"Freeze", "Reboot", "Redeploy", "Preempt"}
    assert {("Freeze", "Started"), ("Reboot", "Started"), ("Preempt", "Started")} <= kinds
    assert len(life.seen) >= 10


def test_recording_has_each_document_unchanged_with_its_time(life: Life):
    recording = read_recording(life.file)

    assert [(each.seconds, each.body) for each in recording.changes] == [
        (each.seconds, each.bodies[NEWEST]) for each in life.seen
    ]
    assert [each.at for each in recording.changes] == [
        START + timedelta(seconds=each.seconds) for each in life.seen
    ]
    assert (recording.header.vm, recording.header.api_version) == ("web-0", NEWEST)
    assert (recording.end, recording.gaps) == (recording.seconds, [])


@pytest.mark.parametrize("version", EVENTS_VERSIONS)
def test_guest_gets_the_same_document_after_the_same_time_in_every_version(life: Life, version: str):
    with replaying(read_recording(life.file)) as replay:
        found = step_through(replay, life, version)

    assert found == [(each.seconds, each.bodies[version]) for each in life.seen]


def test_newest_version_of_an_oldest_recording_has_defaults(
    tmp_path: Path,
):
    life = record_a_life(tmp_path / "old.jsonl", "2017-03-01")
    recording = read_recording(life.file)
    assert b"_web-0" in recording.changes[1].body

    with replaying(recording) as replay:
        replay.move(until="next")
        first = replay.guest(version="2017-03-01").body
        newest = json.loads(replay.guest().body)["Events"][0]

    expected = json.loads(life.seen[1].bodies[NEWEST])["Events"][0]
    guessed = {"Description": "", "EventSource": "Platform", "DurationInSeconds": -1}
    assert first == life.seen[1].bodies["2017-03-01"]
    assert newest == expected | guessed
    assert list(newest) == list(expected)


def test_moved_times_lie_as_far_ahead_as_recorded(life: Life):
    recording = read_recording(life.file)
    start = datetime.fromisoformat("2031-07-01T08:30:00.250000+00:00")

    with replaying(recording, ReplayOptions(start, shifts=True, rate=0.0)) as replay:
        now = replay.move(until="next")
        body = replay.guest().body

    before = life.seen[1]
    (was,) = json.loads(before.bodies[NEWEST])["Events"]
    (is_now,) = json.loads(body)["Events"]
    assert now == start + timedelta(seconds=before.seconds)
    ahead = parsedate_to_datetime(was["NotBefore"]) - START
    assert is_now["NotBefore"] == rfc1123(start + ahead)
    assert body == before.bodies[NEWEST].replace(was["NotBefore"].encode(), is_now["NotBefore"].encode())


@pytest.mark.parametrize(
    ("written_as", "moved"),
    [
        ("Mon, 02 Mar 2026 12:15:00 GMT", "Tue, 03 Mar 2026 12:15:00 GMT"),
        ("2026-03-02T12:15:00Z", "2026-03-03T12:15:00Z"),
        ("", ""),
        ("soon", "soon"),
    ],
)
def test_moved_time_keeps_its_format(tmp_path: Path, written_as: str, moved: str):
    told = event(NotBefore=written_as, Description='not "NotBefore":"Mon, 02 Mar 2026 12:15:00 GMT"')
    recording = read_recording(written(tmp_path, header(), line(0, 1, told)))

    with replaying(recording, ReplayOptions(START + timedelta(days=1), shifts=True, rate=0.0)) as replay:
        (seen,) = json.loads(replay.guest().body)["Events"]

    assert seen == told | {"NotBefore": moved}


def test_the_name_of_the_vm_and_the_date_are_those_of_the_recording(life: Life):
    with replaying(read_recording(life.file)) as replay:
        path = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
        named = replay.guest(path=path)

    assert named.body == b"web-0"
    assert named.headers["date"] == "Mon, 02 Mar 2026 12:00:00 GMT"

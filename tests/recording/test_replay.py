"""A replay: its clock, its answers to approvals and conditions, its gaps."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.errors import ConfigError
from forewarn.operator.server import OperatorServer
from forewarn.recording.file import Recording, read_recording
from forewarn.recording.playback import Playback, Scene, scenes_of
from forewarn.recording.replay import MOST_APPROVALS, Replay, ReplayOptions
from tests.cli.command import forewarn
from tests.recording.replaying import document, end, error, event, header, replaying, written
from tests.running import START

EVENT = str(event()["EventId"])


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """Announced after 10 s, started after 60, gone after 90."""
    return read_recording(
        written(
            tmp_path,
            header(),
            document(0.5, 1),
            document(10.5, 2, event()),
            document(60.5, 3, event(EventStatus="Started", NotBefore="")),
            document(90.5, 4),
            end(100),
        )
    )


class HandMoved:
    """A clock for `Playback` that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def incarnations(shown: list[Scene]) -> list[int]:
    return [scene.page.document.incarnation for scene in shown]


# What is left behind.


def test_only_the_newest_approvals_are_kept(tmp_path: Path):
    ids = [f"A123BC45-1234-5678-AB90-{number:012}" for number in range(100)]
    many = document(0, 1, *(event(EventId=each) for each in ids))
    asked = json.dumps({"StartRequests": [{"EventId": each} for each in ids]}).encode()
    with replaying(read_recording(written(tmp_path, header(), many))) as replay:
        for _ in range(MOST_APPROVALS // len(ids) + 1):
            assert replay.guest("POST", asked).status == 200

        noted = len(replay.operator("GET", "/v1/replay").json["approvals"])
    assert noted == MOST_APPROVALS


def test_busy_operator_port_closes_the_guest_listener(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    async def startup(*_: object, **__: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(OperatorServer, "startup", startup)
    replay = Replay(recording, ReplayOptions(START, shifts=False))

    async def begin() -> None:
        with pytest.raises(OSError, match="no room"):
            await replay.start([("127.0.0.1", 0)], ("127.0.0.1", 0))

    asyncio.run(begin())

    with socket.create_server(replay.metadata[0]):
        pass  # nobody listens there any more


# The clock.


def test_clock_stops_at_the_last_date(recording: Recording):
    clock, shown = HandMoved(), list[Scene]()
    playback = Playback(scenes_of(recording, START, shifts=True), shown.append, 1e6, clock)

    clock.seconds += 1e9

    assert playback.now().year == 9999
    playback.advance(timedelta(days=36600))
    assert playback.now().year == 9999


@pytest.mark.parametrize("rate", [1.0, 60.0, 0.5])
def test_documents_are_due_after_the_recorded_time_divided_by_the_rate(recording: Recording, rate: float):
    clock, shown = HandMoved(), list[Scene]()
    playback = Playback(scenes_of(recording, START, shifts=True), shown.append, rate, clock)

    reached = [incarnations(shown)[-1]]
    for seconds in (9.9, 10, 59.9, 60, 89.9, 90):
        clock.seconds = 1000.0 + seconds / rate
        playback.play(rate)
        reached.append(incarnations(shown)[-1])

    assert reached == [1, 1, 2, 2, 3, 3, 4]
    assert playback.next_at is None


def test_an_advance_shows_every_document_on_the_way_in_order(recording: Recording):
    shown = list[Scene]()
    playback = Playback(scenes_of(recording, START, shifts=True), shown.append, 0.0, HandMoved())

    playback.advance(timedelta(minutes=5))

    assert incarnations(shown) == [1, 2, 3, 4]
    assert playback.now() == START + timedelta(minutes=5)


def test_clock_api_is_that_of_a_service(recording: Recording):
    with replaying(recording) as replay:
        first = replay.operator("GET", "/v1/clock").json
        after_nine = (replay.move(advance_seconds=9), len(replay.guest().json["Events"]))
        at_the_next = (replay.move(until="next"), len(replay.guest().json["Events"]))
        far = replay.operator("GET", "/v1/replay").json
        replay.move(advance_seconds=1000)
        over = replay.operator("GET", "/v1/replay").json

    start = recording.changes[0].at
    assert first == {
        "now": "2026-03-02T12:00:00.500000Z",
        "mode": "virtual",
        "rate": 0.0,
        "next": "2026-03-02T12:00:10.500000Z",
    }
    assert after_nine == (start + timedelta(seconds=9), 0)
    assert at_the_next == (start + timedelta(seconds=10), 1)
    assert far == {"change": 2, "changes": 4, "is_over": False, "approvals": []}
    assert over == {"change": 4, "changes": 4, "is_over": True, "approvals": []}


def test_running_clock_shows_due_documents(recording: Recording):
    with replaying(recording) as replay:
        replay.operator("POST", "/v1/clock", {"rate": 1000})
        tag = replay.guest().headers["etag"]
        for _ in range(4):  # each held until there is something else
            reply = replay.guest(If_None_Match=tag, Prefer="wait=20")
            tag = reply.headers["etag"]
            if reply.json["DocumentIncarnation"] == 4:
                break

    assert reply.json == {"DocumentIncarnation": 4, "Events": []}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "One of advance_seconds, until and rate is needed."),
        ({"advance_seconds": -1}, "advance_seconds is -1; a clock does not run backwards."),
        ({"hours": 1}, "The body cannot be used: it has no member 'hours'."),
    ],
)
def test_invalid_clock_moves_are_refused(recording: Recording, body: object, message: str):
    with replaying(recording) as replay:
        reply = replay.operator("POST", "/v1/clock", body)

    assert reply.status == 400
    assert reply.json["error"]["message"] == message


def test_it_is_ready_and_has_no_other_routes(recording: Recording):
    with replaying(recording) as replay:
        assert replay.operator("GET", "/readyz").json == {"status": "ready"}
        assert replay.operator("GET", "/healthz").status == 200
        assert replay.operator("GET", "/v1/vms").status == 404


def test_service_command_is_refused_by_a_replay(recording: Recording):
    with replaying(recording) as replay:
        code, out, err = forewarn("vm", "list", "--url", f"http://127.0.0.1:{replay.replay.operator[1]}")

    assert (code, out) == (1, "")
    assert "replay" in err
    assert "forewarn clock" in err


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/vms"), ("DELETE", "/v1/clock")], ids=["route", "method"]
)
def test_route_named_in_a_refusal_exists(recording: Recording, method: str, path: str):
    with replaying(recording) as replay:
        hint = replay.operator(method, path).json["error"]["hint"]
        page = replay.operator("GET", "/openapi.json")

    assert hint.startswith("See /openapi.json")
    assert page.status == 200
    assert sorted(page.json["paths"]) == ["/healthz", "/openapi.json", "/readyz", "/v1/clock", "/v1/replay"]


def test_operator_api_listens_on_loopback_only(recording: Recording):
    with (
        pytest.raises(ConfigError, match="loopback only"),
        replaying(recording, operator="0.0.0.0") as replay,
    ):
        pytest.fail(f"it was started at {replay.replay.operator}")


# Guests.


def test_approval_of_an_open_event_is_noted_without_effect(recording: Recording):
    with replaying(recording) as replay:
        replay.move(until="next")
        before = replay.guest().body
        body = json.dumps({"StartRequests": [{"EventId": EVENT.lower()}]}).encode()
        reply = replay.guest("POST", body)
        after = replay.guest().body
        noted = replay.operator("GET", "/v1/replay").json["approvals"]

    assert (reply.status, reply.body) == (200, b"")
    assert after == before
    assert noted == [{"event": EVENT, "at": "2026-03-02T12:00:10.500000Z"}]


@pytest.mark.parametrize("ids", [["x"], [EVENT, "x"]], ids=["alone", "among others"])
def test_approval_of_an_unknown_event_is_refused(recording: Recording, ids: list[str]):
    with replaying(recording) as replay:
        replay.move(until="next")
        reply = replay.guest("POST", json.dumps({"StartRequests": [{"EventId": each} for each in ids]}).encode())

        assert not replay.replay.approvals
    assert reply.status == 400


def test_every_change_has_its_own_tag_and_unchanged_is_304(recording: Recording):
    with replaying(recording) as replay:
        tags = [replay.guest().headers["etag"]]
        same = replay.guest(If_None_Match=tags[0])
        for _ in range(3):
            replay.move(until="next")
            tags.append(replay.guest().headers["etag"])

    assert same.status == 304
    assert len(set(tags)) == 4


def test_the_same_recording_from_the_same_start_has_the_same_tags(recording: Recording):
    with replaying(recording) as replay, replaying(recording) as again:
        assert replay.guest().headers["etag"] == again.guest().headers["etag"]


def test_long_poll_is_answered_at_the_next_change(recording: Recording):
    with replaying(recording) as replay:
        tag = replay.guest().headers["etag"]
        found = []
        waiting = threading.Thread(
            target=lambda: found.append(replay.guest(If_None_Match=tag, Prefer="wait=30").json)
        )
        waiting.start()
        replay.move(until="next")
        waiting.join(60)

    assert found[0]["DocumentIncarnation"] == 2


# Gaps.


def test_document_stays_during_a_gap_and_its_return_is_no_change(tmp_path: Path):
    lines = [document(0, 1), error(10), error(12, "status 500"), document(20, 1), document(30, 2), end(40)]
    recording = read_recording(written(tmp_path, header(), *lines))

    scenes = scenes_of(recording, START, shifts=True)

    assert [(scene.at - START).total_seconds() for scene in scenes] == [0, 30]

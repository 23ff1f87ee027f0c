"""A replay in this process, behind real sockets; and a life that was recorded from a real service."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from forewarn.clock import VirtualClock
from forewarn.recording.endpoint import RecordedEndpoint
from forewarn.recording.file import Recording, RecordingFile
from forewarn.recording.recorder import Recorder
from forewarn.recording.replay import Replay, ReplayOptions
from forewarn.wire.imds.versions import EVENTS_VERSIONS
from tests.running import START, Reply, call, running

EVENTS = "/metadata/scheduledevents"
FLEET: dict[str, Any] = {
    "vms": [{"name": "web-0", "addresses": ["127.0.0.1"], "host": "host-0", "priority": "Spot"}],
    "hosts": [{"name": "host-0"}, {"name": "host-1"}],
}
NEWEST = "2020-07-01"


@dataclass(frozen=True)
class Seen:
    """What a guest was told at one moment, in every version."""

    seconds: float
    bodies: dict[str, bytes]


@dataclass
class Life:
    """What happened while it was recorded."""

    file: Path
    seen: list[Seen] = field(default_factory=list)


def record_a_life(file: Path, version: str = NEWEST) -> Life:
    """On virtual time: a freeze that is approved, a reboot, a redeploy that is called off, an eviction."""
    life = Life(file)
    with running(FLEET) as service, RecordingFile(file) as tape:
        clock = service.service.clock
        assert isinstance(clock, VirtualClock)
        guest = service.guest("web-0")
        source = RecordedEndpoint(f"http://127.0.0.1:{service.metadata_port}", version)
        recorder = Recorder(source, tape, clock)
        recorder.begin()

        def look() -> None:
            recorder.poll()
            bodies = {each: guest.call(path=f"{EVENTS}?api-version={each}").body for each in EVENTS_VERSIONS}
            if not life.seen or life.seen[-1].bodies[NEWEST] != bodies[NEWEST]:
                life.seen.append(Seen(recorder.seconds, bodies))
            service.advance(seconds=0.5)  # no two changes at one instant

        def pass_time(**duration: float) -> None:
            for _ in range(4):
                service.advance(seconds=timedelta(**duration).total_seconds() / 4)
                look()

        look()
        freeze = service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})["events"][0]["id"]
        look()
        service.advance(seconds=40)
        guest.approve(freeze)
        look()
        pass_time(minutes=11)
        service.post("/v1/vms/web-0/restart")
        look()
        pass_time(minutes=20)
        redeploy = service.post("/v1/vms/web-0/redeploy")["event"]["id"]
        look()
        service.post(f"/v1/events/{redeploy}/cancel")
        look()
        service.post("/v1/vms/web-0/evict")
        look()
        pass_time(minutes=2)
        recorder.end()
        source.close()
    return life


class RunningReplay:
    """A replay on ports of its own."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay

    def guest(self, method: str = "GET", body: bytes | None = None, **more: str) -> Reply:
        """One request of a guest."""
        version = more.pop("version", NEWEST)
        path = more.pop("path", f"{EVENTS}?api-version={version}")
        headers = {"Metadata": "true"} | {name.replace("_", "-"): value for name, value in more.items()}
        return call("127.0.0.1", self.replay.metadata[0][1], method, path, body, headers)

    def operator(self, method: str, path: str, body: object = None) -> Reply:
        data = None if body is None else json.dumps(body).encode()
        return call("127.0.0.1", self.replay.operator[1], method, path, data)

    def move(self, **body: object) -> datetime:
        """Move its clock; what it shows then."""
        reply = self.operator("POST", "/v1/clock", body)
        assert reply.status == 200, reply
        return datetime.fromisoformat(reply.json["now"])


@contextmanager
def replaying(
    recording: Recording, manner: ReplayOptions | None = None, operator: str = "127.0.0.1"
) -> Iterator[RunningReplay]:
    """A replay for a block; standing still at the recorded time, unless told otherwise."""
    replay = Replay(recording, manner or ReplayOptions(recording.changes[0].at, shifts=False, rate=0.0))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="replay", daemon=True)
    thread.start()

    def do(act: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(act, loop).result(60)

    try:
        do(replay.start([("127.0.0.1", 0)], (operator, 0)))
        try:
            yield RunningReplay(replay)
        finally:
            do(replay.stop())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def written(folder: Path, *lines: object, name: str = "life.jsonl") -> Path:
    """A recording, line by line; a text is a line as it is."""
    file = folder / name
    file.write_text("".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in lines))
    return file


def header(**more: object) -> dict[str, object]:
    return {
        "forewarn": "recording",
        "format": 1,
        "at": START.isoformat(),
        "api_version": NEWEST,
        "vm": "web-0",
    } | more


def document(seconds: float, incarnation: int, *events: dict[str, object], **more: object) -> dict[str, object]:
    """A line with a document."""
    text = json.dumps({"DocumentIncarnation": incarnation, "Events": list(events)}, separators=(",", ":"))
    at = (START + timedelta(seconds=seconds)).isoformat()
    return {"at": at, "seconds": seconds, "api_version": NEWEST, "document": text} | more


def error(seconds: float, what: str = "timeout") -> dict[str, object]:
    at = (START + timedelta(seconds=seconds)).isoformat()
    return {"at": at, "seconds": seconds, "error": what, "message": "It took too long."}


def end(seconds: float) -> dict[str, object]:
    return {"at": (START + timedelta(seconds=seconds)).isoformat(), "seconds": seconds, "end": True}


def event(**more: object) -> dict[str, object]:
    """A Reboot, announced a quarter of an hour ahead."""
    return {
        "EventId": "A123BC45-1234-5678-AB90-ABCDEF123456",
        "EventStatus": "Scheduled",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-0"],
        "NotBefore": "Mon, 02 Mar 2026 12:15:00 GMT",
        "Description": "Because.",
        "EventSource": "User",
        "DurationInSeconds": -1,
    } | more

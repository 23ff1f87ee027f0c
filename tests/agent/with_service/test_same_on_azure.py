"""The agent against the real service and against a plain imitation of Azure's endpoint: it does the same."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.agent.azure import Azure, azure, event, http_date
from tests.agent.running_command import AGENT, bare
from tests.fleets import SMALL
from tests.running import START, RunningService, running
from tests.waiting import free_port, wait_until
from tools.agent_file import build
from tools.pythons import find_python

VM = "frugal"  # a Spot VM, so that it can be evicted; it stays there, so that it can see the end
FLEET = SMALL | {
    "vms": [each | ({"eviction_policy": "Deallocate"} if each["name"] == VM else {}) for each in SMALL["vms"]]
}
FILE = """
poll_seconds = 0.2
audit_file = "{place}/audit.jsonl"
[[rules]]
types = ["Freeze"]
profile = "pause"
[[rules]]
types = ["Redeploy"]
profile = "careful"
[[rules]]
profile = "drain"

[profiles.pause]
approval = "never"
[[profiles.pause.steps]]
name = "pause"
uses = "command"
command = ["/bin/sh", "-c", "echo $EVENT_TYPE pause >> {place}/notes"]
undo = ["/bin/sh", "-c", "echo $EVENT_TYPE go on >> {place}/notes"]
[[profiles.pause.steps]]
name = "log"
on = "started"
uses = "command"
command = ["/bin/sh", "-c", "echo $EVENT_TYPE started >> {place}/notes"]

[profiles.careful]
approval = "manual"
[[profiles.careful.steps]]
name = "save"
uses = "command"
command = ["/bin/sh", "-c", "echo $EVENT_TYPE save >> {place}/notes"]
undo = ["/bin/sh", "-c", "echo $EVENT_TYPE forget >> {place}/notes"]

[profiles.drain]
approval = "after_success"
[[profiles.drain.steps]]
name = "mail"
uses = "command"
command = ["/bin/sh", "-c", "exit 3"]
retries = 1
retry_pause_seconds = 0.1
on_failure = "continue"
[[profiles.drain.steps]]
name = "drain"
uses = "command"
group = 2
command = ["/bin/sh", "-c", "echo $EVENT_TYPE drain >> {place}/notes"]
undo = ["/bin/sh", "-c", "echo $EVENT_TYPE ready >> {place}/notes"]
[[profiles.drain.steps]]
name = "log"
on = "started"
uses = "command"
command = ["/bin/sh", "-c", "echo $EVENT_TYPE started >> {place}/notes"]
"""


class Platform(Protocol):
    """Somebody who does maintenance, and tells of it."""

    url: str

    def announce(self, kind: str) -> str: ...
    def wait_for_approval(self, event_id: str) -> None: ...
    def reach_not_before(self) -> None: ...
    def finish(self) -> None: ...
    def cancel(self, event_id: str) -> None: ...


class OnForewarn:
    """The real service, on its virtual clock."""

    def __init__(self, service: RunningService) -> None:
        self._service = service
        self.url = f"http://127.0.0.1:{service.metadata_port}"

    def announce(self, kind: str) -> str:
        path, body = {
            "Reboot": (f"/v1/vms/{VM}/restart", {}),
            "Redeploy": (f"/v1/vms/{VM}/redeploy", {}),
            "Preempt": (f"/v1/vms/{VM}/evict", {}),
            "Freeze": ("/v1/hosts/host-1/maintain", {"kind": "Freeze", "duration_seconds": 9}),
        }[kind]
        said = self._service.post(path, body)
        events = [said["event"]] if "event" in said else said["events"]
        self._event = next(each for each in events if VM in json.dumps(each))
        return self._event["id"]

    def wait_for_approval(self, event_id: str) -> None:
        def is_approved() -> bool:
            return self._service.get(f"/v1/events/{event_id}")["phase"] == "Started"

        wait_until(is_approved, "the approval")

    def reach_not_before(self) -> None:
        left = datetime.fromisoformat(self._event["not_before"]) - self._service.now
        self._service.advance(seconds=left.total_seconds() + 1)

    def finish(self) -> None:
        self._service.advance(minutes=10)

    def cancel(self, event_id: str) -> None:
        self._service.post(f"/v1/events/{event_id}/cancel", {})


class OnAzure:
    """The imitation, which knows neither tags nor held questions; its clock is put by hand."""

    def __init__(self, endpoint: Azure) -> None:
        self._endpoint = endpoint
        self._now = START
        endpoint.now = lambda: self._now
        self.url = endpoint.url
        self._number = 0

    def announce(self, kind: str) -> str:
        self._number += 1
        self._id = f"E{self._number}"
        self._notice = timedelta(seconds=30) if kind == "Preempt" else timedelta(minutes=15)
        due = http_date(self._now + self._notice)
        self._endpoint.show(event(self._id, EventType=kind, Resources=[VM], NotBefore=due))
        return self._id

    def wait_for_approval(self, event_id: str) -> None:
        wait_until(lambda: event_id in self._endpoint.approved, "the approval")
        self._endpoint.start(event_id)

    def reach_not_before(self) -> None:
        self._now += self._notice + timedelta(seconds=1)
        self._endpoint.start(self._id)

    def finish(self) -> None:
        self._now += timedelta(minutes=10)
        self._endpoint.show()

    def cancel(self, event_id: str) -> None:
        self._endpoint.show()


@contextmanager
def agent(url: str, place: Path, program: Sequence[str]) -> Iterator[None]:
    """A real one, for the length of a block."""
    place.mkdir()
    (place / "agent.toml").write_text(FILE.replace("{place}", str(place)))
    where = ("--config", str(place / "agent.toml"), "--state-dir", str(place / "state"), "--endpoint", url)
    with (place / "log").open("wb") as log:
        command = [*program, "run", *where, "--listen", f"127.0.0.1:{free_port()}"]
        process = subprocess.Popen(command, env=bare(), stderr=log)
    try:
        yield
        assert process.poll() is None, (place / "log").read_text()
    finally:
        process.terminate()
        process.wait(60)


def live_through(platform: Platform, place: Path, program: Sequence[str] = AGENT) -> dict[str, Any]:
    """The same events on any platform: what the agent did, in order, and what it put on record."""

    def has(*notes: str) -> Callable[[], bool]:
        return lambda: (place / "notes").exists() and set(notes) <= set((place / "notes").read_text().splitlines())

    def wait_for_records(count: int) -> None:
        file = place / "audit.jsonl"
        wait_until(lambda: file.exists() and len(file.read_text().splitlines()) == count, f"{count} records")

    with agent(platform.url, place, program):
        wait_until(lambda: b"this VM is" in (place / "log").read_bytes(), "the VM's name")
        rebooted = platform.announce("Reboot")
        platform.wait_for_approval(rebooted)
        wait_until(has("Reboot started"), "its start to be seen")
        platform.finish()
        wait_for_records(1)

        platform.announce("Freeze")
        wait_until(has("Freeze pause"), "its preparation")
        platform.reach_not_before()
        wait_until(has("Freeze started"), "its start to be seen")
        platform.finish()
        wait_for_records(2)

        redeployed = platform.announce("Redeploy")
        wait_until(has("Redeploy save"), "its preparation")
        platform.cancel(redeployed)
        wait_for_records(3)

        evicted = platform.announce("Preempt")
        platform.wait_for_approval(evicted)
        wait_until(has("Preempt started"), "its start to be seen")
        platform.finish()
        wait_for_records(4)
    records = [json.loads(line) for line in (place / "audit.jsonl").read_text().splitlines()]
    return {"notes": (place / "notes").read_text().splitlines(), "records": [essence_of(each) for each in records]}


def essence_of(record: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on names and instants."""
    kept = ("type", "resources", "vm", "profile", "why", "approval", "approved_by", "approval_tries", "ending")
    steps = [[each[key] for key in ("step", "direction", "outcome", "tries", "note")] for each in record["steps"]]
    return {key: record[key] for key in kept} | {"steps": steps, "is_all_well": record["is_all_well"]}


def test_the_agent_does_the_same_on_azure_and_with_forewarn(tmp_path: Path):
    with running(FLEET, guest=VM) as service:
        with_forewarn = live_through(OnForewarn(service), tmp_path / "forewarn")
    with azure(VM) as endpoint:
        on_azure = live_through(OnAzure(endpoint), tmp_path / "azure")

    assert on_azure == with_forewarn
    assert [each["approval"] for each in on_azure["records"]] == ["given", "none", "none", "given"]
    assert [each["ending"] for each in on_azure["records"]] == ["finished", "finished", "cancelled", "finished"]
    assert on_azure["notes"] == [
        *("Reboot drain", "Reboot started", "Reboot ready"),
        *("Freeze pause", "Freeze started", "Freeze go on"),
        *("Redeploy save", "Redeploy forget"),
        *("Preempt drain", "Preempt started", "Preempt ready"),
    ]


@pytest.mark.system
@pytest.mark.parametrize("version", ["3.9", "3.13"])
def test_the_one_file_does_the_same_on_the_oldest_and_the_newest_python(version: str, tmp_path: Path):
    build(tmp_path / "agent.pyz")
    program = (str(find_python(version)), "-I", "-S", str(tmp_path / "agent.pyz"))

    with running(FLEET, guest=VM) as service:
        there = live_through(OnForewarn(service), tmp_path / "there", program)
    with azure(VM) as endpoint:
        here = live_through(OnAzure(endpoint), tmp_path / "here")

    assert there == here

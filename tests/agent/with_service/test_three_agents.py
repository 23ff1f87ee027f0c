"""Three agents in one event of the real service: one approval, and only when all three are ready."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent.case import Consent
from tests.agent.mortal_agent import Orders, Process, mortal
from tests.agent.shell import until_there
from tests.running import RunningService, call, running
from tests.waiting import free_port, wait_until

NAMES = ("web-0", "web-1", "web-2")


@dataclass
class Trio:
    """A host with three VMs, each with its agent."""

    service: RunningService
    place: Path
    ports: dict[str, int]  # of the endpoint for each, and of the leader
    agents: dict[str, Process]
    start: Callable[[str], Process]

    def notes(self) -> set[str]:
        path = self.place / "notes"
        return set(path.read_text().split()) if path.exists() else set()

    def let(self, *names: str) -> None:
        """Let the preparation of some succeed."""
        for name in names:
            (self.place / f"{name} may").touch()

    def approvals(self) -> list[Any]:
        return [each for each in self.service.get("/v1/audit")["audit"] if each["verb"] == "approve"]

    def event(self) -> dict[str, Any]:
        [event] = self.service.get("/v1/events")["events"]
        return event

    def wait_until_the_leader_waits_for(self, words: str) -> None:
        def is_so() -> bool:
            reply = call("127.0.0.1", self.ports["leader"], "GET", "/events")
            return any(words in event["waiting_for"] for event in reply.json["events"])

        wait_until(is_so, f"the leader to wait for {words}")

    def wait_until_all_have_said(self, *names: str) -> None:
        for name in names:
            wait_until(lambda name=name: "this VM is" in self.agents[name].log.read_text(), f"the agent of {name}")


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[Trio]:
    ports = {name: free_port() for name in NAMES}
    peers = {name: free_port() for name in NAMES}
    fleet = {
        "hosts": [{"name": "host-0"}, {"name": "host-1"}],
        "availability_sets": [{"name": "web", "update_domains": 1}],
        "vms": [
            {"name": name, "host": "host-0", "availability_set": "web", "port": port}
            for name, port in ports.items()
        ],
    }
    ports["leader"] = free_port()
    with running(fleet, clock="system") as service, ExitStack() as at_the_end:

        def start(name: str) -> Process:
            place = tmp_path / name
            place.mkdir(exist_ok=True)
            script = f"{until_there(tmp_path / f'{name} may')}; echo {name} >> {tmp_path}/notes"
            orders = Orders(
                f"http://127.0.0.1:{ports[name]}",
                str(place / "state"),
                ({"name": "drain", "options": {"command": ["/bin/sh", "-c", script]}, "has_undo": False},),
                profile={"together": "leader"},
                port=ports["leader"] if name == NAMES[0] else 0,
                peers={
                    "listen": ["127.0.0.1", peers[name]],
                    "secret": "all for one",
                    "members": {each: f"127.0.0.1:{port}" for each, port in peers.items()},
                    "expiry_seconds": 1.5,
                },
            )
            return at_the_end.enter_context(mortal(orders))

        yield Trio(service, tmp_path, ports, {name: start(name) for name in NAMES}, start)


def maintain(trio: Trio) -> str:
    trio.wait_until_all_have_said(*NAMES)
    trio.service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze", "duration_seconds": 5})
    event = trio.event()
    assert tuple(event["resources"]) == NAMES
    return event["id"]


def test_one_of_three_agents_approves_and_only_when_all_three_are_ready(trio: Trio):
    maintain(trio)
    trio.let("web-0", "web-1")
    trio.agents["web-0"].wait_for(lambda case: case.prepared_at is not None, "the leader's preparation")
    trio.agents["web-1"].wait_for(lambda case: case.prepared_at is not None, "the second's preparation")
    wait_until(lambda: "Freeze" in trio.agents["web-2"].log.read_text(), "the third to have seen it")
    with_two = trio.approvals()

    trio.let("web-2")
    trio.agents["web-0"].wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")
    wait_until(lambda: trio.event()["phase"] != "Scheduled", "the start")

    assert with_two == []
    assert trio.notes() == set(NAMES)
    assert [each["actor"] for each in trio.approvals()] == ["web-0"]
    for name in ("web-1", "web-2"):
        assert all(case.consent is Consent.NONE for case in trio.agents[name].cases())


def test_a_leader_that_is_killed_before_all_are_ready_never_approves_and_nobody_else_does(trio: Trio):
    maintain(trio)
    trio.let("web-0", "web-1")
    trio.agents["web-0"].wait_for(lambda case: case.prepared_at is not None, "the leader's preparation")

    trio.agents["web-0"].kill()
    trio.let("web-2")
    trio.agents["web-2"].wait_for(lambda case: case.prepared_at is not None, "the third's preparation")
    wait_until(lambda: "the leader was not told" in trio.agents["web-2"].log.read_text(), "it to find nobody")

    assert trio.approvals() == []
    assert trio.event()["phase"] == "Scheduled"


def test_the_word_of_an_agent_that_died_does_not_count(trio: Trio):
    maintain(trio)
    trio.let("web-0", "web-1")
    trio.wait_until_the_leader_waits_for("web-2 to be ready")
    trio.agents["web-1"].kill()
    trio.wait_until_the_leader_waits_for("web-1, web-2 to be ready")
    trio.let("web-2")
    trio.wait_until_the_leader_waits_for("web-1 to be ready")
    without = trio.approvals()

    trio.agents["web-1"] = trio.start("web-1")
    trio.agents["web-0"].wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert without == []
    assert [each["actor"] for each in trio.approvals()] == ["web-0"]

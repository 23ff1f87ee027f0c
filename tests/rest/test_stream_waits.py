"""The stream tells what open events and rollouts wait for, when that changes and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from forewarn.core.phase import Phase
from forewarn.operator.waits import Waits
from tests.control.bench import WEB, Bench
from tests.fleets import SMALL
from tests.rest.test_stream import Listener
from tests.rollouts.bench import grid
from tests.running import RunningService, running, wait_until


@pytest.fixture
def rolling() -> Iterator[RunningService]:
    """A service with two sets, each over three update domains, one of which has a minimum."""
    fleet = grid(sets=2, domains=3, hosts_per_domain=2)
    fleet["availability_sets"][1]["min_available"] = 5
    fleet["hosts"].append({"name": "aside"})
    fleet["vms"].append({"name": "mark", "host": "aside"})
    with running(fleet) as service:
        yield service


def all_told(service: RunningService, listener: Listener) -> None:
    """Wait until everything so far has been heard: what comes after it has."""
    before = len(listener.objects_of("operation.scheduled"))
    service.post("/v1/hosts/aside/maintain", {"kind": "Freeze", "notice_seconds": 864_000})
    wait_until(lambda: len(listener.objects_of("operation.scheduled")) > before, "what comes last")
    listener.close()


def waits_of(listener: Listener, name: str) -> list[list[str]]:
    return [each["waiting_for"] for each in listener.objects_of(name)]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"hosts": ["host-0-0", "host-1-0"]}, "to recover until"),
        ({"hosts": ["host-0-0", "host-1-0"], "soak_seconds": 3600}, "the soak of the last wave to end at"),
        ({"hosts": ["host-0-0", "host-0-1"]}, "set1 to have 6 available"),
        (
            {"hosts": ["host-0-0", "host-0-1"], "max_parallel": 1, "window": {"from": "12:00", "to": "12:16"}},
            "the window, which opens Tue 2026-03-03 12:00:00Z",
        ),
    ],
    ids=["recovery", "soak", "minimum", "window"],
)
def test_a_rollout_that_begins_to_wait_is_told(rolling: RunningService, asked: dict[str, Any], words: str):
    listener = Listener(rolling)
    rolling.post("/v1/rollouts", {"kind": "Freeze", **asked})
    rolling.advance(minutes=16)
    all_told(rolling, listener)

    told = waits_of(listener, "rollout.running")
    assert any(words in each for waits in told for each in waits), told
    assert rolling.get("/v1/rollouts")["rollouts"][0]["waiting_for"] == told[-1]


def test_an_unhealthy_wave_is_told_when_time_alone_has_made_it_matter():
    fleet = grid(domains=2)
    fleet["availability_sets"][0]["health_check"] = "nobody-has-named-it"
    with running(fleet) as service:
        listener = Listener(service)
        rollout = service.post("/v1/rollouts", {"kind": "Freeze", "soak_seconds": 60})["id"]
        service.advance(minutes=17)  # nothing is committed when the soak ends
        wait_until(lambda: "to be healthy" in str(waits_of(listener, "rollout.running")[-1:]), "its words")
        service.advance(minutes=5)  # and it is looked at every few seconds
        service.post(f"/v1/rollouts/{rollout}/pause")
        wait_until(lambda: "rollout.paused" in listener.names, "what comes last")
        listener.close()

    told = [waits for waits in waits_of(listener, "rollout.running") if "to be healthy" in str(waits)]
    assert len(told) == 1


def test_a_scope_that_comes_on_changes_what_its_events_wait_for_and_they_are_told():
    with running(SMALL) as service:
        service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})
        listener = Listener(service)
        service.guest("solo").document()
        wait_until(lambda: len(listener.objects_of("event.scheduled")) >= 2, "both events")
        listener.close()

    assert waits_of(listener, "event.scheduled") == [["approval from solo (scope solo) until 12:15:00Z"]] * 2
    assert {each["scope"] for each in listener.objects_of("event.scheduled")} == {"web", "solo"}
    assert waits_of(listener, "operation.scheduled") == [["approval from solo (scope solo) until 12:15:00Z"]]


def test_words_that_stand_are_told_once_however_often_they_are_looked_at(rolling: RunningService):
    listener = Listener(rolling)
    rolling.post("/v1/hosts/host-0-0/maintain", {"kind": "Freeze", "notice_seconds": 108_000})
    for _ in range(3):  # past midnight: the day of its NotBefore is not written any more
        rolling.advance(hours=7)
        rolling.post("/v1/vms/vm0-0-1/stop")  # a neighbour, for whose sake it is looked at
        rolling.advance(minutes=1)
        rolling.post("/v1/vms/vm0-0-1/start")
    all_told(rolling, listener)

    told = [each for each in listener.objects_of("event.scheduled") if "vm0-0-0" in each["resources"]]
    assert [each["waiting_for"] for each in told] == [
        [
            "the notice to end at 2026-03-03 18:00:00Z (scope set0 is off, nobody there can approve)",
            "the notice to end at 2026-03-03 18:00:00Z (scope set1 is off, nobody there can approve)",
        ]
    ]


# What it costs.


def looked_at(bench: Bench) -> Iterator[set[str]]:
    """What the plane looks at, tick by tick."""
    seen: list[set[str]] = []
    bench.plane.ticked.subscribe(lambda looked: seen.append(set(looked)))
    while True:
        bench.plane.tick()
        yield set().union(*seen)
        seen.clear()


def test_only_what_a_commit_concerns_is_looked_at():
    bench = Bench(WEB)
    freeze, other = bench.maintain("host-0"), bench.maintain("host-1")
    ticks = looked_at(bench)
    assert next(ticks) == set()

    bench.turn_on("solo")

    assert next(ticks) == {bench.operation(freeze).id}
    assert bench.operation(other).phase is Phase.SCHEDULED


def test_there_is_a_share_of_time_for_comparing_and_what_is_left_comes_later():
    bench = Bench(WEB)
    now = 0.0
    waits = Waits(bench.plane, lambda: now)
    freeze, other = bench.operation(bench.maintain("host-0")), bench.operation(bench.maintain("host-1"))

    told = []
    for each in waits.changed([freeze.id, other.id]):
        told.append(each.id)
        now += 1.0  # it takes that long to tell
    assert freeze.id in told
    assert other.id not in told
    assert not list(waits.changed([]))
    now += 60.0
    assert other.id in [each.id for each in waits.changed([])]


def test_where_nobody_listens_nothing_is_kept():
    with running(SMALL) as service:
        listener = Listener(service)
        service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})
        wait_until(lambda: "operation.scheduled" in listener.names, "the work to be told")
        kept = dict(service.service._stream._waits._told)
        listener.close()
        wait_until(lambda: not service.service._stream._listeners, "it to be forgotten")
        service.post("/v1/hosts/host-1/maintain", {"kind": "Freeze"})

        assert kept
        assert not service.service._stream._waits._told

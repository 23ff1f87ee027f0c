"""What went wrong with drains, maintenances and rollouts of others, and does not here.

Every row of docs/explanation/bugs-of-others.md that could happen in our design has its test in this file, or in
test_known_bugs_of_moves.py where it is about which machine comes up where.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
import sqlalchemy as sa

from forewarn.control.commands.events import approve_event, cancel_operation
from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commands.hosts import recover_host
from forewarn.control.commands.rollouts import resume_rollout
from forewarn.core.refusal import Refusal
from forewarn.core.rollout import RolloutState
from forewarn.core.terms import Cause, Kind, Risk, VmState
from forewarn.drivers.machines import Trouble
from forewarn.store.tables import deeds
from forewarn.wire.fleet_file import read_json
from tests.control.bench import NOON, Answering, Bench, fleet, vm
from tests.edge.wire import EVENTS, Wire
from tests.rollouts.bench import RolloutBench, grid, minutes
from tests.running import RunningService

SOLO = "127.0.2.1"  # the address of another guest than who asks


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def is_quiet(bench: Bench) -> bool:
    """Whether nothing is announced and nothing is at work."""
    return not bench.plane.world.operations and not bench.plane.world.events


def test_work_that_was_called_off_does_not_come_again():
    """KubeVirt #5177, #9585: a drain was called off, yet its eviction stood and migrations were made on."""
    bench = RolloutBench(grid(domains=2, hosts_per_domain=2))
    bench.machines.order("vm0-0-0", Trouble.FAILS)
    rollout = bench.roll(Kind.REDEPLOY, max_parallel=1)
    move = bench.degrade("host-1-1", Risk.LOW)
    assert bench.run(rollout).state is RolloutState.PAUSED

    bench.abort(rollout)
    assert not isinstance(recover_host(bench.plane, "host-1-1", "operator"), Refusal)
    bench.start_plane()
    bench.advance(days=10)

    assert bench.phases(move) == ["Cancelled"]
    assert [effect.vm for effect in bench.machines.ledger()] == ["vm0-0-0"]
    assert is_quiet(bench)


def test_a_rollout_keeps_to_its_limit_and_starves_no_other_work():
    """KubeVirt PR 8701: an evacuation went beyond the limit of its node and filled the queue of all others."""
    bench = RolloutBench(grid(domains=1, hosts_per_domain=10))
    big = bench.roll(Kind.REBOOT, hosts=tuple(f"host-0-{n}" for n in range(8)), max_parallel=2)
    small = bench.roll(Kind.FREEZE, hosts=("host-0-8",))
    move = bench.degrade("host-0-9", Risk.IMMINENT)
    restart = bench.ask(Cause.RESTART, "vm0-0-7")
    at_once = set()
    for look in range(300):
        bench.advance(seconds=20)
        if look == 45:
            assert len(bench.started(big)) == 2
            bench.pause(big)
            bench.resume(big)
        at_once.add(sum(each.rollout == big for each in bench.plane.world.operations.values()))

    assert bench.rollout(big).state is RolloutState.COMPLETED
    assert max(at_once) == 2
    assert bench.ended(small)["host-0-8"] < NOON + minutes(16)
    assert bench.operation(move).ended_at < NOON + minutes(13)
    assert bench.operation(restart).ended_at < NOON + minutes(2)
    assert list(bench.effects("vm0-0-7")) == ["reboot", "reboot"]


def test_fifty_hosts_whose_work_hangs_do_not_delay_another():
    """node-maintenance-operator #151, PR 152: each of 50 maintenances blocked the loop, so the last came late."""
    bench = Bench(fleet(*(vm(f"vm-{n}", f"host-{n}") for n in range(51)), hosts=51))
    for number in range(50):
        bench.machines.order(f"vm-{number}", Trouble.HANGS)

    works = [bench.maintain(f"host-{number}", Kind.REBOOT) for number in range(51)]
    bench.advance(hours=1)

    began = NOON + minutes(15) + bench.limits.lead
    assert bench.operation(works[50]).ended_at == began + seconds(60)
    assert {bench.operation(each).ended_at for each in works[:50]} == {began + bench.limits.action_limit}


def test_a_rollout_has_a_plan_a_progress_and_a_reason_and_takes_note_of_what_has_changed():
    """Kubernetes #138998, enhancements #4212: asked for are plan, preview, progress, what blocks it, drift."""
    described = grid(domains=3)
    described["hosts"] += [{"name": "empty", "zone": "2"}]
    bench = RolloutBench(described)
    plan = bench.preview()
    assert is_quiet(bench)
    rollout = bench.roll()
    bench.advance(minutes=20)

    changed = {**described, "hosts": described["hosts"][:-1], "vms": [*described["vms"], vm("new", "host-1-0")]}
    apply_fleet(bench.plane, read_json(changed).spec, "operator")
    states, waits = bench.states(rollout), bench.waits(rollout)
    bench.run(rollout)

    assert [row.stop.host.name for row in plan.rows] == list(states)
    assert list(states.values()) == ["Done", "Waiting", "Waiting", "Waiting"]
    assert waits == ["update domain 0 of set0 to recover until 12:45:14Z (host-1-0 is announced at 12:30:14Z)"]
    assert bench.turns(rollout)["empty"].reason == "empty is gone"
    assert bench.turns(rollout)["host-1-0"].touched == ("vm0-1-0", "new")


def test_work_that_does_not_end_is_over_at_its_limit_and_no_later_than_was_said():
    """Nomad #9902: a drain with a deadline of 10 s lasted 8 min, because the kill timeout of the task ran on."""
    bench = RolloutBench(fleet(vm("solo"), hosts=1))
    bench.machines.order("solo", Trouble.HANGS)
    plan = bench.preview(Kind.REBOOT)
    rollout = bench.roll(Kind.REBOOT)

    bench.run(rollout)

    over = bench.ended(rollout)["host-0"]
    assert over == NOON + minutes(15) + bench.limits.lead + bench.limits.action_limit
    assert over <= plan.rows[0].latest_end
    assert bench.turns(rollout)["host-0"].reason == "solo: no outcome after 1800 s"
    assert is_quiet(bench)


def test_a_host_is_done_only_when_each_of_its_vms_is():
    """Harvester #2723: a node was said to be in maintenance, and had not been drained."""
    bench = RolloutBench(fleet(*(vm(f"vm-{n}", f"host-{n % 2}") for n in range(6))))
    bench.machines.order("vm-2", Trouble.FAILS)

    rollout = bench.roll(Kind.REDEPLOY, hosts=("host-0", "host-1"), max_failures=1)
    bench.run(rollout)

    assert bench.states(rollout) == {"host-0": "Failed", "host-1": "Done"}
    assert bench.rollout(rollout).state is RolloutState.FAILED
    assert bench.turns(rollout)["host-0"].reason == "vm-2: the redeploy failed, as it was ordered to"
    assert [each.name for each in bench.plane.world.vms_on("host-0")] == ["vm-2"]
    assert not list(bench.plane.world.vms_on("host-1"))


def befall(bench: RolloutBench, rollout: str, what: str) -> None:
    """Let something happen to host-0-0, which holds vm0-0-0."""
    match what:
        case "its VM is stopped":
            bench.ask(Cause.STOP, "vm0-0-0")
        case "its VM is deleted":
            bench.ask(Cause.DELETE, "vm0-0-0")
        case "its VM is evicted":
            bench.evict("vm0-0-0")
        case "it fails":
            bench.fail("host-0-0")
        case "it degrades":
            bench.degrade("host-0-0", Risk.IMMINENT)
        case "its event is cancelled":
            cancel_operation(bench.plane, bench.turns(rollout)["host-0-0"].operation or "", "operator")
        case _:
            bench.machines.order("vm0-0-0", Trouble(what))


@pytest.mark.parametrize("after", [minutes(5), minutes(15) + seconds(2), minutes(15) + seconds(30)], ids=str)
@pytest.mark.parametrize(
    "what",
    [
        *Trouble,
        "its VM is stopped",
        "its VM is deleted",
        "its VM is evicted",
        "it fails",
        "it degrades",
        "its event is cancelled",
    ],
)
def test_a_rollout_ends_whatever_becomes_of_a_host_and_whenever(what: str, after: timedelta):
    """CloudStack PR 3425: hosts stayed in PrepareForMaintenance for ever, as states had been forgotten."""
    described = grid(domains=2, hosts_per_domain=2)
    for each in described["vms"]:
        each["priority"] = "Spot"
    bench = RolloutBench(described)
    rollout = bench.roll(Kind.REBOOT, max_failures=4, max_unhealthy_percent=100)

    bench.timekeeper.advance(after)
    befall(bench, rollout, what)
    bench.advance(hours=2)
    if "vm0-0-0" in bench.plane.world.vms and bench.vm("vm0-0-0").state is VmState.DOWN:
        waits = "update domain 0 of set0, which is down until vm0-0-0 is running again"
        assert waits in bench.waits(rollout)[0]
        bench.ask(Cause.RESTART, "vm0-0-0")
    over = bench.run(rollout, most=timedelta(hours=4))

    assert not over.state.is_open
    assert set(bench.states(rollout).values()) <= {"Done", "Failed", "Skipped"}
    bench.advance(minutes=30)
    assert is_quiet(bench)


def test_work_that_is_stuck_says_why_and_who_helps_it_on_is_written_down():
    """Service Fabric: repairs stay in Preparing for want of capacity or of one check, and do not say which."""
    bench = RolloutBench(grid(domains=2))
    bench.turn_on("vm0-0-0")
    rollout = bench.roll(Kind.REBOOT)
    bench.health = Answering(lambda name, _: f"the health check of {name} answered 503")
    (event,) = bench.plane.world.events.values()

    assert bench.waits(rollout) == ["host-0-0: approval from vm0-0-0 (scope set0) until 12:15:00Z"]
    assert not isinstance(approve_event(bench.plane, event.id, "ann"), Refusal)
    bench.advance(minutes=5)
    assert bench.waits(rollout) == [
        "the last wave to be healthy, until 12:11:05Z: the health check of set0 answered 503"
    ]
    bench.run(rollout)
    assert "the health check of set0 answered 503" in bench.waits(rollout)[0]
    assert not isinstance(resume_rollout(bench.plane, rollout, "ben", anyway=True), Refusal)
    bench.run(rollout)

    assert bench.rollout(rollout).state is RolloutState.COMPLETED
    with bench.store.transaction() as transaction:
        written = transaction.connection.execute(sa.select(deeds.c.verb, deeds.c.actor, deeds.c.detail)).all()
    assert ("approve", "ann", "") in written
    assert ("resume rollout", "ben", "anyway") in written


def test_one_host_at_a_time_outlives_restarts_and_a_health_check_lets_it_go_on():
    """Redpanda PR 3932: one node at a time, persistent; a drain that cannot end is left to an outside judge."""
    bench = RolloutBench(grid(domains=2, hosts_per_domain=2))
    bench.health = Answering(lambda name, _: f"the health check of {name} answered 503")
    rollout = bench.roll(Kind.REBOOT, max_parallel=1, health_wait=timedelta(days=1))
    at_once = set()
    for _ in range(40):
        bench.advance(minutes=2)
        bench.start_plane()
        at_once.add(len(bench.plane.world.operations))
    held = bench.states(rollout)

    bench.health = Answering(lambda *_: None)
    bench.run(rollout)

    assert at_once == {0, 1}
    assert list(held.values()) == ["Done", "Done", "Waiting", "Waiting"]
    assert bench.rollout(rollout).state is RolloutState.COMPLETED


@pytest.mark.parametrize("headers", [[SOLO], ["10.0.0.9", SOLO], [f"10.0.0.9, {SOLO}"]], ids=str)
def test_no_header_changes_who_is_asking(service: RunningService, headers: list[str]):
    """rcbops chef-cookbooks #954: behind a load balancer a second X-Forwarded-For spoilt who the VM is."""
    solo, web = service.guest("solo"), service.guest("web-0")
    assert solo.document()["Events"] == web.document()["Events"] == []
    service.post("/v1/vms/solo/restart")
    forwarded = "".join(f"X-Forwarded-For: {value}\r\n" for value in headers)
    named = f"X-Instance-ID: solo\r\nX-Real-IP: {SOLO}\r\nForwarded: for={SOLO}\r\n"

    answers = []
    for extra in (forwarded, named):
        with Wire(service, "web-0") as wire:
            wire.send(f"GET {EVENTS} HTTP/1.1\r\nHost: localhost\r\nMetadata: true\r\n{extra}\r\n".encode())
            answers.append(wire.receive())

    assert solo.address == SOLO
    assert solo.events()[0]["Resources"] == ["solo"]
    assert [status for status, _, _ in answers] == [400, 200]
    assert json.loads(answers[1][2])["Events"] == []

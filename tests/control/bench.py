"""A plane on a workbench: real store, board and driver, a virtual clock, no threads and no sockets."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from forewarn.board.board import Board
from forewarn.clock import VirtualClock
from forewarn.control.commands.events import postpone_event
from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commands.guests import approve_as_guest, first_poll
from forewarn.control.commands.hosts import degrade_host, fail_host, maintain_host, reclaim_capacity
from forewarn.control.commands.vms import act_on_vm, evict_vm
from forewarn.control.commit import Accepted, refusal_of
from forewarn.control.health import HealthSource, NoHealthChecks
from forewarn.control.plane import ControlPlane
from forewarn.control.push.outbox import Outbox
from forewarn.control.timekeeper import Timekeeper
from forewarn.core.event import Event
from forewarn.core.fleet import Vm
from forewarn.core.health import Answers
from forewarn.core.holds import holds
from forewarn.core.notice import Limits
from forewarn.core.operation import Operation
from forewarn.core.refusal import Refusal
from forewarn.core.requests.degraded import Degradation
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.requests.postpone import Postponement
from forewarn.core.terms import Cause, Kind, Risk
from forewarn.drivers.base import Driver
from forewarn.drivers.machines import Machines
from forewarn.drivers.simulated import SimulatedDriver
from forewarn.store import history
from forewarn.store.sql import SqlStore
from forewarn.store.tables import deeds
from forewarn.wire.fleet_file import read_json

NOON = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)


def _close(store: SqlStore, machines: Machines) -> None:
    store.close()
    machines.close()


class Answering:
    """Health checks that have answered, as a test says."""

    def __init__(self, answer: Answers) -> None:
        self.answer = answer

    def ask(self, wanted: Mapping[str, datetime]) -> None:
        """Nobody needs to be asked."""


class _HealthOf:
    """The health that a bench has at the moment."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def ask(self, wanted: Mapping[str, datetime]) -> None:
        self._bench.health.ask(wanted)

    def answer(self, set_name: str, since: datetime) -> str | None:
        return self._bench.health.answer(set_name, since)


class Bench:
    """A plane, and everything that a test wants to do to it."""

    def __init__(
        self,
        fleet: dict[str, Any],
        limits: Limits | None = None,
        wrap: Callable[[SimulatedDriver], Driver] = lambda driver: driver,
        outbox: Outbox | None = None,
    ) -> None:
        self.outbox = outbox
        self.clock = VirtualClock(NOON)
        self.store = SqlStore("sqlite://")
        self.machines = Machines.open()
        weakref.finalize(self, _close, self.store, self.machines)
        self.driver = wrap(SimulatedDriver(self.machines, self.clock))
        self.limits = limits or Limits()
        self.health: HealthSource = NoHealthChecks()  # of sets
        self._ids = iter(range(1, 10**6))
        self.start_plane()
        problems = apply_fleet(self.plane, read_json(fleet).spec, "test")
        assert all(isinstance(line, str) for line in problems), problems

    def start_plane(self) -> None:
        """A plane on the store, as after a restart."""
        self.plane = ControlPlane(
            store=self.store,
            driver=self.driver,
            board=Board(),
            clock=self.clock,
            limits=self.limits,
            new_id=lambda: str(uuid.UUID(int=next(self._ids), version=4)),
            health=_HealthOf(self),
            outbox=self.outbox,
        )
        self.plane.open()
        self.timekeeper = Timekeeper(self.plane, self.clock)
        self.plane.tick()

    # Guests.

    def turn_on(self, *vms: str) -> None:
        """These guests have polled."""
        for vm in vms:
            assert not isinstance(first_poll(self.plane, vm), Refusal)

    def approve(self, vm: str, *events: Event) -> Refusal | None:
        outcome = approve_as_guest(self.plane, vm, [event.id for event in events])
        self.plane.tick()
        return refusal_of(outcome)

    # Owners and operators.

    def ask(self, cause: Cause, vm: str) -> Accepted | Refusal:
        outcome = act_on_vm(self.plane, cause, vm, "owner")
        self.plane.tick()
        return outcome

    def evict(self, vm: str) -> Accepted | Refusal:
        outcome = evict_vm(self.plane, vm, "operator")
        self.plane.tick()
        return outcome

    def maintain(self, host: str, kind: Kind = Kind.FREEZE, **more: Any) -> Accepted | Refusal:
        outcome = maintain_host(self.plane, host, Maintenance(kind, **more), "operator")
        self.plane.tick()
        return outcome

    def degrade(
        self, host: str, risk: Risk | None = None, *, anyway: bool = False, **notice: float
    ) -> Accepted | Refusal:
        asked = Degradation(timedelta(**notice) if notice else None, risk, anyway=anyway)
        outcome = degrade_host(self.plane, host, asked, "operator")
        self.plane.tick()
        return outcome

    def fail(self, host: str, kind: Kind | None = None) -> Accepted | Refusal:
        outcome = fail_host(self.plane, host, "operator", kind)
        self.plane.tick()
        return outcome

    def reclaim(self, host: str, count: int) -> list[Accepted] | Refusal:
        outcome = reclaim_capacity(self.plane, host, count, "operator")
        self.plane.tick()
        return outcome

    def postpone(
        self, event: Event, until: datetime | None = None, *, reason: str = "", by: str = "owner", **later: float
    ) -> Refusal | None:
        asked = Postponement(until, timedelta(**later) if later else None, reason)
        outcome = postpone_event(self.plane, event.id, asked, by)
        self.plane.tick()
        return refusal_of(outcome)

    # Time.

    def advance(self, **duration: float) -> None:
        self.timekeeper.advance(timedelta(**duration))

    # Looking.

    def operation(self, accepted: Accepted | Refusal) -> Operation:
        """The operation as it is now, open or ended."""
        assert isinstance(accepted, Accepted), accepted
        with self.store.transaction() as transaction:
            found = history.find_operation(transaction.connection, accepted.operation.id)
        assert found is not None
        return found

    def events(self, accepted: Accepted | Refusal) -> list[Event]:
        """Its events as they are now, open or ended."""
        assert isinstance(accepted, Accepted), accepted
        with self.store.transaction() as transaction:
            return history.events_of(transaction.connection, accepted.operation.id)

    def event(self, accepted: Accepted | Refusal) -> Event:
        (found,) = self.events(accepted)
        return found

    def phases(self, accepted: Accepted | Refusal) -> list[str]:
        return [str(event.phase) for event in self.events(accepted)]

    def audit(self, accepted: Accepted | Refusal) -> list[tuple[str, str, str]]:
        """What was done for it: verb, subject and detail."""
        assert isinstance(accepted, Accepted), accepted
        query = sa.select(deeds.c.verb, deeds.c.subject, deeds.c.detail).order_by(deeds.c.id)
        with self.store.transaction() as transaction:
            rows = transaction.connection.execute(query.where(deeds.c.operation == accepted.operation.id))
            return [tuple(row) for row in rows]

    def vm(self, name: str) -> Vm:
        return self.plane.world.vms[name]

    def waiting_for(self, accepted: Accepted | Refusal) -> list[str]:
        operation = self.operation(accepted)
        return [hold.in_words(self.clock.now()) for hold in holds(self.plane.world, operation, self.clock.now())]

    def effects(self, vm: str) -> list[str]:
        """What the machine has felt."""
        return [effect.action for effect in self.machines.ledger() if effect.vm == vm]


def fleet(*vms: dict[str, Any], hosts: int = 4, **sets: list[dict[str, Any]]) -> dict[str, Any]:
    """A fleet of these VMs on host-0, host-1, ..."""
    return {"hosts": [{"name": f"host-{n}"} for n in range(hosts)], "vms": list(vms), **sets}


def vm(name: str, host: str = "host-0", **more: Any) -> dict[str, Any]:
    return {"name": name, "host": host, **more}


WEB = fleet(
    vm("web-0", "host-0", availability_set="web"),
    vm("web-1", "host-1", availability_set="web"),
    vm("web-2", "host-2", availability_set="web"),
    vm("solo", "host-0"),
    vm("spot", "host-1", priority="Spot"),
    availability_sets=[{"name": "web"}],
)

"""Operators and owners: a day of requests, good and bad, and the orders that make machines fail."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from forewarn.control.plane import Accepted, ControlPlane
from forewarn.core.fleet import Vm
from forewarn.core.holds import OtherDomainDown, TerminatePending, VmBusy, holds
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.terms import Cause, Condition, Kind, Priority, VmState
from forewarn.drivers.machines import Trouble
from tests.simulation.witness import Asked

if TYPE_CHECKING:
    from tests.simulation.run import Simulation

_REQUESTS_A_DAY = (30, 70)


class Operator:
    """Asks for things at random, and notes what was known when it did."""

    def __init__(self, simulation: Simulation, dice: random.Random) -> None:
        self._simulation = simulation
        self._dice = dice
        self._asking: tuple[Cause, tuple[str, ...]] | None = None
        self._spec = simulation.fleet

    def plan_the_day(self, day: timedelta) -> None:
        """Requests all day long, some of them close together."""
        acts = {
            self._restart: 22,
            self._redeploy: 8,
            self._maintain: 24,
            self._evict: 8,
            self._delete: 6,
            self._stop_or_start: 10,
            self._degrade: 4,
            self._fail: 3,
            self._recover: 4,
            self._cancel: 6,
            self._approve: 4,
            self._order_trouble: 8,
            self._step_clock: 2,
            self.apply_fleet: 2,
            self._move: 3,
            self._nonsense: 3,
        }
        for _ in range(self._dice.randint(*_REQUESTS_A_DAY)):
            at = timedelta(seconds=self._dice.uniform(60, day.total_seconds() - 60))
            act = self._dice.choices(list(acts), list(acts.values()))[0]
            for _ in range(3 if self._dice.random() < 0.15 else 1):
                self._simulation.after(at, act)

    # Asking.

    def _ask(self, cause: Cause, vms: tuple[str, ...], act: Callable[[ControlPlane], object]) -> object:
        self._asking = (cause, vms)
        outcome = self._simulation.request(act)
        self._asking = None
        counts = self._simulation.counts
        if isinstance(outcome, Accepted):
            self._simulation.answered_operations.append(outcome.operation.id)
            counts[f"asked: {cause}"] += 1
        elif isinstance(outcome, Refusal):
            counts[f"refused: {outcome.code}"] += 1
        return outcome

    def id_was_drawn(self, operation: str) -> None:
        """The plane makes an operation: note what was known at that moment."""
        if self._asking is None:
            return
        cause, vms = self._asking
        known = self._simulation.world.vms
        scopes = {known[vm].scope for vm in vms if vm in known}
        self._simulation.witness.asked[operation] = Asked(
            operation,
            cause,
            vms,
            {scope: self._simulation.is_on(scope) for scope in scopes},
            had_profile=any(known[vm].terminate_notification for vm in vms if vm in known),
        )

    def _vm(self, **wanted: object) -> Vm | None:
        vms = [
            vm
            for vm in self._simulation.world.vms.values()
            if all(getattr(vm, name) == value for name, value in wanted.items())
        ]
        return self._dice.choice(vms) if vms else None

    def _for_vm(self, cause: Cause, vm: Vm | None) -> object:
        if vm is None:
            return None
        return self._ask(cause, (vm.name,), lambda plane: plane.ask_for_vm(cause, vm.name, "somebody"))

    def _restart(self) -> None:
        self._for_vm(Cause.RESTART, self._vm())

    def _redeploy(self) -> None:
        self._for_vm(Cause.REDEPLOY, self._vm())

    def _delete(self) -> None:
        vm = self._vm()
        self._for_vm(Cause.DELETE, vm)
        if vm is not None and vm.set_name == "pool":  # a scale-in takes several at once
            self._for_vm(Cause.DELETE, self._vm(set_name="pool"))

    def _stop_or_start(self) -> None:
        vm = self._vm()
        if vm is not None:
            stops = self._dice.choice([Cause.STOP, Cause.DEALLOCATE])
            self._for_vm(stops if vm.state is VmState.RUNNING else Cause.START, vm)

    def _evict(self) -> None:
        vm = self._vm(priority=Priority.SPOT) or self._vm()
        if vm is None:
            return
        waiting = any(op.phase is Phase.SCHEDULED for op in self._simulation.world.operations_on_vm(vm.name))
        outcome = self._ask(Cause.EVICT, (vm.name,), lambda plane: plane.evict(vm.name, "somebody"))
        if waiting and isinstance(outcome, Accepted):
            self._simulation.counts["preempt overtook"] += 1

    def _host(self) -> str:
        return self._dice.choice(list(self._simulation.world.hosts))

    def _vms_on(self, host: str) -> tuple[str, ...]:
        return tuple(vm.name for vm in self._simulation.world.vms_on(host))

    def _maintain(self) -> None:
        host = self._host()
        kind = self._dice.choice([Kind.FREEZE, Kind.FREEZE, Kind.REBOOT, Kind.REDEPLOY])
        asked = Maintenance(
            kind,
            by_live_migration=kind is Kind.FREEZE and self._dice.random() < 0.3,
            duration_seconds=self._dice.choice([None, 0, 9]) if kind is Kind.FREEZE else None,
            notice=self._dice.choice([None, None, timedelta(minutes=20), timedelta(minutes=1)]),
        )
        vms = self._vms_on(host)
        self._ask(Cause.MAINTAIN, vms, lambda plane: plane.maintain(host, asked, "somebody"))

    def _degrade(self) -> None:
        host, notice = self._host(), timedelta(minutes=self._dice.randint(10, 300))
        self._ask(Cause.DEGRADE, self._vms_on(host), lambda plane: plane.degrade(host, notice, "somebody"))

    def _fail(self) -> None:
        host = self._host()
        outcome = self._ask(Cause.FAIL, self._vms_on(host), lambda plane: plane.fail(host, "somebody"))
        if isinstance(outcome, Accepted) and outcome.events:
            self._simulation.counts["host failed under guests"] += 1

    def _recover(self) -> None:
        sick = [host.name for host in self._simulation.world.hosts.values() if host.condition is not Condition.UP]
        if sick:
            self._simulation.request(lambda plane: plane.recover(self._dice.choice(sick), "somebody"))

    def _cancel(self) -> None:
        operations = list(self._simulation.world.operations)
        if operations:
            wanted = self._dice.choice(operations)
            outcome = self._simulation.request(lambda plane: plane.cancel(wanted, "somebody"))
            if outcome is None:
                self._simulation.counts["cancelled"] += 1

    def _approve(self) -> None:
        events = [event.id for event in self._simulation.world.events.values() if event.phase.is_open]
        if events:
            wanted = self._dice.choice(events)
            self._simulation.witness.may_have_approved(wanted, "somebody")
            self._simulation.request(lambda plane: plane.approve(wanted, "somebody"))

    def _order_trouble(self) -> None:
        vm = self._vm()
        if vm is not None:
            trouble = self._dice.choice(list(Trouble))
            self._simulation.machines.order(vm.name, trouble)
            self._simulation.counts[f"ordered: {trouble}"] += 1

    def _step_clock(self) -> None:
        by = timedelta(seconds=self._dice.choice([-1200, -90, 90, 1200, 7200]))
        self._simulation.clock.step(by)
        self._simulation.counts[f"clock stepped {'ahead' if by > timedelta(0) else 'back'}"] += 1
        self._simulation.after(timedelta(seconds=self._dice.uniform(0, 5)), self._simulation.tick)

    def apply_fleet(self) -> None:
        """Apply the fleet: what was deleted is there again."""
        self._simulation.request(lambda plane: plane.apply_fleet(self._spec, "somebody"))
        self._simulation.lobby.meet_guests()

    def _move(self) -> None:
        """Put a VM onto another host by the fleet, most often onto one under notice."""
        world = self._simulation.world
        alone = [index for index, vm in enumerate(self._spec.vms) if vm.set_name is None and vm.name in world.vms]
        if not alone:
            return
        index = self._dice.choice(alone)
        noted = [name for name in world.hosts if any(world.operations_on_host(name))]
        host = self._dice.choice(noted or [host.name for host in self._spec.hosts])
        vms = [*self._spec.vms]
        vms[index] = replace(vms[index], host=host)
        spec = replace(self._spec, vms=vms)
        before = {op.id: op.targets for op in world.operations_on_host(host)}
        outcome = self._simulation.request(lambda plane: plane.apply_fleet(spec, "somebody"))
        if isinstance(outcome, list):
            self._spec = spec
            self._simulation.lobby.meet_guests()
        if any(
            vms[index].name in op.targets and vms[index].name not in before.get(op.id, ())
            for op in self._simulation.world.operations_on_host(host)
        ):
            self._simulation.counts["landed on a host under notice"] += 1

    def _nonsense(self) -> None:
        """Requests that the rules refuse: nothing may change."""
        number = self._simulation.world.number
        outcome = self._simulation.request(lambda plane: plane.ask_for_vm(Cause.RESTART, "no-such-vm", "somebody"))
        if isinstance(outcome, Refusal):
            assert outcome.code is Code.NOT_FOUND
            assert self._simulation.world.number >= number

    def heal(self) -> None:
        """Owners start what was left down, operators recover hosts."""
        for vm in list(self._simulation.world.vms.values()):
            if vm.state is VmState.DOWN:
                self._for_vm(Cause.START, vm)

    # Counting hard things.

    def look_for_gates(self, event: str) -> None:
        """After an approval: is the operation held by somebody else?"""
        world, counts = self._simulation.world, self._simulation.counts
        found = world.events.get(event)
        operation = world.operations.get(found.operation) if found else None
        if operation is not None and operation.phase is Phase.SCHEDULED:
            held = list(holds(world, operation, self._simulation.clock.now()))
            if any(type(hold).__name__ == "NoticeRuns" for hold in held):
                counts["shared-host gate held"] += 1
            for kind, name in (
                (OtherDomainDown, "update-domain hold"),
                (TerminatePending, "terminates wait for each other"),
                (VmBusy, "one action at a time held"),
            ):
                if any(isinstance(hold, kind) for hold in held):
                    counts[name] += 1

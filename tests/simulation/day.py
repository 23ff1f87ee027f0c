"""A day of requests: what is asked when, alone or in company, and the orders that make machines fail."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from forewarn.core.event import Event
from forewarn.core.fleet import ScaleSet, Vm
from forewarn.core.phase import Phase
from forewarn.core.requests.degraded import Degradation
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.requests.postpone import Postponement
from forewarn.core.terms import Cause, Condition, Kind, Priority, Risk, VmState
from forewarn.drivers.machines import Trouble
from tests.simulation.fleets import with_another_domain, with_other_groups, with_vm_on
from tests.simulation.witness import Effect, Sighting

if TYPE_CHECKING:
    from tests.simulation.run import Simulation

_REQUESTS_A_DAY = (30, 70)
_BURSTS_A_DAY = (1, 5)
_BURST_SECONDS = 15
_MEDDLING = 0.08  # how often somebody meddles with an action that has just begun
_STEPPING = 0.02  # how often the clock is stepped while a notice runs
_POSTPONING = 0.08  # how often somebody wants to postpone an event that was just announced
_DOOM = 0.1  # how often nobody can read in time what was moved
_THINNING = 0.5  # how often an event that names several VMs loses one of them


class Day:
    """Who asks for what, by the roll of a die."""

    def __init__(self, simulation: Simulation, dice: random.Random) -> None:
        self._simulation = simulation
        self._operator = simulation.operator
        self._dice = dice
        self._is_over = False
        simulation.witness.on_effect.append(self._maybe_meddle)
        simulation.witness.on_sighting.append(self._maybe_disturb)

    def plan(self, length: timedelta) -> None:
        """Requests all day long, some of them close together."""
        acts = {
            self._restart: 22,
            self._redeploy: 8,
            self._maintain: 24,
            self._evict: 8,
            self._delete: 6,
            self._stop_or_start: 10,
            self._reimage: 4,
            self._several: 4,
            self._scale: 4,
            self._do_waiting_work: 3,
            self._degrade: 5,
            self._degrade_further: 4,
            self._reclaim: 3,
            self._postpone: 6,
            self._fail: 3,
            self._recover: 4,
            self._cancel: 6,
            self._approve: 4,
            self._order_trouble: 8,
            self._step_clock: 2,
            self._operator.apply_fleet: 2,
            self._move: 3,
            self._regroup: 3,
            self._change_domain: 3,
            self._operator.ask_nonsense: 3,
        }
        for _ in range(self._dice.randint(*_REQUESTS_A_DAY)):
            act = self._dice.choices(list(acts), list(acts.values()))[0]
            at = self._sometime(length)
            for _ in range(3 if self._dice.random() < 0.15 else 1):
                self._simulation.after(at, act)
        for _ in range(self._dice.randint(*_BURSTS_A_DAY)):
            self._simulation.after(self._sometime(length), self._burst)

    def end(self) -> None:
        """Nobody asks for anything more."""
        self._is_over = True

    def _sometime(self, length: timedelta) -> timedelta:
        return timedelta(seconds=self._dice.uniform(60, length.total_seconds() - 60))

    # Whom.

    def _vm(self, **wanted: object) -> Vm | None:
        vms = [
            vm
            for vm in self._simulation.world.vms.values()
            if all(getattr(vm, name) == value for name, value in wanted.items())
        ]
        return self._dice.choice(vms) if vms else None

    def _host(self) -> str:
        return self._dice.choice(list(self._simulation.world.hosts))

    # What, alone.

    def _for_vm(self, cause: Cause, vm: Vm | None = None) -> None:
        if (vm := vm or self._vm()) is not None:
            self._operator.for_vm(cause, vm.name)

    def _restart(self, vm: Vm | None = None) -> None:
        self._for_vm(Cause.RESTART, vm)

    def _redeploy(self, vm: Vm | None = None) -> None:
        self._for_vm(Cause.REDEPLOY, vm)

    def _reimage(self) -> None:
        self._for_vm(Cause.REIMAGE)

    def _several(self) -> None:
        if (owner := self._scale_set()) is not None:
            cause = self._dice.choice([Cause.RESTART, Cause.REDEPLOY, Cause.REIMAGE])
            names = [vm.name for vm in self._simulation.world.members_of_set(owner)]
            self._operator.for_vms(cause, tuple(self._dice.sample(names, min(2, len(names)))))

    def _scale(self) -> None:
        if (owner := self._scale_set()) is not None:
            self._operator.scale(owner, self._dice.randint(1, 6))

    def _scale_set(self) -> str | None:
        found = [each.name for each in self._simulation.world.sets.values() if isinstance(each, ScaleSet)]
        return self._dice.choice(found) if found else None

    def _do_waiting_work(self) -> None:
        if (vm := self._vm()) is not None:
            self._operator.do_waiting_work(vm.name)

    def _delete(self, vm: Vm | None = None) -> None:
        vm = vm or self._vm()
        self._for_vm(Cause.DELETE, vm)
        if vm is not None and vm.set_name == "pool" and (other := self._vm(set_name="pool")) is not None:
            self._for_vm(Cause.DELETE, other)  # a scale-in takes several at once

    def _stop_or_start(self, vm: Vm | None = None) -> None:
        if (vm := vm or self._vm()) is not None:
            stops = self._dice.choice([Cause.STOP, Cause.DEALLOCATE])
            self._for_vm(stops if vm.state is VmState.RUNNING else Cause.START, vm)

    def _evict(self, vm: Vm | None = None) -> None:
        world = self._simulation.world
        told = [each for host in world.hosts if any(world.operations_on_host(host)) for each in world.vms_on(host)]
        under_notice = [each for each in told if each.priority is Priority.SPOT]
        if vm is None and under_notice and self._dice.random() < 0.5:
            vm = self._dice.choice(under_notice)
        if (vm := vm or self._vm(priority=Priority.SPOT) or self._vm()) is not None:
            self._operator.evict(vm.name)

    def _maintain(self, host: str | None = None) -> None:
        kind = self._dice.choice([Kind.FREEZE, Kind.FREEZE, Kind.REBOOT, Kind.REDEPLOY])
        asked = Maintenance(
            kind,
            by_live_migration=kind is Kind.FREEZE and self._dice.random() < 0.3,
            duration_seconds=self._dice.choice([None, 0, 9]) if kind is Kind.FREEZE else None,
            notice=self._dice.choice([None, None, timedelta(minutes=20), timedelta(minutes=1)]),
        )
        self._operator.maintain(host or self._host(), asked)

    def _degrade(self, host: str | None = None) -> None:
        risk = self._dice.choice([None, None, None, Risk.HIGH, Risk.IMMINENT])
        notice = timedelta(minutes=self._dice.randint(10, 300)) if risk is None else None
        host = host or self._host()
        self._operator.degrade(host, Degradation(notice, risk))
        for _ in range(self._dice.randint(0, 2)):
            delay = timedelta(minutes=self._dice.uniform(0, 60))
            self._simulation.after(delay, lambda: self._degrade_further(host))

    def _degrade_further(self, host: str | None = None) -> None:
        """A host that is known to be sick is reported again, most often with a larger risk."""
        sick = [
            each.name for each in self._simulation.world.hosts.values() if each.condition is Condition.DEGRADED
        ]
        if self._is_over or (host is None and not sick):
            return
        asked = self._dice.choice(
            [Degradation(risk=Risk.IMMINENT), Degradation(timedelta(minutes=30)), Degradation(risk=Risk.HIGH)]
        )
        with self._maybe_doomed():
            self._operator.degrade(host or self._dice.choice(sick), asked)

    def _reclaim(self, host: str | None = None) -> None:
        spots = [vm.host for vm in self._simulation.world.vms.values() if vm.priority is Priority.SPOT]
        self._operator.reclaim(host or self._dice.choice(spots or [self._host()]), self._dice.choice([1, 1, 2]))

    def _postpone(self, event: Event | None = None) -> None:
        """Put an event off: one that was just announced, or any, planned work rather than other."""
        world = self._simulation.world
        events = [each for each in world.events.values() if each.phase is Phase.SCHEDULED]
        planned = [each for each in events if world.operations[each.operation].cause.is_planned]
        if self._is_over or (event is None and not events):
            return
        if self._dice.random() < 0.5:
            asked = Postponement(by=timedelta(minutes=self._dice.randint(1, 180)))
        else:
            now = self._simulation.clock.now()
            asked = Postponement(until=now + timedelta(minutes=self._dice.uniform(5, 400)))
        with self._maybe_doomed():
            self._operator.postpone((event or self._dice.choice(planned or events)).id, asked)

    @contextmanager
    def _maybe_doomed(self) -> Iterator[None]:
        """Now and then the process dies between the commit that moves a NotBefore and the showing of it."""
        self._simulation.dice.is_doomed = self._dice.random() < _DOOM
        yield
        self._simulation.dice.is_doomed = False

    def _fail(self, host: str | None = None) -> None:
        self._operator.fail(host or self._host())

    def _recover(self, host: str | None = None) -> None:
        sick = [each.name for each in self._simulation.world.hosts.values() if each.condition is not Condition.UP]
        if host is not None or sick:
            self._operator.recover(host or self._dice.choice(sick))

    def _cancel(self) -> None:
        if operations := list(self._simulation.world.operations):
            self._operator.cancel(self._dice.choice(operations))

    def _approve(self, vm: Vm | None = None) -> None:
        events = [
            event.id
            for event in self._simulation.world.events.values()
            if event.phase.is_open and (vm is None or vm.name in event.resources)
        ]
        if events:
            self._operator.approve(self._dice.choice(events))

    def _order_trouble(self, vm: Vm | None = None) -> None:
        if (vm := vm or self._vm()) is not None:
            self._simulation.machines.order(vm.name, self._dice.choice(list(Trouble)))

    def _step_clock(self) -> None:
        by = timedelta(seconds=self._dice.choice([-7200, -1200, -90, 90, 1200, 7200]))
        self._simulation.clock.step(by)
        self._simulation.counts[f"clock stepped {'ahead' if by > timedelta(0) else 'back'}"] += 1
        if self._dice.random() < 0.3:
            self._simulation.flush()
            self._simulation.crash("before the plane looked at a stepped clock")
        self._simulation.after(timedelta(seconds=self._dice.uniform(0, 5)), self._simulation.tick)

    # The fleet.

    def _move(self) -> None:
        """Put a VM onto another host by the fleet, most often onto one under notice."""
        world, spec = self._simulation.world, self._operator.spec
        alone = [vm.name for vm in spec.vms if vm.set_name is None and vm.name in world.vms]
        if not alone:
            return
        vm = self._dice.choice(alone)
        declared = [host.name for host in spec.hosts]
        noted = [name for name in declared if any(world.operations_on_host(name))]
        host = self._dice.choice(noted or declared)
        before = {op.id: op.targets for op in world.operations_on_host(host)}
        self._operator.apply_fleet(with_vm_on(spec, vm, host))
        after = {op.id: op.targets for op in self._simulation.world.operations_on_host(host)}
        if any(vm in targets and vm not in before.get(operation, ()) for operation, targets in after.items()):
            self._simulation.counts["landed on a host under notice"] += 1

    def _regroup(self) -> None:
        """Cut the scale set into other placement groups."""
        spec = with_other_groups(self._operator.spec, self._dice)
        self._change_fleet(lambda: self._operator.apply_fleet(spec), "scope")

    def _change_domain(self) -> None:
        """Put VMs of the availability set into another update domain."""
        spec = with_another_domain(self._operator.spec, self._dice)
        self._change_fleet(lambda: self._operator.apply_fleet(spec), "update_domain")

    def _change_fleet(self, apply: Callable[[], bool], what: str) -> None:
        before = {name: getattr(vm, what) for name, vm in self._simulation.world.vms.items()}
        is_busy = bool(self._simulation.world.operations)
        if not apply():
            return
        after = {name: getattr(vm, what) for name, vm in self._simulation.world.vms.items()}
        if any(after.get(name, value) != value for name, value in before.items()):
            self._simulation.counts[f"{what.replace('_', ' ')} changed{' while others are busy' * is_busy}"] += 1

    # What, in company.

    def _burst(self, host: str | None = None) -> None:
        """Several requests on one host and its VMs within seconds."""
        there = host or self._host()
        about_host = {self._fail: 4, self._maintain: 3, self._degrade: 1, self._reclaim: 1, self._recover: 2}
        about_vm = {
            self._delete: 3,
            self._evict: 3,
            self._stop_or_start: 3,
            self._restart: 2,
            self._redeploy: 2,
            self._approve: 3,
            self._order_trouble: 1,
        }
        for _ in range(self._dice.randint(2, 6)):
            delay = timedelta(seconds=self._dice.uniform(0, _BURST_SECONDS))
            if self._dice.random() < 0.35:
                on_host = self._dice.choices(list(about_host), list(about_host.values()))[0]
                self._simulation.after(delay, lambda act=on_host: act(there))
            else:
                on_vm = self._dice.choices(list(about_vm), list(about_vm.values()))[0]
                self._simulation.after(delay, lambda act=on_vm: self._to_vm_on(there, act))

    def _to_vm_on(self, host: str, act: Callable[[Vm], None]) -> None:
        if vms := list(self._simulation.world.vms_on(host)):
            act(self._dice.choice(vms))

    def _maybe_meddle(self, effect: Effect) -> None:
        """An action has begun: before it ends, something else happens to the machine or to its host."""
        if self._is_over:
            return
        if self._dice.random() < _MEDDLING:
            delay = timedelta(seconds=self._dice.uniform(0, 9))
            self._simulation.after(delay, lambda: self._meddle(effect.vm))
        if effect.trouble in {Trouble.FAILS_DOWN, Trouble.HANGS}:
            delay = timedelta(minutes=self._dice.uniform(2, 40))
            self._simulation.after(delay, lambda: self._maintain_next_to(effect.vm))

    def _meddle(self, name: str) -> None:
        vm = self._simulation.world.vms.get(name)
        if vm is None:
            return
        if self._dice.random() < 0.5:
            self._fail(vm.host)
        else:
            self._dice.choice([self._evict, self._delete, self._redeploy, self._stop_or_start])(vm)
        if self._dice.random() < 0.3:
            self._burst(vm.host)

    def _maintain_next_to(self, name: str) -> None:
        """Work on a host of the same set, while the machine may be down."""
        vm = self._simulation.world.vms.get(name)
        if vm is not None and vm.set_name and (other := self._vm(set_name=vm.set_name)) is not None:
            self._maintain(other.host)

    def _maybe_disturb(self, sighting: Sighting, what: str) -> None:
        """An event is announced: while its notice runs the clock is set, or something takes one of its VMs out."""
        if self._is_over or what != "first":
            return
        if self._dice.random() < _POSTPONING:
            delay = timedelta(seconds=self._dice.uniform(0, 600))
            self._simulation.after(delay, lambda: self._postpone(sighting.event))
        if self._dice.random() < _STEPPING:
            self._simulation.after(timedelta(seconds=self._dice.uniform(0, 600)), self._step_clock)
        names = sighting.event.resources
        if len(names) > 1 and self._dice.random() < _THINNING:
            delay = timedelta(seconds=self._dice.uniform(0, self._dice.choice([5, 600])))
            self._simulation.after(delay, lambda: self._take_out(self._dice.choice(names)))

    def _take_out(self, name: str) -> None:
        if (vm := self._simulation.world.vms.get(name)) is not None:
            self._dice.choice([self._stop_or_start, self._stop_or_start, self._evict, self._delete])(vm)

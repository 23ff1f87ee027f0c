"""Operators and owners: they ask, note what was known when they did, and remember what they were promised."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from forewarn.control.commands.events import approve_event, cancel_operation, postpone_event
from forewarn.control.commands.fleet import apply_fleet, put_scale_set
from forewarn.control.commands.hosts import degrade_host, fail_host, maintain_host, reclaim_capacity, recover_host
from forewarn.control.commands.vms import act_on_vm, act_on_vms, do_waiting_work, evict_vm
from forewarn.control.commit import Accepted, Committed
from forewarn.control.plane import ControlPlane
from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.holds import BelowMinimum, holds
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.degraded import Degradation, incident_on
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.requests.postpone import Postponement
from forewarn.core.requests.sets import ScaleSetWish
from forewarn.core.terms import Cause, Condition, VmState
from tests.simulation.witness import Asked

if TYPE_CHECKING:
    from tests.simulation.run import Simulation

WHO = "somebody"


class Operator:
    """Asks for one thing at a time."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._asking: Callable[[str], Asked] | None = None
        self.spec = simulation.fleet

    def _ask(
        self, cause: Cause, vms: tuple[str, ...], act: Callable[[ControlPlane], object], host: str | None = None
    ) -> object:
        self._asking = self._known_now(cause, vms, host)
        outcome = self._simulation.request(act)
        self._asking = None
        if isinstance(outcome, Accepted):
            self._simulation.promises.accepted(outcome.operation.id)
            self._simulation.counts[f"asked: {cause}"] += 1
        elif isinstance(outcome, Refusal):
            self._simulation.counts[f"refused: {outcome.code}"] += 1
        return outcome

    def id_was_drawn(self, operation: str) -> None:
        """The plane makes an operation: note what was known when it was asked for."""
        if self._asking is not None:
            self._simulation.witness.asked[operation] = self._asking(operation)

    def _known_now(self, cause: Cause, vms: tuple[str, ...], host: str | None) -> Callable[[str], Asked]:
        known = [vm for name in vms if (vm := self._simulation.world.vms.get(name)) is not None]
        return partial(
            Asked,
            cause=cause,
            vms=vms,
            scopes_on={vm.scope: self._simulation.outside.is_on(vm.scope) for vm in known},
            had_profile=any(
                vm.announces_reimage if cause is Cause.REIMAGE else vm.terminate_notification for vm in known
            ),
            host=host,
        )

    # About one VM.

    def for_vm(self, cause: Cause, vm: str) -> object:
        """An owner wants something of a VM."""
        return self._ask(cause, (vm,), lambda plane: act_on_vm(plane, cause, vm, WHO))

    def for_vms(self, cause: Cause, vms: tuple[str, ...]) -> None:
        """An owner wants the same of several VMs: all of it, or nothing."""
        self._ask_batch(cause, vms, lambda plane: act_on_vms(plane, cause, vms, WHO))

    def scale(self, name: str, capacity: int) -> None:
        """An owner wants a scale set larger or smaller."""
        world = self._simulation.world
        model = world.sets[name]
        own = {"size", "capacity", "single_placement_group"}
        known = {each: getattr(model, each) for each in ScaleSetWish.__slots__ if each not in own}
        members = tuple(vm.name for vm in world.members_of_set(name))
        wish = ScaleSetWish(**known, capacity=capacity)
        before = len(members)
        self._ask_batch(Cause.DELETE, members, lambda plane: put_scale_set(plane, wish, WHO))
        if len(list(self._simulation.world.members_of_set(name))) > before:
            self._simulation.counts["scaled out"] += 1
        self._simulation.lobby.meet_guests()

    def do_waiting_work(self, vm: str) -> None:
        """An owner wants the work that waits for a VM done now."""
        self._ask_batch(Cause.REDEPLOY, (vm,), lambda plane: do_waiting_work(plane, [vm], WHO))

    def _ask_batch(self, cause: Cause, vms: tuple[str, ...], act: Callable[[ControlPlane], object]) -> None:
        self._asking = self._known_now(cause, vms, None)
        outcome = self._simulation.request(act)
        self._asking = None
        if isinstance(outcome, str):
            world = self._simulation.world
            made = [each.id for each in world.operations.values() if each.batch == outcome]
            for operation in made:
                self._simulation.promises.accepted(operation)
            if len(made) > 1:
                self._simulation.counts["several at once"] += 1
        elif isinstance(outcome, Refusal):
            self._simulation.counts[f"refused: {outcome.code}"] += 1

    def reclaim(self, host: str, count: int) -> None:
        """The platform wants capacity of a host back: so many VMs, or none."""
        self._asking = self._known_now(Cause.EVICT, self._vms_on(host), None)
        outcome = self._simulation.request(lambda plane: reclaim_capacity(plane, host, count, WHO))
        self._asking = None
        if isinstance(outcome, list):
            assert len(outcome) == count
            for accepted in outcome:
                self._simulation.promises.accepted(accepted.operation.id)
            self._simulation.counts["reclaimed"] += 1
        elif isinstance(outcome, Refusal):
            self._simulation.counts[f"refused: {outcome.code}"] += 1

    def evict(self, vm: str) -> None:
        """The platform wants a VM's capacity back."""
        waiting = any(op.phase is Phase.SCHEDULED for op in self._simulation.world.operations_on_vm(vm))
        outcome = self._ask(Cause.EVICT, (vm,), lambda plane: evict_vm(plane, vm, WHO))
        if waiting and isinstance(outcome, Accepted):
            self._simulation.counts["preempt overtook"] += 1

    # About a host.

    def _vms_on(self, host: str) -> tuple[str, ...]:
        return tuple(vm.name for vm in self._simulation.world.vms_on(host))

    def maintain(self, host: str, asked: Maintenance) -> None:
        """Planned work."""
        self._ask(Cause.MAINTAIN, self._vms_on(host), lambda plane: maintain_host(plane, host, asked, WHO), host)

    def degrade(self, host: str, asked: Degradation) -> object:
        """A host is expected to fail."""
        vms = self._vms_on(host)
        known = incident_on(self._simulation.world, host)
        outcome = self._change_condition(
            host,
            Condition.DEGRADED,
            lambda: self._ask(Cause.DEGRADE, vms, lambda plane: degrade_host(plane, host, asked, WHO), host),
        )
        if known is not None and isinstance(outcome, Accepted) and outcome.operation.id == known.id:
            self._simulation.counts["same report again"] += 1
        return outcome

    def fail(self, host: str) -> None:
        """A host has failed."""
        vms, counting = self._vms_on(host), self._simulation.counting
        under_way = {effect.action for vm in vms for effect in self._simulation.felt.under_way(vm)}
        outcome = self._change_condition(
            host,
            Condition.FAILED,
            lambda: self._ask(Cause.FAIL, vms, lambda plane: fail_host(plane, host, WHO), host),
        )
        if isinstance(outcome, Accepted):
            counting.host_failed(outcome, under_way)

    def recover(self, host: str) -> None:
        """A host is well again."""
        self._change_condition(
            host, Condition.UP, lambda: self._simulation.request(lambda plane: recover_host(plane, host, WHO))
        )

    def _change_condition(self, host: str, condition: Condition, ask: Callable[[], object]) -> object:
        promises = self._simulation.promises
        before = promises.unsettle("condition", host)
        outcome = ask()
        if isinstance(outcome, Refusal):
            promises.settle_again("condition", host, promise=before)
        elif not isinstance(outcome, BaseException):
            promises.has_condition(host, condition)
        return outcome

    # About what is announced.

    def cancel(self, operation: str) -> None:
        """Somebody has thought better of it."""
        outcome = self._simulation.request(lambda plane: cancel_operation(plane, operation, WHO))
        if isinstance(outcome, Committed):
            self._simulation.promises.cancelled(operation)
            self._simulation.counts["cancelled"] += 1

    def approve(self, event: str) -> None:
        """An operator says "go ahead"."""
        matters = self._simulation.outside.phase_of_event(event) is Phase.SCHEDULED
        self._simulation.witness.may_have_approved(event, WHO)
        outcome = self._simulation.request(lambda plane: approve_event(plane, event, WHO))
        if isinstance(outcome, Committed):
            self._simulation.approved.add(event)
            if matters:
                self._simulation.promises.approved(event, WHO)

    def postpone(self, event: str, asked: Postponement) -> None:
        """An owner wants planned work later."""
        outcome = self._simulation.request(lambda plane: postpone_event(plane, event, asked, WHO))
        if isinstance(outcome, Committed):
            self._simulation.promises.postponed(event, WHO)
            self._simulation.counts["postponed"] += 1
        elif isinstance(outcome, Refusal):
            self._simulation.counts["postponement refused"] += 1

    # About the fleet.

    def apply_fleet(self, spec: FleetSpec | None = None) -> bool:
        """Apply a fleet, or the last one again: what was deleted is there again. Whether it was accepted."""
        wanted = spec or self.spec
        promises = self._simulation.promises
        before = promises.unsettle("fleet")
        outcome = self._simulation.request(lambda plane: apply_fleet(plane, wanted, WHO))
        if isinstance(outcome, BaseException):
            return False
        if not all(isinstance(line, str) for line in outcome):  # type: ignore[union-attr]
            self._simulation.counts["refused: a fleet"] += 1
            promises.settle_again("fleet", promise=before)
            return False
        self.spec = wanted
        promises.is_applied(wanted)
        self._simulation.lobby.meet_guests()
        return True

    # Other.

    def ask_nonsense(self) -> None:
        """Requests that the rules refuse: nothing may change."""
        outcome = self._simulation.request(lambda plane: act_on_vm(plane, Cause.RESTART, "no-such-vm", WHO))
        if isinstance(outcome, Refusal):
            assert outcome.code is Code.NOT_FOUND

    def heal(self) -> None:
        """Operators recover hosts, those that are only degraded when nothing is open there; owners start VMs.

        And what only a minimum holds, though nothing else goes on in the set, is called off.
        """
        world, now = self._simulation.world, self._simulation.clock.now()
        for operation in list(world.operations.values()):
            held = list(holds(world, operation, now)) if operation.phase is Phase.SCHEDULED else []
            short = [hold.shortfall.set_name for hold in held if isinstance(hold, BelowMinimum)]
            others = [each for name in short for each in world.operations_in_set(name)]
            if short and len(short) == len(held) and not any(each.phase is Phase.STARTED for each in others):
                self.cancel(operation.id)
        for host in list(world.hosts.values()):
            is_open = any(world.operations_on_host(host.name))
            if host.condition is Condition.FAILED or (host.condition is Condition.DEGRADED and not is_open):
                self.recover(host.name)
        for vm in list(self._simulation.world.vms.values()):
            if vm.state is VmState.DOWN:
                self.for_vm(Cause.START, vm.name)

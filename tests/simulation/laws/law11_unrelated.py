"""Law 11: one stuck guest, host or driver call never delays an unrelated operation.

An operation that shares no VM, host, set or scope with any other open one has nothing to wait for but its own
notice, approvals and lead; so it starts, and acts, as soon as these are through. One that nobody is told of has
nothing to wait for at all. A VM whose host has failed waits as long as no host may take it, and no longer. And
what has ended is seen to have ended.
"""

from __future__ import annotations

from datetime import timedelta

from forewarn.core.holds import rollout_holds
from forewarn.core.operation import Attempt, Operation
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause, Condition, VmState
from tests.simulation.fleets import minimum_of
from tests.simulation.laws.base import Checker

_START_SLACK = timedelta(seconds=3)
_ACT_SLACK = timedelta(seconds=90)
_NOTICE_SLACK = timedelta(seconds=30)


class Law(Checker):
    number = 11

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self._free_since: dict[tuple[str, Phase], timedelta] = {}
        self._lost_since: dict[tuple[str, str], timedelta] = {}  # failed operation and VM that a host may take

    def after_tick(self) -> None:
        self._judge()

    def now_and_then(self) -> None:
        self._judge()

    def _judge(self) -> None:
        for attempt in self.simulation.world.attempts.values():
            self._must_be_noticed(attempt)
        self._must_bring_back()
        operations = self.simulation.world.operations.values()
        places = {operation.id: self._places(operation) for operation in operations}
        for operation in operations:
            if not self._is_unrelated(operation, places):
                self._free_since.pop((operation.id, operation.phase), None)
                continue
            self._free_since.setdefault((operation.id, operation.phase), self.simulation.clock.elapsed())
            if operation.phase is Phase.SCHEDULED:
                self._must_start(operation)
            else:
                self._must_act(operation)

    def _must_be_noticed(self, attempt: Attempt) -> None:
        """What a machine has done is known soon, whatever the wall clock shows."""
        effect = self.simulation.machines.effect_of(*attempt.key)
        if attempt.outcome is None and effect is not None and effect.ends_elapsed is not None:
            since = max(effect.ends_elapsed, self.simulation.undisturbed_since)
            late = self.simulation.clock.elapsed() - since
            self.require(late < _NOTICE_SLACK, f"the {attempt.action} of {attempt.vm} ended {late} ago, unnoticed")

    def _is_unrelated(self, operation: Operation, places: dict[str, set[str]]) -> bool:
        if any(rollout_holds(self.simulation.world, operation, self.simulation.clock.now())):
            return False  # it waits for its own rollout
        if any(self._has_nowhere_to_go(operation, vm) for vm in operation.targets):
            return False
        mine = places[operation.id]
        if any(mine & theirs for other, theirs in places.items() if other != operation.id):
            return False
        vms = self.simulation.world.vms.values()
        if any(vm.state is VmState.DOWN and vm.set_name in mine for vm in vms):
            return False
        return not (operation.cause.is_planned and any(self._is_short(each, operation) for each in mine))

    def _must_bring_back(self) -> None:
        """Nothing but the plane keeps a VM from leaving a failed host once another may take it."""
        world, elapsed = self.simulation.world, self.simulation.clock.elapsed()
        in_hand = {attempt.vm for attempt in world.attempts.values() if attempt.outcome is None}
        failed = [each for each in world.operations.values() if each.cause is Cause.FAIL]
        lost = {
            (operation.id, vm)
            for operation in failed
            for vm in operation.targets
            if vm not in in_hand
            and (operation.id, vm) not in world.attempts
            and not self._has_nowhere_to_go(operation, vm)
        }
        self._lost_since = {key: self._lost_since.get(key, elapsed) for key in lost}
        for (operation, vm), since in self._lost_since.items():
            waited = elapsed - max(since, self.simulation.undisturbed_since)
            self.require(
                waited < _ACT_SLACK, f"a host could take {vm} for {waited}, and it felt nothing ({operation})"
            )

    def _has_nowhere_to_go(self, operation: Operation, name: str) -> bool:
        """Whether the VM is to leave a host that has failed, and every other is sick, taken or in another zone."""
        vm, world = self.witness.vms[name], self.simulation.world
        own = world.hosts.get(vm.host)
        if operation.cause is not Cause.FAIL or own is None:
            return False
        if own.condition is not Condition.FAILED or not own.is_declared:
            return False
        taken = {each.host for each in world.operations.values()}
        return not any(
            host.condition is Condition.UP
            and host.name not in taken
            and (vm.zone is None or host.zone in {None, vm.zone})
            for host in world.hosts.values()
        )

    def _is_short(self, set_name: str, operation: Operation) -> bool:
        """Whether the set wants more VMs than run besides those of the operation."""
        members = [vm for vm in self.simulation.world.vms.values() if vm.set_name == set_name]
        left = [vm for vm in members if vm.state is VmState.RUNNING and vm.name not in operation.targets]
        return len(left) < minimum_of(self.simulation.fleet, set_name)

    def _places(self, operation: Operation) -> set[str]:
        """All that another operation may share with it."""
        vms = [self.witness.vms[name] for name in operation.targets]
        places = {f"scope {vm.scope}" for vm in vms} | {vm.name for vm in vms}
        places.update(vm.set_name for vm in vms if vm.set_name)
        if operation.cause is Cause.EVICT:  # work on the host waits until it has left
            places.update(f"host {vm.host}" for vm in vms)
        attempts = self.simulation.world.attempts_of(operation.id)  # and until what is sent there has come
        places.update(
            f"host {attempt.destination}" for attempt in attempts if attempt.destination and not attempt.outcome
        )
        return places | {f"host {operation.host}"} if operation.host else places

    def _waited(self, operation: Operation) -> timedelta:
        """For how long it has been in its phase with nothing but the plane itself in the way."""
        free_since = self._free_since[operation.id, operation.phase]
        return self.simulation.clock.elapsed() - max(free_since, self.simulation.undisturbed_since)

    def _must_start(self, operation: Operation) -> None:
        sightings = [sighting for sighting in self.witness.of_operation(operation.id) if sighting.gone_at is None]
        gates = [each for each in sightings if self.simulation.is_on(each.event.scope) or each.event.postponed_by]
        if not gates or not all(self.simulation.was_approved(each.event.id) for each in gates):
            gates = sightings
        now, elapsed = self.simulation.clock.now(), self.simulation.clock.elapsed()
        waits = [
            sighting.event.id
            for sighting in gates
            if not self.simulation.was_approved(sighting.event.id)
            and (
                now < sighting.event.not_before + _START_SLACK
                or elapsed - sighting.first_elapsed < sighting.event.not_before - sighting.first_at + _START_SLACK
            )
        ]
        self.require(
            bool(waits) or self._waited(operation) < _START_SLACK,
            f"{operation.title} ({operation.id}) could start and has not",
        )

    def _must_act(self, operation: Operation) -> None:
        waited = self._waited(operation)
        acted = {vm for vm in operation.targets if (operation.id, vm) in self.simulation.acted}
        missing = set(operation.targets) - acted - self.simulation.concluded(operation.id)
        self.require(
            not missing or waited < _ACT_SLACK,
            f"{operation.title} ({operation.id}) has started, waited for {waited}, and {missing} felt nothing",
        )

"""Law 11: one stuck guest, host or driver call never delays an unrelated operation.

An operation that shares no VM, host, set or scope with any other open one has nothing to wait for but its own
notice, approvals and lead; so it starts, and acts, as soon as these are through.
"""

from __future__ import annotations

from datetime import timedelta

from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from tests.simulation.laws.base import Checker

_START_SLACK = timedelta(seconds=3)
_ACT_SLACK = timedelta(seconds=90)


class Law(Checker):
    number = 11

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self._free_since: dict[str, timedelta] = {}

    def after_tick(self) -> None:
        for operation in self.simulation.world.operations.values():
            if not self._is_unrelated(operation):
                self._free_since.pop(operation.id, None)
                continue
            self._free_since.setdefault(operation.id, self.simulation.clock.elapsed())
            if operation.phase is Phase.SCHEDULED:
                self._must_start(operation)
            else:
                self._must_act(operation)

    def _is_unrelated(self, operation: Operation) -> bool:
        world, mine = self.simulation.world, set(operation.targets)
        places = {world.vms[vm].set_name or vm for vm in mine} | {world.vms[vm].scope for vm in mine}
        places.add(operation.host or "no host at all")
        for other in world.operations.values():
            if other.id == operation.id:
                continue
            theirs = {world.vms[vm].set_name or vm for vm in other.targets}
            theirs |= {world.vms[vm].scope for vm in other.targets} | {other.host or "none either"}
            if mine & set(other.targets) or places & theirs:
                return False
        down = {vm.set_name for vm in world.vms.values() if vm.state == "down"}
        return not down & places

    def _must_start(self, operation: Operation) -> None:
        sightings = [sighting for sighting in self.witness.of_operation(operation.id) if sighting.gone_at is None]
        gates = [each for each in sightings if self.simulation.is_on(each.event.scope)]
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
        self.require(bool(waits) or not gates, f"{operation.title} ({operation.id}) could start and has not")

    def _must_act(self, operation: Operation) -> None:
        started = [
            sighting.started_elapsed
            for sighting in self.witness.of_operation(operation.id)
            if sighting.started_elapsed is not None
        ]
        if not started:
            return
        since = max(*started, self.simulation.up_since, self._free_since[operation.id])
        waited = self.simulation.clock.elapsed() - since
        acted = {vm for vm in operation.targets if (operation.id, vm) in self.simulation.acted}
        missing = set(operation.targets) - acted - self.simulation.concluded(operation.id)
        self.require(
            not missing or waited < _ACT_SLACK,
            f"{operation.title} ({operation.id}) started {waited} ago and {missing} have felt nothing",
        )

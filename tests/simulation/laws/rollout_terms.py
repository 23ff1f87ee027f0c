"""The terms of a rollout: what it was asked to keep to, judged by what was committed.

Nothing is announced or started while it is not running; no more hosts are at work at once than may be; another
update domain of a set starts only when the one before has recovered; and only while the window is open.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.rollout import Rollout, RolloutState
from forewarn.core.world import Changes
from tests.simulation.laws.base import Checker

Domain = tuple[str, int]


class Law(Checker):
    number = 13

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self._rollouts: dict[str, Rollout] = {}
        self._phases: dict[str, Phase] = {}
        self._at_work: dict[str, set[str]] = {}
        self._domains: dict[str, set[Domain]] = {}
        self._zones: dict[str, str | None] = {}
        self._ends: dict[str, dict[Domain, timedelta]] = {}
        simulation.on_commit.append(self._saw_commit)

    def _saw_commit(self, changes: Changes) -> None:
        before = dict(self._rollouts)
        for entity in changes.entities:
            if isinstance(entity, Rollout):
                self._rollouts[entity.id] = entity
        for entity in changes.entities:
            if isinstance(entity, Operation) and entity.rollout is not None:
                self._saw(entity, before.get(entity.rollout) or self._rollouts[entity.rollout])

    def _saw(self, operation: Operation, before: Rollout) -> None:
        rollout = self._rollouts[operation.rollout or ""]
        was, self._phases[operation.id] = self._phases.get(operation.id), operation.phase
        if was is operation.phase:
            return
        at_work = self._at_work.setdefault(rollout.id, set())
        if operation.phase.is_open:
            may = RolloutState.RUNNING in {rollout.state, before.state}
            self.require(may, f"{operation.title} is {operation.phase} while its rollout is {rollout.state}")
        if operation.phase is Phase.STARTED:
            at_work.add(operation.id)
            self._domains[operation.id] = self._touched(operation)
            most = rollout.work.max_parallel
            self.require(len(at_work) <= most, f"{len(at_work)} hosts of a rollout are at work, and {most} may be")
            self._must_leave_room(operation, rollout)
            if operation.targets:
                self._must_be_time(operation, rollout)
        elif not operation.phase.is_open and operation.id in at_work:
            at_work.discard(operation.id)
            now = self.simulation.clock.elapsed()  # wherever the wall clock was set to meanwhile
            self._ends.setdefault(rollout.id, {}).update(dict.fromkeys(self._domains[operation.id], now))

    def after_restart(self) -> None:
        """What ended in the moment of a crash is at work no more."""
        for at_work in self._at_work.values():
            at_work.intersection_update(self.simulation.world.operations)
        for rollout in list(self._rollouts):
            if state := self.simulation.outside.state_of_rollout(rollout):
                self._rollouts[rollout] = replace(self._rollouts[rollout], state=state)

    def _must_leave_room(self, operation: Operation, rollout: Rollout) -> None:
        """No more hosts of a zone are at work than may be."""
        self._zones[operation.id] = self.simulation.outside.zone_of(operation.host or "")
        zone, most = self._zones[operation.id], rollout.work.max_parallel_per_zone
        there = [each for each in self._at_work[rollout.id] if self._zones[each] == zone]
        self.require(
            most is None or len(there) <= most,
            f"{len(there)} hosts of zone {zone} are at work in a rollout, and {most} may be",
        )

    def _touched(self, operation: Operation) -> set[Domain]:
        vms = [self.witness.vms[name] for name in operation.targets]
        return {(vm.set_name, vm.update_domain) for vm in vms if vm.set_name is not None}

    def _must_be_time(self, operation: Operation, rollout: Rollout) -> None:
        work, at = rollout.work, operation.started_at
        assert at is not None
        own = self._domains[operation.id]
        for (set_name, domain), ended in self._ends.get(rollout.id, {}).items():
            mine = {number for name, number in own if name == set_name}
            if mine and mine != {domain}:
                rest = self.simulation.clock.elapsed() - ended
                self.require(
                    rest >= work.recovery,
                    f"{operation.title} started {rest} after update domain {domain} of {set_name}, "
                    f"which was to recover for {work.recovery}",
                )
        is_forced = work.force_by is not None and at >= work.force_by
        is_open = work.window is None or work.window.is_open(at, work.expected)
        self.require(is_forced or is_open, f"{operation.title} started at {at}, out of the rollout's window")

    def at_end(self) -> None:
        running = [each for each in self.simulation.world.rollouts.values() if each.state is RolloutState.RUNNING]
        self.require(not running, f"still running after the bound: {running}")

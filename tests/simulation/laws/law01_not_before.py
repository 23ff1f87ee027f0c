"""Law 1: an event never starts before NotBefore unless it was cleared by approval or born Started.

Nor before the time that was promised has really passed, wherever the wall clock was set to meanwhile. An event in
a scope that is off gates nobody: it starts when all scopes that are on have approved. An event into which an early
start was put as a fault, for tests, has the mark of it, and is excused; no other is.
"""

from __future__ import annotations

from datetime import timedelta

from forewarn.core.fault import Fault
from forewarn.core.phase import Phase
from forewarn.core.terms import AutoApproval, Cause, VmState
from tests.simulation.fleets import policy_of
from tests.simulation.laws.base import Checker
from tests.simulation.witness import Asked, Sighting

_ROUNDING = timedelta(seconds=1)


class Law(Checker):
    number = 1

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self.witness.on_sighting.append(self._saw)

    def _saw(self, sighting: Sighting, what: str) -> None:
        event = sighting.event
        if what == "first" and sighting.first_phase is Phase.STARTED:
            asked = self.witness.asked[event.operation]
            wanted = asked.cause is Cause.FAIL or self._is_approved_beforehand(asked)
            self.require(wanted, f"{event.id} ({asked.cause}) was born Started")
        if what != "started":
            return
        if Fault.EARLY_START in event.faults:
            self.simulation.counts["started early by a fault"] += 1
            return
        if self._was_approved(event.id):
            self.simulation.counts["started while nobody was up"] += not self.witness.approvals.get(event.id)
            return
        if not self.simulation.is_on(event.scope) and self._listeners_approved(event.operation):
            return
        early = event.not_before - sighting.started_at
        self.require(early <= timedelta(0), f"{event.id} started {early} before its NotBefore, unapproved")
        given = sighting.started_elapsed - sighting.first_elapsed
        promised = event.not_before - sighting.first_at
        self.require(given >= promised - _ROUNDING, f"{event.id} was promised {promised} and given {given}")

    def _listeners_approved(self, operation: str) -> bool:
        """Whether every scope that is on, and there is one, has approved the operation."""
        heard = [
            other.event
            for other in self.witness.of_operation(operation)
            if other.gone_at is None and self.simulation.is_on(other.event.scope)
        ]
        return bool(heard) and all(self._was_approved(event.id) for event in heard)

    def _was_approved(self, event: str) -> bool:
        return bool(self.witness.approvals.get(event)) or self._nobody_is_up(
            self.witness.sightings[event].event.scope
        )

    def _is_approved_beforehand(self, asked: Asked) -> bool:
        wanted = {Cause.RESTART: AutoApproval.REBOOT, Cause.REDEPLOY: AutoApproval.REDEPLOY}.get(asked.cause)
        is_told = all(wanted in policy_of(self.simulation.fleet, self.witness.vms[vm]) for vm in asked.vms)
        if wanted is not None and is_told:
            self.simulation.counts["approved beforehand"] += 1
        return wanted is not None and is_told

    def _nobody_is_up(self, scope: str) -> bool:
        """Whether no guest of the scope runs now, and its policy says that this is as good as a word of theirs."""
        members = [vm for vm in self.witness.vms.values() if vm.scope == scope]
        return bool(members) and all(
            vm.state is not VmState.RUNNING and AutoApproval.ALL_DOWN in policy_of(self.simulation.fleet, vm)
            for vm in members
        )

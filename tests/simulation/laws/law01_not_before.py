"""Law 1: an event never starts before NotBefore unless it was cleared by approval or born Started.

Nor before the time that was promised has really passed, wherever the wall clock was set to meanwhile. An event in
a scope that is off gates nobody: it starts when all scopes that are on have approved.
"""

from __future__ import annotations

from datetime import timedelta

from forewarn.core.phase import Phase
from forewarn.core.terms import Cause
from tests.simulation.laws.base import Checker
from tests.simulation.witness import Sighting

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
            self.require(asked.cause is Cause.FAIL, f"{event.id} ({asked.cause}) was born Started")
        if what != "started" or self._was_approved(event.id):
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
        return bool(self.witness.approvals.get(event))

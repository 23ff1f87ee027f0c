"""Law 12: planned platform work never takes a set below the minimum that its owner wants available.

A host that is about to fail waits for the minimum until its NotBefore, a rollout until its force-by date. Then
they go one at a time: never while a guest of the set can read of other work that has started.
"""

from __future__ import annotations

from forewarn.core.event import Event
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause
from tests.simulation.laws.base import Checker
from tests.simulation.witness import Sighting

_PLANNED = {Cause.MAINTAIN, Cause.DEGRADE}


class Law(Checker):
    number = 12

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self.witness.on_sighting.append(self._saw)

    def _saw(self, sighting: Sighting, what: str) -> None:
        event = sighting.event
        cause = self.witness.asked[event.operation].cause
        if what != "started" or cause not in _PLANNED or not self.simulation.is_short_without(event):
            return
        set_name = self.witness.vms[event.resources[0]].set_name
        what = f"{event.id} ({cause}) took {', '.join(event.resources)} of {set_name} below its minimum"
        is_forced = self.simulation.rollouts.is_forced(event.operation)
        self.require(cause is Cause.DEGRADE or is_forced, what)
        early = event.not_before - sighting.started_at
        self.require(is_forced or early.total_seconds() <= 0, f"{what}, {early} before its NotBefore")
        others = [other.id for other in self._started(set_name) if other.operation != event.operation]
        others = [other for other in others if self.witness.sightings[other].event.version <= event.version]
        self.require(not others, f"{what}, while {others} had started")

    def _started(self, set_name: str | None) -> list[Event]:
        scopes = {vm.scope for vm in self.witness.vms.values() if vm.set_name == set_name}
        shown = [event for scope in scopes for event in self.witness.events_shown(scope)]
        return [event for event in shown if event.phase is Phase.STARTED]

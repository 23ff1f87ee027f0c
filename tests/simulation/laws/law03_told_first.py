"""Law 3: no VM whose scope is on feels anything of our doing before Started was visible to its scope.

"On" is judged when the operation was asked for: what was accepted while nobody listened runs at once. What an
owner does to a VM that has no event by the contract (stop, start, a delete without a profile) is not ours. Work on
a host is felt by whoever is on it, or on the way there; so all of them are told.
"""

from __future__ import annotations

from datetime import timedelta

from forewarn.core.phase import Phase
from forewarn.core.terms import Cause
from tests.simulation.laws.base import Checker
from tests.simulation.witness import Effect

_LEAST_LEAD = timedelta(seconds=2)
_OWNERS = {Cause.STOP, Cause.DEALLOCATE, Cause.START}
_BY_PROFILE = {Cause.DELETE, Cause.REIMAGE}


class Law(Checker):
    number = 3

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self._started: set[str] = set()
        self.witness.on_effect.append(self._felt)

    def after_tick(self) -> None:
        world = self.simulation.world
        for operation in world.operations.values():
            if operation.phase is not Phase.STARTED or operation.id in self._started:
                continue
            self._started.add(operation.id)
            if operation.host is None or not operation.cause.is_planned:
                continue
            there = {vm.name for vm in world.vms_on(operation.host) if vm.is_on_host}
            coming = {vm for vm in world.vms if self._is_under_way_to(operation.host, vm)}
            untold = (there | coming) - set(operation.targets)
            self.require(not untold, f"{operation.title} ({operation.id}) has started, and {untold} was not told")

    def _is_under_way_to(self, host: str, vm: str) -> bool:
        """Whether the machine feels an action that brings it up there, and does not hang."""
        under_way = self.simulation.felt.under_way(vm)
        return any(effect.destination == host and effect.ends_at is not None for effect in under_way)

    def _felt(self, effect: Effect) -> None:
        self.require(effect.vm in self.witness.vms, f"{effect.vm} felt {effect.action}, and is not there any more")
        asked = self.witness.asked[effect.operation]
        vm = self.witness.vms[effect.vm]
        was_on = asked.scopes_on.get(vm.scope, False)
        is_owners = asked.cause in _OWNERS or (asked.cause in _BY_PROFILE and not asked.had_profile)
        if asked.cause.is_users and (not was_on or is_owners):
            return
        told = [
            self.witness.sightings[event.id]
            for event in self.witness.events_shown(vm.scope)
            if event.operation == effect.operation
            and effect.vm in event.resources
            and event.phase is Phase.STARTED
        ]
        self.require(bool(told), f"{effect.vm} felt {effect.action} of {effect.operation} before it was told")
        lead = effect.elapsed - told[0].started_elapsed
        self.require(lead >= _LEAST_LEAD, f"{effect.vm} had {lead} between Started and {effect.action}")

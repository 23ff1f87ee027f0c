"""Law 5: one update domain at a time.

The resources of an event lie in one update domain. Planned platform work never starts in one update domain of a
set while a VM of another is down through any operation of ours or a failed host: by what guests can read, by what
the machines feel, and by the hosts that failed. The plane's own opinion of its machines is not asked.
"""

from __future__ import annotations

from forewarn.core.event import Event
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause
from tests.simulation.laws.base import Checker
from tests.simulation.witness import Sighting

_PLANNED = {Cause.MAINTAIN, Cause.DEGRADE}


class Law(Checker):
    number = 5

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self.witness.on_sighting.append(self._saw)

    def _saw(self, sighting: Sighting, what: str) -> None:
        event = sighting.event
        vms = [self.witness.vms[name] for name in event.resources]
        domains = {vm.update_domain for vm in vms}
        self.require(len(domains) == 1, f"{event.id} names VMs of update domains {domains}")
        if what != "started" or self.witness.asked[event.operation].cause not in _PLANNED:
            return
        own_set, own_domain = vms[0].set_name, vms[0].update_domain
        if own_set is None:
            return
        for vm in self.witness.vms.values():
            if vm.set_name == own_set and vm.update_domain != own_domain:
                why = self._why_down(vm.name, vm.scope, event)
                self.require(
                    why is None,
                    f"{event.id} started in update domain {own_domain} of {own_set} while {vm.name} "
                    f"(update domain {vm.update_domain}) was down: {why}",
                )

    def _why_down(self, vm: str, scope: str, started: Event) -> str | None:
        """Why the VM was down when the event started; None: it was not, or the same operation is for it too."""
        own = self.witness.of_operation(started.operation)
        if any(vm in sighting.event.resources for sighting in own if sighting.gone_at is None):
            return None
        for event in self.witness.events_shown(scope):
            # After a restart both may be seen for the first time; the commit tells which was first.
            was_before = event.phase is Phase.STARTED and event.version <= started.version
            if event.operation != started.operation and was_before and vm in event.resources:
                return f"{event.kind} {event.id} has started"
        return self.simulation.felt.why_down(vm, but=started.operation)

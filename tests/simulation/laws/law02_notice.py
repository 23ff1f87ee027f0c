"""Law 2: each NotBefore, when first visible, lies at least the minimum notice of its kind ahead.

One that is moved is told anew, and so is first visible again. It is moved nearer only where a host is about to
fail. An event whose notice was shortened by a fault, for tests, has the mark of it, and is excused; no other is.
"""

from __future__ import annotations

from datetime import timedelta

from forewarn.core.fault import Fault
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause, Kind
from tests.simulation.laws.base import Checker
from tests.simulation.witness import Sighting

_LEAST = {
    Kind.FREEZE: timedelta(minutes=15),
    Kind.REBOOT: timedelta(minutes=15),
    Kind.REDEPLOY: timedelta(minutes=10),
    Kind.PREEMPT: timedelta(seconds=30),
    Kind.TERMINATE: timedelta(minutes=5),
}


class Law(Checker):
    number = 2

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self.witness.on_sighting.append(self._saw)

    def _saw(self, sighting: Sighting, what: str) -> None:
        event = sighting.event
        if what not in {"first", "promised anew"} or event.phase is Phase.STARTED:
            return
        if what == "promised anew" and event.not_before < sighting.was_not_before:
            cause = self.witness.asked[event.operation].cause
            self.require(cause is Cause.DEGRADE, f"{event.id} ({cause}) was pulled nearer")
            self.simulation.counts["notice pulled nearer"] += 1
        if Fault.SHORTENED_NOTICE in event.faults:
            self.simulation.counts["had its notice shortened by a fault"] += 1
            return
        notice = event.not_before - sighting.first_at
        self.require(notice >= _LEAST[event.kind], f"{event.id} ({event.kind}) had {notice} of notice")
        if event.kind is Kind.TERMINATE:
            wanted = self.witness.vms[event.resources[0]].terminate_notification
            self.require(notice >= wanted, f"{event.id} had {notice} of notice; its profile says {wanted}")

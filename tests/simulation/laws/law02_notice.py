"""Law 2: each NotBefore, when first visible, lies at least the minimum notice of its kind ahead."""

from __future__ import annotations

from datetime import timedelta

from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
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
        notice = event.not_before - sighting.first_at
        self.require(notice >= _LEAST[event.kind], f"{event.id} ({event.kind}) had {notice} of notice")
        if event.kind is Kind.TERMINATE:
            wanted = self.witness.vms[event.resources[0]].terminate_notification
            self.require(notice >= wanted, f"{event.id} had {notice} of notice; its profile says {wanted}")

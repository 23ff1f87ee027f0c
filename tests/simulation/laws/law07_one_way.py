"""Law 7: an event that has gone never returns; no event goes backwards."""

from __future__ import annotations

from tests.simulation.laws.base import Checker
from tests.simulation.witness import Sighting


class Law(Checker):
    number = 7

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self.witness.on_sighting.append(self._saw)

    def _saw(self, sighting: Sighting, what: str) -> None:
        event = sighting.event
        self.require(what != "returned", f"{event.id} was gone and is back")
        self.require(what != "backwards", f"{event.id} went from Started to Scheduled")

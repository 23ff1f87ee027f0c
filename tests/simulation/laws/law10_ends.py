"""Law 10: when faults stop, everything pending ends within a bound."""

from __future__ import annotations

from tests.simulation.laws.base import Checker


class Law(Checker):
    number = 10

    def at_end(self) -> None:
        pending = [
            f"{operation.title} ({operation.phase}, {operation.id})"
            for operation in self.simulation.world.operations.values()
        ]
        self.require(not pending, f"still open after the bound: {'; '.join(pending)}")
        shown = [event.id for document in self.witness.documents.values() for event in document.events]
        self.require(not shown, f"still shown after the bound: {shown}")

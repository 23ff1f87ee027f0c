"""Law 4: at most one effective action per event and VM, whatever crashed. Counted in the machines' own ledger."""

from __future__ import annotations

from tests.simulation.laws.base import Checker
from tests.simulation.witness import Effect


class Law(Checker):
    number = 4

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self._done: set[tuple[str, str]] = set()
        self.witness.on_effect.append(self._felt)

    def _felt(self, effect: Effect) -> None:
        key = (effect.operation, effect.vm)
        self.require(key not in self._done, f"{effect.vm} felt {effect.action} of {effect.operation} twice")
        self._done.add(key)

    def at_end(self) -> None:
        ledger = [(effect.operation, effect.vm) for effect in self.simulation.machines.ledger()]
        self.require(len(ledger) == len(set(ledger)), "the machines' ledger has an action twice")
        self.require(set(ledger) == self._done, "the machines felt something that nobody saw")

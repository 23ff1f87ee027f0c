"""Law 9: an approval, a request or a first poll that was answered with success survives a crash.

It is in the store when the answer is given and after every crash; and what is said to be completed was done.
"""

from __future__ import annotations

from tests.simulation.laws.base import Checker
from tests.simulation.promises import Promise


class Law(Checker):
    number = 9

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        simulation.promises.on_promise.append(self._must_be_kept)

    def _must_be_kept(self, promise: Promise) -> None:
        self.require(promise.is_kept(), promise.said)

    def after_restart(self) -> None:
        self._all_must_be_kept()

    def at_end(self) -> None:
        self._all_must_be_kept()
        acted = {(effect.operation, effect.vm) for effect in self.simulation.machines.ledger()}
        for operation, targets in self.simulation.outside.completed():
            unfelt = [vm for vm in targets if (operation, vm) not in acted]
            self.require(not unfelt, f"operation {operation} is said to be completed; {unfelt} felt nothing")

    def _all_must_be_kept(self) -> None:
        with self.simulation.outside.reading():
            for promise in self.simulation.promises.all():
                self._must_be_kept(promise)

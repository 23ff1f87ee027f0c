"""Law 10: when faults stop, everything pending ends within a bound.

So nothing lies in the store unseen after a tick, not even what was committed without an answer. Nor does the plane
ever keep itself busy for nothing: it does not ask to be woken again and again while no time passes.
"""

from __future__ import annotations

from datetime import timedelta

from tests.simulation.laws.base import Checker

_MOST_WAKES = 20  # at one instant


class Law(Checker):
    number = 10

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self._woken_at = timedelta(0)
        self._wakes = 0

    def after_tick(self) -> None:
        kept, shown = self.simulation.outside.number(), self.simulation.shown
        self.require(kept == shown, f"commit {kept} is kept, and after a tick no more than {shown} is shown")

    def after_wake(self) -> None:
        elapsed = self.simulation.clock.elapsed()
        self._wakes = self._wakes + 1 if elapsed == self._woken_at else 1
        self._woken_at = elapsed
        self.require(self._wakes <= _MOST_WAKES, f"the plane woke {self._wakes} times while no time passed")

    def at_end(self) -> None:
        pending = [
            f"{operation.title} ({operation.phase}, {operation.id})"
            for operation in self.simulation.world.operations.values()
        ]
        self.require(not pending, f"still open after the bound: {'; '.join(pending)}")
        shown = [event.id for scope in self.witness.shown for event in self.witness.events_shown(scope)]
        self.require(not shown, f"still shown after the bound: {shown}")

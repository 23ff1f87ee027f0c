"""Law 9: an approval, a request or a first poll that was answered with success survives a crash."""

from __future__ import annotations

from datetime import timedelta

from forewarn.core.phase import Phase
from forewarn.store import history
from tests.simulation.laws.base import Checker

_SILENCE = timedelta(hours=24)


class Law(Checker):
    number = 9

    def after_restart(self) -> None:
        self._check()

    def at_end(self) -> None:
        self._check()

    def _check(self) -> None:
        simulation = self.simulation
        with simulation.store.transaction() as transaction:
            for event, by in simulation.answered_approvals:
                found = history.find_events(transaction.connection, event)
                self.require(len(found) == 1, f"event {event}, which {by} approved, is not in the store")
                kept = any(approval.by == by for approval in found[0].approvals)
                self.require(
                    kept or found[0].phase is not Phase.SCHEDULED,
                    f"the approval of {event} by {by} was answered and is lost",
                )
            for operation in simulation.answered_operations:
                found_operation = history.find_operation(transaction.connection, operation)
                self.require(found_operation is not None, f"operation {operation} was accepted and is lost")
        elapsed = simulation.clock.elapsed()
        for (scope, generation), at in simulation.answered_polls.items():
            known = simulation.world.scopes.get(scope)
            if (
                known is not None
                and known.generation == generation
                and elapsed - at < _SILENCE - timedelta(hours=1)
            ):
                self.require(known.is_on, f"a poll of {scope} was answered {elapsed - at} ago, and it is off")
        simulation.answered_approvals.clear()
        simulation.answered_operations.clear()

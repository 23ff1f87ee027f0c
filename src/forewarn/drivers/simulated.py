"""A driver for machines that exist only as a ledger: as slow as real ones, on any clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from forewarn.clock import Clock
from forewarn.core.notice import FREEZE_SECONDS
from forewarn.core.operation import Attempt, Outcome
from forewarn.core.terms import Action, VmState
from forewarn.drivers.base import Ended, NotBegun, Progress, Running
from forewarn.drivers.machines import Machines, Trouble

_SWITCH_SECONDS = 10
SECONDS: Mapping[Action, float] = {
    Action.REBOOT: 60,
    Action.REDEPLOY: 120,
    Action.REIMAGE: 60,
    Action.RESTORE: 120,
    Action.STOP: _SWITCH_SECONDS,
    Action.DEALLOCATE: _SWITCH_SECONDS,
    Action.START: _SWITCH_SECONDS,
    Action.DELETE: _SWITCH_SECONDS,
}


@dataclass(frozen=True, slots=True)
class SimulatedDriver:
    """Acts on simulated machines; a freeze takes the seconds that were announced, unless told otherwise."""

    machines: Machines
    clock: Clock
    seconds: Mapping[Action, float] = field(default_factory=lambda: SECONDS)
    makes_machines: bool = True  # a machine that nothing was ever done to runs
    is_simulated: bool = True

    def begin(self, attempt: Attempt) -> None:
        """Write the effect into the machines' ledger."""
        self.machines.act(attempt, self.clock, self._lasts(attempt))

    def check(self, attempt: Attempt) -> Progress:
        """Read the machine's ledger."""
        effect = self.machines.effect_of(*attempt.key)
        if effect is None:
            return NotBegun()
        left = effect.left(self.clock)
        if left is None:
            return Running(attempt.deadline_at)
        if left > timedelta(0):
            return Running(self.clock.now() + left)
        if effect.trouble is Trouble.FAILS:
            return Ended(Outcome.FAILED, f"the {attempt.action} failed, as it was ordered to")
        if effect.trouble is Trouble.FAILS_DOWN:
            return Ended(Outcome.FAILED, f"the {attempt.action} left it down, as it was ordered to", VmState.DOWN)
        return Ended(Outcome.DONE)

    def close(self) -> None:
        """Let go of the ledger."""
        self.machines.close()

    def _lasts(self, attempt: Attempt) -> timedelta:
        announced = attempt.duration_seconds
        usual = announced if announced >= 0 else FREEZE_SECONDS
        return timedelta(seconds=self.seconds.get(attempt.action, usual))

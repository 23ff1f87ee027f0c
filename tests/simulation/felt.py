"""What has become of the machines, judged by what they felt and by the hosts that failed under them.

Never by what the plane believes: it is the plane that is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from forewarn.core.terms import Action
from forewarn.drivers.machines import Effect, Trouble

_LEAVE_IT_AS_IT_WAS = {Action.FREEZE, Action.MIGRATE}
_LEAVE_IT_RUNNING = {Action.REBOOT, Action.REDEPLOY, Action.REIMAGE, Action.RESTORE, Action.START}


@dataclass
class _Ongoing:
    """An action that a machine feels, and whether its host has failed meanwhile."""

    effect: Effect
    is_struck: bool = False

    @property
    def what(self) -> str:
        return f"{self.effect.action} of {self.effect.operation}"


class MachinesAsFelt:
    """Which machines are up, going by the ledger."""

    def __init__(self, elapsed: Callable[[], timedelta], is_owners: Callable[[str], bool]) -> None:
        self._elapsed = elapsed
        self._is_owners = is_owners  # whether it is an owner's operation that switches a machine on or off
        self._ongoing: dict[str, list[_Ongoing]] = {}
        self._left_down: dict[str, str] = {}  # and why
        self._off: dict[str, str] = {}  # switched off, whoever wanted that, and the operation
        self._untold: set[tuple[str, str]] = set()  # operation and VM: the driver never told that it was done

    def feel(self, effect: Effect) -> None:
        """An action begins on a machine."""
        self._ongoing.setdefault(effect.vm, []).append(_Ongoing(effect))

    def strike(self, vm: str, host: str) -> None:
        """The host failed under the machine: no action that goes on there brings it up."""
        self._settle(vm)
        if vm not in self._off:
            self._left_down[vm] = f"{host} failed under it"
        for ongoing in self._ongoing.get(vm, ()):
            ongoing.is_struck |= ongoing.effect.destination in {None, host}

    def _settle(self, vm: str) -> None:
        elapsed, ongoing = self._elapsed(), self._ongoing.get(vm, [])
        for each in list(ongoing):
            if each.effect.ends_elapsed is not None and each.effect.ends_elapsed <= elapsed:
                ongoing.remove(each)
                self._end(vm, each)

    def _end(self, vm: str, ended: _Ongoing) -> None:
        action, trouble = Action(ended.effect.action), ended.effect.trouble
        if trouble is Trouble.FAILS_DOWN:
            if not self._is_owners(ended.effect.operation):  # who switches it may leave it off
                self._left_down[vm] = f"{ended.what} left it so"
        elif trouble is None and action not in _LEAVE_IT_AS_IT_WAS:
            if ended.is_struck and action in _LEAVE_IT_RUNNING:
                return
            self._left_down.pop(vm, None)
            if action in _LEAVE_IT_RUNNING:
                self._off.pop(vm, None)
            else:
                self._off[vm] = ended.effect.operation
            hanging = [each for each in self._ongoing[vm] if each.effect.ends_at is None]
            for each in hanging:  # whatever hung has been overtaken
                self._ongoing[vm].remove(each)

    def under_way(self, vm: str) -> list[Effect]:
        """The actions that the machine feels now."""
        self._settle(vm)
        return [each.effect for each in self._ongoing.get(vm, ())]

    def is_known_to_be_off(self, vm: str) -> bool:
        """Whether the machine is switched off, whoever wanted that, and the driver could tell."""
        self._settle(vm)
        return vm in self._off and (self._off[vm], vm) not in self._untold

    def is_not_told(self, operation: str, vm: str) -> None:
        """The plane could not learn from the driver what has become of the machine."""
        self._untold.add((operation, vm))

    def is_made_anew(self, vm: str) -> None:
        """Another machine has the name of one that was deleted: it is on."""
        self._settle(vm)
        self._off.pop(vm, None)

    def why_down(self, vm: str, but: str) -> str | None:
        """Why the machine is down, other than through the operation `but`; None: it is up.

        What its owner switches is not down by that, whatever comes of it.
        """
        self._settle(vm)
        for each in self._ongoing.get(vm, ()):
            if each.effect.operation != but and not self._is_owners(each.effect.operation):
                return f"{each.what} is under way"
        return self._left_down.get(vm)

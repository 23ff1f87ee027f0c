"""When the events of a scenario start and end, at the earliest.

How long work takes counts only where nobody acts but the file, and nothing may end it sooner.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from forewarn.core.fleet import Vm
from forewarn.core.notice import FREEZE_SECONDS
from forewarn.core.terms import Action, EvictionPolicy, Kind
from forewarn.drivers.simulated import SECONDS
from forewarn.scenario.makers import Course, Maker
from forewarn.scenario.model import Deed

_MAY_LEAVE_NOBODY_UP = {Deed.STOP, Deed.FAIL, Deed.EVICT}
_AGAINST_THE_RULES = {"early_start", "shortened_notice"}
_CALM = frozenset(
    {
        Deed.RESTART,
        Deed.REDEPLOY,
        Deed.EVICT,
        Deed.DELETE,
        Deed.MAINTAIN,
        Deed.DEGRADE,
        Deed.APPROVE,
        Deed.CANCEL,
        Deed.FAULT,
        Deed.CLEAR,
    }
)
_ACTIONS = {
    Deed.RESTART: Action.REBOOT,
    Deed.REDEPLOY: Action.REDEPLOY,
    Deed.DELETE: Action.DELETE,
    Deed.DEGRADE: Action.REDEPLOY,
}
_OF_KINDS = {Kind.REBOOT: Action.REBOOT, Kind.REDEPLOY: Action.REDEPLOY}


@dataclass(frozen=True, slots=True)
class Bounds:
    """The times of the events that the acts make."""

    course: Course
    is_closed: bool  # nobody acts but the file

    # At the earliest.

    def earliest_start(self, maker: Maker) -> timedelta:
        """Approved, or when its notice has run out."""
        begins = maker.act.time
        if maker.is_born_started or self.is_lawless(maker):
            return begins
        approvals = [begins + maker.notice]
        for script in self.course.guests_in_scope_of(maker.vm):
            if script.outside:
                return begins
            if script.approve_after is not None and maker.kind in script.approves:
                approvals.append(max(begins, script.starts) + script.approve_after)
        approvals += [
            act.time
            for act in self.course.scenario.acts
            if act.do is Deed.APPROVE and act.time >= begins and self.share_scope(act.vm, maker.vm)
        ]
        return min(approvals)

    def earliest_end(self, maker: Maker, *, is_done: bool = True) -> timedelta:
        """When it may be gone after its start; `is_done`: and the work with it, which has not failed."""
        starts = self.earliest_start(maker)
        if not self._is_calm:
            return starts
        return starts + self.course.lead + (self.takes(maker) if is_done else timedelta(0))

    def share_scope(self, name: str | None, vm: Vm) -> bool:
        """Whether both read one document, or may."""
        other = self.course.world.vms.get(name or "")
        return other is None or other.scope == vm.scope

    def is_lawless(self, maker: Maker) -> bool:
        """Whether a fault may let it start early, or nobody may be up whose approval is waited for."""
        return any(
            (act.do is Deed.FAULT and act.fault in _AGAINST_THE_RULES)
            or (act.do in _MAY_LEAVE_NOBODY_UP and act is not maker.act)
            for act in self.course.scenario.acts
        )

    def takes(self, maker: Maker) -> timedelta:
        """How long a simulated machine works on it."""
        usual = maker.duration_seconds if maker.duration_seconds >= 0 else FREEZE_SECONDS
        seconds = {**SECONDS, **self.course.scenario.settings.get("simulated_seconds", {})}
        return timedelta(seconds=seconds.get(_action_of(maker), usual))

    @property
    def _is_calm(self) -> bool:
        """Whether all that happens is in the file, and whatever waits does so only for work that ends by itself.

        No machine stops, fails or comes by the way, no set is kept at a minimum, and no action takes too long.
        """
        course = self.course
        fleet = course.scenario.fleet
        minimums = [
            *(each.min_available for each in fleet.availability_sets),
            *(each.min_available for each in fleet.scale_sets),
            *(each.min_available for each in fleet.cloud_services),
        ]
        longest = max(course.seconds_of(action) for action in Action)
        return (
            self.is_closed
            and course.is_exact
            and all(act.do in _CALM for act in course.scenario.acts)
            and not any(minimums)
            and longest < course.action_limit.total_seconds()
        )


def _action_of(maker: Maker) -> Action:
    act = maker.act
    if act.do is Deed.EVICT:
        deletes = maker.vm.eviction_policy is EvictionPolicy.DELETE
        return Action.DELETE if deletes else Action.DEALLOCATE
    if act.do is Deed.MAINTAIN:
        return _OF_KINDS.get(maker.kind, Action.MIGRATE if act.by_live_migration else Action.FREEZE)
    return _ACTIONS.get(act.do, Action.RESTORE)

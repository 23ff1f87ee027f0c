"""When the events of a scenario start and end: not before, and not after.

Nobody acts but the file. The latest is known only where whatever holds an event ends by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from itertools import dropwhile

from forewarn.core.fleet import Vm
from forewarn.core.notice import FREEZE_SECONDS
from forewarn.core.terms import Action, EvictionPolicy, Kind
from forewarn.scenario.makers import AT_WORK, Course, Maker
from forewarn.scenario.model import Act, Deed, GuestScript
from forewarn.wire.imds.versions import EVENTS_VERSIONS

NEVER = timedelta.max
_SECOND = timedelta(seconds=1)
_MAY_LEAVE_NOBODY_UP = {Deed.STOP, Deed.FAIL, Deed.EVICT}
_MANY_OPERATIONS = {Deed.ROLLOUT, Deed.SCALE}  # one of them may have failed before another starts
_AGAINST_THE_RULES = {"early_start", "shortened_notice"}
OF_ONE_VM = frozenset({Deed.RESTART, Deed.REDEPLOY, Deed.EVICT, Deed.DELETE})  # their events name no other
_FREE_AT_ONCE = frozenset({Deed.RESTART, Deed.REDEPLOY, Deed.EVICT})  # once approved, no other event is waited for
_CALM = frozenset({*OF_ONE_VM, Deed.MAINTAIN, Deed.DEGRADE, Deed.APPROVE, Deed.CANCEL, Deed.FAULT, Deed.CLEAR})
_ACTIONS = {
    Deed.RESTART: Action.REBOOT,
    Deed.REDEPLOY: Action.REDEPLOY,
    Deed.DELETE: Action.DELETE,
    Deed.DEGRADE: Action.REDEPLOY,
}
_OF_KINDS = {Kind.REBOOT: Action.REBOOT, Kind.REDEPLOY: Action.REDEPLOY}


def last_poll(script: GuestScript, until: timedelta) -> timedelta | None:
    """When a scripted guest asks last until then; None: it does not."""
    if until < script.starts:
        return None
    polls = (until - script.starts) // script.every
    if script.stops is not None:
        polls = min(polls, -((script.starts - script.stops) // script.every) - 1)
    return script.starts + max(polls, 0) * script.every


def first_poll(script: GuestScript, since: timedelta) -> timedelta | None:
    """When a scripted guest asks first from then on; None: it does not."""
    polls = max(0, -((script.starts - since) // script.every))
    at = script.starts + polls * script.every
    return at if polls == 0 or script.stops is None or at < script.stops else None


@dataclass(frozen=True)
class Bounds:
    """The times of the events that the acts make; what does not depend on the acts so far is worked out once."""

    course: Course
    _earliest: dict[tuple[int, str], timedelta] = field(default_factory=dict)  # starts, by line and VM

    # At the earliest.

    def earliest_start(self, maker: Maker) -> timedelta:
        """Approved, or when its notice has run out."""
        key = maker.line, maker.vm.name
        if key not in self._earliest:
            self._earliest[key] = self._start_of(maker)
        return self._earliest[key]

    def _start_of(self, maker: Maker) -> timedelta:
        begins = maker.act.time
        if maker.is_born_started or self.is_lawless(maker):
            return begins
        scenario, lapses = self.course.scenario, begins + maker.notice
        # A scope that is off is not waited for: the approval of the others on the host is enough.
        is_left_to_others = maker.act.do not in OF_ONE_VM and self.course.may_be_off(maker.vm, lapses)
        guests = scenario.guests if is_left_to_others else self.course.guests_in_scope_of(maker.vm)
        approvals = [lapses]
        approvals += [
            max(begins, script.starts) + script.approve_after
            for script in guests
            if script.approve_after is not None and maker.kind in script.approves
        ]
        approvals += [
            act.time
            for act in self.approving
            if act.time >= begins and (is_left_to_others or self.share_scope(act.vm, maker.vm))
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
        return self._is_against_the_rules or any(
            act is not maker.act or act.do in _MANY_OPERATIONS for act in self._leaving_nobody_up
        )

    @cached_property
    def approving(self) -> list[Act]:
        """The acts that approve something."""
        return [act for act in self.course.scenario.acts if act.do is Deed.APPROVE]

    @cached_property
    def _is_against_the_rules(self) -> bool:
        return any(act.do is Deed.FAULT and act.fault in _AGAINST_THE_RULES for act in self.course.scenario.acts)

    @cached_property
    def _leaving_nobody_up(self) -> list[Act]:
        """What may do so."""
        deeds = AT_WORK if self.course.may_fail else _MAY_LEAVE_NOBODY_UP
        return [act for act in self.course.scenario.acts if act.do in deeds]

    # At the latest.

    def latest_start(self, maker: Maker) -> timedelta:
        """By when it has started, or is gone: its notice has run out, or somebody approves for certain."""
        acts = self.course.scenario.acts
        return min(self.approved_by_act(maker, acts), self._latest_alone(maker), self._latest_by_guests(maker))

    def has_started(self, maker: Maker, index: int) -> bool:
        """Whether it has for certain when that act is done: what is due comes before it, and guests after."""
        acts = self.course.scenario.acts
        time = acts[index].time
        return (
            self._latest_alone(maker) <= time
            or self._latest_by_guests(maker) < time
            or self.approved_by_act(maker, acts[:index]) <= time
        )

    def _latest_alone(self, maker: Maker) -> timedelta:
        """By when it has started without a word from anybody."""
        if not self._is_calm:
            return NEVER
        if maker.is_born_started:
            return maker.act.time + self.course.at_work_before
        start = self.course.scenario.head.start
        is_whole = not (maker.act.time % _SECOND or maker.notice % _SECOND or start.microsecond)
        lapses = maker.act.time + maker.notice + (timedelta(0) if is_whole else _SECOND)
        return lapses + self.course.at_work_before

    def _latest_by_guests(self, maker: Maker) -> timedelta:
        """By when it has started as a guest of the VM approves it."""
        said = self._approvals_of_guests(maker) if self._is_calm else []
        return min(said) + self.course.at_work_before if said else NEVER

    def latest_end(self, maker: Maker) -> timedelta:
        """By when it is gone."""
        starts = self.latest_start(maker)
        return NEVER if starts == NEVER else starts + self.course.lead + self.takes(maker)

    def approved_by_act(self, maker: Maker, acts: Sequence[Act]) -> timedelta:
        """By when it has started as one of these acts approves it."""
        if not self._is_calm or not self._is_only_one(maker):
            return NEVER
        since = dropwhile(lambda act: act is not maker.act, acts)
        told = [act.time for act in since if act.do is Deed.APPROVE and act.vm == maker.vm.name]
        return min(told) + self.course.at_work_before if told else NEVER

    def _approvals_of_guests(self, maker: Maker) -> list[timedelta]:
        """When guests of the VM itself approve it, where nothing keeps them from being answered."""
        if not self._is_only_one(maker) or self._is_disturbed:
            return []
        found = []
        for script in self.course.guests_in_scope_of(maker.vm):
            is_own = script.vm == maker.vm.name and self.may_approve(script, maker)
            if is_own and script.approve_after is not None:
                seen_at = first_poll(script, maker.act.time)
                found += [] if seen_at is None else [seen_at + script.approve_after]
        return found

    @cached_property
    def _is_disturbed(self) -> bool:
        scenario = self.course.scenario
        return any(act.do is Deed.FAULT for act in scenario.acts) or "first_call_delay" in scenario.settings

    def may_approve(self, script: GuestScript, maker: Maker) -> bool:
        """Whether a guest that reads of the event approves it, by its script."""
        is_own = script.vm == maker.vm.name or maker.act.do not in OF_ONE_VM
        return (
            script.approve_after is not None
            and maker.kind in script.approves
            and maker.kind in EVENTS_VERSIONS[script.version].kinds
            and (is_own or script.others)
        )

    def _is_only_one(self, maker: Maker) -> bool:
        """Whether there is no other event of the VM that might be meant, and its approval is enough."""
        own = self.course.makers_of(maker.vm)
        return maker.act.do in _FREE_AT_ONCE and len(own) == 1 and own[0] is maker

    def takes(self, maker: Maker) -> timedelta:
        """How long a simulated machine works on it."""
        usual = maker.duration_seconds if maker.duration_seconds >= 0 else FREEZE_SECONDS
        return timedelta(seconds=self.course.seconds.get(_action_of(maker), usual))

    @property
    def _is_calm(self) -> bool:
        """Whether whatever waits does so only for work that ends by itself."""
        return self._is_quiet and self.course.is_exact

    @cached_property
    def _is_quiet(self) -> bool:
        """No machine stops, fails or comes by the way, no set has a minimum, and no action takes too long."""
        fleet = self.course.scenario.fleet
        minimums = [
            *(each.min_available for each in fleet.availability_sets),
            *(each.min_available for each in fleet.scale_sets),
            *(each.min_available for each in fleet.cloud_services),
        ]
        return (
            all(act.do in _CALM for act in self.course.scenario.acts)
            and not any(minimums)
            and not self.course.may_fail
        )


def _action_of(maker: Maker) -> Action:
    act = maker.act
    if act.do is Deed.EVICT:
        deletes = maker.vm.eviction_policy is EvictionPolicy.DELETE
        return Action.DELETE if deletes else Action.DEALLOCATE
    if act.do is Deed.MAINTAIN:
        return _OF_KINDS.get(maker.kind, Action.MIGRATE if act.by_live_migration else Action.FREEZE)
    return _ACTIONS.get(act.do, Action.RESTORE)

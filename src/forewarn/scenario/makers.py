"""What the acts of a scenario make, as far as its file tells: events of VMs, and VMs that go.

Where a VM has moved, what is done to any host may be done to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from forewarn.core.fleet import Vm
from forewarn.core.fleet_check import MOST_INSTANCES
from forewarn.core.notice import (
    DEGRADED_NOTICE,
    DESCRIPTIONS,
    FREEZE_SECONDS,
    LEAST_NOTICE,
    LIVE_MIGRATION,
    RISK_NOTICE,
    UNKNOWN_SECONDS,
    Limits,
    planned_seconds,
)
from forewarn.core.policy import is_approved_beforehand
from forewarn.core.terms import Action, Cause, Kind, Source
from forewarn.core.world import World
from forewarn.drivers.simulated import SECONDS
from forewarn.scenario.model import Act, Deed, GuestScript, Scenario

TO_HOSTS = frozenset({Deed.MAINTAIN, Deed.DEGRADE, Deed.FAIL, Deed.ROLLOUT})
_OF_OWNERS = {Deed.RESTART: (Kind.REBOOT, Cause.RESTART), Deed.REDEPLOY: (Kind.REDEPLOY, Cause.REDEPLOY)}
_CAUSES = {
    Deed.RESTART: Cause.RESTART,
    Deed.REDEPLOY: Cause.REDEPLOY,
    Deed.DELETE: Cause.DELETE,
    Deed.SCALE: Cause.DELETE,
    Deed.EVICT: Cause.EVICT,
    Deed.MAINTAIN: Cause.MAINTAIN,
    Deed.ROLLOUT: Cause.MAINTAIN,
    Deed.DEGRADE: Cause.DEGRADE,
    Deed.FAIL: Cause.FAIL,
}
_BY_OWNERS = frozenset({*_OF_OWNERS, Deed.DELETE, Deed.SCALE})
AT_WORK = frozenset({*_CAUSES, Deed.STOP, Deed.START})  # something is done to a machine
_SLACK = timedelta(minutes=1)  # before a VM that should be gone is certainly gone


@dataclass(frozen=True, slots=True)
class Maker:
    """An act that makes an event of a VM."""

    act: Act
    line: int
    vm: Vm
    kind: Kind
    notice: timedelta
    is_born_started: bool = False

    @property
    def source(self) -> Source:
        """On whose wish it happens."""
        return Source.USER if self.act.do in _BY_OWNERS else Source.PLATFORM

    @property
    def description(self) -> str:
        """What guests read of it."""
        if self.act.description is not None:
            return self.act.description
        return LIVE_MIGRATION if self.act.by_live_migration else DESCRIPTIONS[_CAUSES[self.act.do]]

    @property
    def duration_seconds(self) -> int:
        """How long the VM is said to be away."""
        if self.act.duration_seconds is not None:
            return self.act.duration_seconds
        if _CAUSES[self.act.do] is not Cause.MAINTAIN:
            return UNKNOWN_SECONDS
        return planned_seconds(self.kind, by_live_migration=self.act.by_live_migration)


@dataclass(frozen=True, slots=True)
class Gone:
    """A VM that is deleted: since when that is asked for, and by when it has happened."""

    asked_at: timedelta
    done_by: timedelta
    line: int


@dataclass(frozen=True, slots=True)
class Arrival:
    """An instance of a scale set, and which act may make it first; None: it is there from the start."""

    scale_set: str
    index: int | None = None


def instances_of(scenario: Scenario) -> dict[str, Arrival]:
    """The instances that scale sets may have at some time of the scenario, by name."""
    counts = {each.name: each.capacity for each in scenario.fleet.scale_sets}
    found = {f"{name}_{number}": Arrival(name) for name, count in counts.items() for number in range(count)}
    for index, act in enumerate(scenario.acts):
        if act.do is Deed.SCALE and act.scale_set in counts:
            name, before = act.scale_set, counts[act.scale_set]
            counts[name] += min(act.to or 0, MOST_INSTANCES)
            found |= {f"{name}_{number}": Arrival(name, index) for number in range(before, counts[name])}
    return found


def setting_of(scenario: Scenario, name: str, usual: timedelta) -> timedelta:
    """A length of time among the settings."""
    seconds = scenario.settings.get(name)
    return usual if seconds is None else timedelta(seconds=seconds)


@dataclass
class Course:
    """The acts so far, and what they make; what the whole file tells is worked out once."""

    scenario: Scenario
    world: World
    makers: list[Maker] = field(default_factory=list)
    untold: list[Maker] = field(default_factory=list)  # what is done at once, as nobody has asked
    gone: dict[str, Gone] = field(default_factory=dict)
    instances: dict[str, Arrival] = field(init=False)
    _moved: dict[str, timedelta] = field(default_factory=dict)  # VMs that may be anywhere, and since when
    _makers_of: dict[str, list[Maker]] = field(default_factory=dict)  # by the name of the VM
    _is_crossed: bool = False  # a VM may have moved to where other work is

    def __post_init__(self) -> None:
        self.instances = instances_of(self.scenario)

    def go_on(self, act: Act, line: int) -> None:
        """Take one more act into account."""
        if act.do in TO_HOSTS:
            self._do_to_hosts(act, line)
        elif act.do is Deed.SCALE:
            self._scale(act, line)
        elif (vm_there := self.world.vms.get(act.vm or "")) is not None:
            self._do_to_vm(act, line, vm_there)

    @property
    def is_exact(self) -> bool:
        """Whether an act makes an event of a VM once at most, and at its own time.

        A rollout comes to a host when it may, and to a VM again that has moved on. A VM that comes to a host is
        told of what is done to it then. Of instances that a scale set gets later nothing is known.
        """
        return not (self._is_crossed or self._comes_later)

    @cached_property
    def _comes_later(self) -> bool:
        """Whether something comes at a time of its own: a host's turn in a rollout, or an instance."""
        return any(
            act.do is Deed.ROLLOUT or (act.do is Deed.SCALE and self._may_grow(act)) for act in self.scenario.acts
        )

    @cached_property
    def _to_hosts(self) -> list[Act]:
        return [act for act in self.scenario.acts if act.do in TO_HOSTS]

    def _may_grow(self, act: Act) -> bool:
        """Whether a scale set may get instances by it."""
        begins = {each.name: each.capacity for each in self.scenario.fleet.scale_sets}
        times = sum(other.do is Deed.SCALE and other.scale_set == act.scale_set for other in self.scenario.acts)
        return times > 1 or (act.to or 0) > begins.get(act.scale_set or "", 0)

    def guests_in_scope_of(self, vm: Vm) -> Iterator[GuestScript]:
        """Those who read the same document, or may: of an instance that comes later only its set is known."""
        for script in self.scenario.guests:
            other, later = self.world.vms.get(script.vm), self.instances.get(script.vm)
            if (other is None and later and later.scale_set == vm.set_name) or (other and other.scope == vm.scope):
                yield script

    def may_be_off(self, vm: Vm, until: timedelta) -> bool:
        """Whether its scope may be off at some time until then: nobody has asked yet, or not for a day."""
        return not self.scenario.head.enabled or until >= Limits().silence or self.is_made_anew(vm)

    def is_made_anew(self, vm: Vm) -> bool:
        """Whether its scale set may delete it, and make it again."""
        return any(act.do is Deed.SCALE and act.scale_set == vm.set_name for act in self.scenario.acts)

    def makers_of(self, vm: Vm) -> list[Maker]:
        """What makes events of it."""
        return self._makers_of.get(vm.name, [])

    def _make(self, maker: Maker) -> None:
        self.makers.append(maker)
        self._makers_of.setdefault(maker.vm.name, []).append(maker)

    def _do_to_vm(self, act: Act, line: int, vm: Vm) -> None:
        if act.do in _OF_OWNERS:
            kind, cause = _OF_OWNERS[act.do]
            is_born = is_approved_beforehand(self.world, vm, cause)
            maker = Maker(act, line, vm, kind, LEAST_NOTICE[kind], is_born)
            (self._make if self._may_be_told(vm, act.time) else self.untold.append)(maker)
        elif act.do is Deed.EVICT:
            self._make(Maker(act, line, vm, Kind.PREEMPT, LEAST_NOTICE[Kind.PREEMPT]))
            self._overtake(vm, act.time)
        elif act.do is Deed.DELETE:
            self._delete(act, line, vm)
        elif act.do is Deed.CANCEL:
            self.gone.pop(vm.name, None)
        if act.do in {Deed.REDEPLOY, Deed.START}:
            self._move(vm, act)

    def _may_be_told(self, vm: Vm, time: timedelta) -> bool:
        asking = (each for each in self.guests_in_scope_of(vm) if each.starts <= time)
        return self.scenario.head.enabled or any(asking)

    def _do_to_hosts(self, act: Act, line: int) -> None:
        kind, notice = self._kind_of(act), self._notice_of(act)
        for vm in self._may_be_on_host(act):
            self._make(Maker(act, line, vm, kind, notice, act.do is Deed.FAIL))
            if act.do is Deed.FAIL:
                self._overtake(vm, act.time)
            if kind is not Kind.FREEZE or act.by_live_migration:
                self._move(vm, act)

    def _move(self, vm: Vm, by: Act) -> None:
        self._moved.setdefault(vm.name, by.time)
        self._is_crossed = self._is_crossed or any(act is not by for act in self._to_hosts)

    def may_have_moved(self, vm: Vm, time: timedelta) -> bool:
        """Whether it may be elsewhere by then."""
        return self._moved.get(vm.name, timedelta.max) <= time

    def _kind_of(self, act: Act) -> Kind:
        if act.kind is not None:
            return act.kind
        if act.do is Deed.FAIL:
            return Kind(self.scenario.settings.get("failed_host_kind", Kind.REDEPLOY))
        return Kind.REDEPLOY if act.do is Deed.DEGRADE else Kind.FREEZE

    def _notice_of(self, act: Act) -> timedelta:
        least = LEAST_NOTICE[self._kind_of(act)]
        if act.do is Deed.DEGRADE and act.notice is None:
            return DEGRADED_NOTICE if act.risk is None else max(RISK_NOTICE[act.risk], least)
        return act.notice or least

    def _may_be_on_host(self, act: Act) -> list[Vm]:
        """The VMs that may feel what is done to a host, or to the host of a VM."""
        vms = list(self.world.vms.values())
        if act.do is Deed.ROLLOUT:
            return [vm for vm in vms if not act.hosts or vm.host in act.hosts or vm.name in self._moved]
        owner = self.world.vms.get(act.vm or "")
        if owner is not None and owner.name in self._moved:
            return vms
        host = act.host or (owner.host if owner is not None else None)
        return [vm for vm in vms if vm.host == host or vm.name in self._moved]

    def _delete(self, act: Act, line: int, vm: Vm) -> None:
        """It goes, unless that takes too long; of one whose host has failed nothing is certain."""
        notice = vm.terminate_notification
        has_failed = any(each.act.do is Deed.FAIL for each in self.makers_of(vm))
        if notice is not None:
            self._make(Maker(act, line, vm, Kind.TERMINATE, notice))
        takes = self.seconds_of(Action.DELETE)
        if not has_failed and takes < self.action_limit.total_seconds():
            starts_by = act.time + (notice or timedelta(0)) + _SLACK + self.at_work_before
            self.gone[vm.name] = Gone(act.time, starts_by + self.lead + timedelta(seconds=takes), line)

    def _overtake(self, vm: Vm, time: timedelta) -> None:
        """A Terminate that is only scheduled is called off."""
        if (gone := self.gone.get(vm.name)) is not None and time < gone.done_by:
            del self.gone[vm.name]

    # How long things take.

    @property
    def lead(self) -> timedelta:
        """How long Started is seen before a machine is touched."""
        return setting_of(self.scenario, "lead", Limits().lead)

    @property
    def action_limit(self) -> timedelta:
        """After which an action has failed."""
        return setting_of(self.scenario, "action_limit", Limits().action_limit)

    def seconds_of(self, action: Action) -> float:
        """How long a simulated machine takes for it at the most; a pause takes what is announced."""
        return self.seconds.get(action, self._longest_pause_seconds)

    @cached_property
    def seconds(self) -> Mapping[Action, float]:
        """What takes a time of its own, whatever is announced."""
        return {**SECONDS, **self.scenario.settings.get("simulated_seconds", {})}

    @cached_property
    def _longest_pause_seconds(self) -> int:
        return max([FREEZE_SECONDS, *(act.duration_seconds or 0 for act in self.scenario.acts)])

    @cached_property
    def may_fail(self) -> bool:
        """Whether an action may take too long, which leaves a machine as it is then."""
        return max(map(self.seconds_of, Action)) >= self.action_limit.total_seconds()

    @cached_property
    def at_work_before(self) -> timedelta:
        """How long a machine may be at work on everything else: of two things that are due one waits."""
        each = self.lead + timedelta(seconds=max(map(self.seconds_of, Action)))
        acts = [act for act in self.scenario.acts if act.do in AT_WORK]
        hosts = len(self.world.hosts)
        turns = sum(hosts if act.do is Deed.ROLLOUT else 1 for act in acts) - 1
        return turns * min(each, self.lead + self.action_limit)

    def _scale(self, act: Act, line: int) -> None:
        """Those that are too many go; of a set that grows again, those that are gone may be back, anywhere."""
        members = [vm for vm in self.world.vms.values() if vm.set_name == act.scale_set]
        staying = sorted((vm for vm in members if vm.name not in self.gone), key=lambda vm: vm.instance or 0)
        for vm in staying[act.to or 0 :]:
            self._delete(act, line, vm)
        if (act.to or 0) > len(staying):
            for vm in members:
                self.gone.pop(vm.name, None)
                self._move(vm, act)

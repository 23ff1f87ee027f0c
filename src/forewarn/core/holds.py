"""What keeps an operation from starting.

Each hold can say itself in words, with names and times: `waiting_for` is made of nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from forewarn.core.event import Event
from forewarn.core.fleet import Vm
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.policy import nobody_is_up
from forewarn.core.terms import Cause, Kind
from forewarn.core.world import World


def clock_time(at: datetime, now: datetime) -> str:
    """An instant for a reader: the time of day, and the date when it is not today."""
    return f"{at:%H:%M:%SZ}" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M:%SZ}"


@dataclass(frozen=True, slots=True)
class NoticeRuns:
    """An event is neither approved nor has its notice run out."""

    event: Event
    waits_for_approval: bool

    def in_words(self, now: datetime) -> str:
        """The hold for a reader."""
        until = clock_time(self.event.lapses_at, now)
        if not self.waits_for_approval:
            return f"the notice to end at {until} (scope {self.event.scope} is off, nobody there can approve)"
        names = ", ".join(self.event.resources)
        return f"approval from {names} (scope {self.event.scope}) until {until}"


@dataclass(frozen=True, slots=True)
class VmBusy:
    """Another operation is at work on one of the VMs."""

    vm: str
    operation: Operation

    def in_words(self, _now: datetime) -> str:
        """The hold for a reader."""
        return f"{self.operation.title} to end: one action on {self.vm} at a time"


@dataclass(frozen=True, slots=True)
class OtherDomainDown:
    """A VM of another update domain of the same set is down."""

    set_name: str
    update_domain: int
    vm: str
    operation: Operation | None

    def in_words(self, _now: datetime) -> str:
        """The hold for a reader."""
        why = f"until {self.operation.title} ends" if self.operation else f"until {self.vm} is running again"
        return f"update domain {self.update_domain} of {self.set_name}, which is down {why} ({self.vm})"


@dataclass(frozen=True, slots=True)
class TerminatePending:
    """Another Terminate of the same scope is neither approved nor due."""

    event: Event

    def in_words(self, now: datetime) -> str:
        """The hold for a reader."""
        names = ", ".join(self.event.resources)
        until = clock_time(self.event.lapses_at, now)
        return f"approval of the Terminate of {names} ({self.event.short_id}) until {until}"


@dataclass(frozen=True, slots=True)
class VmLeaves:
    """A VM is being evicted from the host, and still there."""

    vm: str
    operation: Operation

    def in_words(self, _now: datetime) -> str:
        """The hold for a reader."""
        return f"{self.operation.title} to end: {self.vm} is still on the host"


@dataclass(frozen=True, slots=True)
class VmComes:
    """A VM is on its way to the host; it gets its own notice when it is there."""

    vm: str
    host: str

    def in_words(self, _now: datetime) -> str:
        """The hold for a reader."""
        return f"{self.vm}, which is on its way to {self.host}"


Hold = NoticeRuns | VmBusy | OtherDomainDown | VmLeaves | VmComes | TerminatePending


class Underway:
    """What has started, counting what the present decision is about to start."""

    def __init__(self) -> None:
        self._starting: set[str] = set()

    def add(self, operation: Operation) -> None:
        """Count an operation as started."""
        self._starting.add(operation.id)

    def started(self, operations: Iterable[Operation], *, but: Operation) -> Iterator[Operation]:
        """Those of the operations that have started or are about to."""
        for operation in operations:
            if operation.id != but.id and (operation.phase is Phase.STARTED or operation.id in self._starting):
                yield operation


def holds(world: World, operation: Operation, now: datetime, underway: Underway | None = None) -> Iterator[Hold]:
    """Everything that keeps a scheduled operation from starting, the notice first."""
    underway = underway or Underway()
    yield from notice_holds(world, operation, now)
    yield from _busy(world, operation, underway)
    if operation.cause.is_planned:
        yield from _other_domains(world, operation, underway)
        if operation.host is not None:
            yield from _traffic(world, operation, operation.host)
    if operation.kind is Kind.TERMINATE:
        yield from _other_terminates(world, operation, now)


def notice_holds(world: World, operation: Operation, now: datetime) -> Iterator[NoticeRuns]:
    """The events that are not cleared.

    Scopes that are off gate nobody: the approval of all others is enough. What starts because time has run out,
    though, starts when every notice has, also one that nobody reads.
    """
    events = [event for event in world.events_of(operation.id) if event.phase is Phase.SCHEDULED]
    gates = [event for event in events if world.scopes[event.scope].is_on]
    if gates and all(event.approvals or nobody_is_up(world, event) for event in gates):
        return
    for event in events:
        if not event.is_cleared(now) and not nobody_is_up(world, event):
            yield NoticeRuns(event, waits_for_approval=event in gates)


def _busy(world: World, operation: Operation, underway: Underway) -> Iterator[VmBusy]:
    for vm in operation.targets:
        for other in underway.started(world.operations_on_vm(vm), but=operation):
            yield VmBusy(vm, other)


def _known(world: World, names: Iterable[str]) -> Iterator[Vm]:
    """The VMs of these names; one that was deleted while others are still worked on is not there any more."""
    return (vm for name in names if (vm := world.vms.get(name)) is not None)


def _other_domains(world: World, operation: Operation, underway: Underway) -> Iterator[OtherDomainDown]:
    domains: dict[str, set[int]] = {}
    for vm in _known(world, operation.targets):
        if vm.set_name is not None:
            domains.setdefault(vm.set_name, set()).add(vm.update_domain)
    for set_name, own in domains.items():
        for other in underway.started(world.operations_in_set(set_name), but=operation):
            if not other.cause.takes_vm_down:
                continue
            for vm in _known(world, other.targets):
                if vm.set_name == set_name and own != {vm.update_domain}:
                    yield OtherDomainDown(set_name, vm.update_domain, vm.name, other)
        for vm in world.down_in_set(set_name):
            if own != {vm.update_domain} and vm.name not in operation.targets:
                yield OtherDomainDown(set_name, vm.update_domain, vm.name, None)


def _traffic(world: World, operation: Operation, host: str) -> Iterator[VmLeaves | VmComes]:
    """The VMs that are about to leave the host for good, and those that are about to come to it."""
    for vm in world.vms_on(host):
        for other in world.operations_on_vm(vm.name):
            if other.cause is Cause.EVICT and vm.name not in operation.targets:
                yield VmLeaves(vm.name, other)
    for vm in world.heading_to(host):
        yield VmComes(vm.name, host)


def _other_terminates(world: World, operation: Operation, now: datetime) -> Iterator[TerminatePending]:
    """Terminates of one scope wait for each other, but never beyond their own NotBefore."""
    for own in world.events_of(operation.id):
        if now >= own.lapses_at:
            continue
        for other in world.events_in(own.scope):
            if (
                other.operation != operation.id
                and other.kind is Kind.TERMINATE
                and other.phase is Phase.SCHEDULED
                and not other.is_cleared(now)
                and not nobody_is_up(world, other)
            ):
                yield TerminatePending(other)

"""What keeps an operation from starting, or from going on.

Each hold can say itself in words, with names and times: `waiting_for` is made of nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from forewarn.core.availability import Shortfall, would_leave
from forewarn.core.event import Event
from forewarn.core.fleet import Vm, domains_of
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.placement import waits_for_host, why_no_host_takes
from forewarn.core.policy import nobody_is_up
from forewarn.core.terms import Cause, Kind
from forewarn.core.underway import Underway
from forewarn.core.world import World

_MOST_NAMED = 5


def clock_time(at: datetime, now: datetime) -> str:
    """An instant for a reader: the time of day, and the date when it is not today."""
    return f"{at:%H:%M:%SZ}" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M:%SZ}"


@dataclass(frozen=True, slots=True)
class NoticeRuns:
    """An event is neither approved nor has its notice run out."""

    event: Event
    is_on: bool  # its scope: somebody there may approve
    outlasted_by: Event | None = None  # one that nobody reads, with a longer notice: only approval makes it moot

    def in_words(self, now: datetime) -> str:
        """The hold for a reader."""
        scope, last = self.event.scope, self.outlasted_by or self.event
        until = clock_time(last.lapses_at, now)
        if not self.is_on:
            who = (
                f"postponed by {self.event.postponed_by}"
                if self.event.postponed_by
                else "nobody there can approve"
            )
            return f"the notice to end at {until} (scope {scope} is off, {who})"
        too = "" if self.outlasted_by is None else f", when the notice of scope {last.scope} has ended too"
        return f"approval from {', '.join(self.event.resources)} (scope {scope}) until {until}{too}"


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
class BelowMinimum:
    """A set would be left with fewer available VMs than its owner wants."""

    shortfall: Shortfall
    operation: Operation
    until: datetime | None  # when the work goes ahead all the same; None: not before there are enough

    def in_words(self, now: datetime) -> str:
        """The hold for a reader."""
        short = self.shortfall
        names = ", ".join(short.lost[:_MOST_NAMED])
        more = f" and {len(short.lost) - _MOST_NAMED} more" if len(short.lost) > _MOST_NAMED else ""
        at_last = "" if self.until is None else f", until {clock_time(self.until, now)}"
        return (
            f"{short.set_name} to have {short.needed} available{at_last} (its minimum is {short.minimum}; "
            f"{short.available} are, and {self.operation.host or 'this work'} has {len(short.lost)} of them: "
            f"{names}{more})"
        )


@dataclass(frozen=True, slots=True)
class SetBusy:
    """A set is short, and work that waits for its minimum no more still goes one after the other."""

    set_name: str
    minimum: int
    operation: Operation

    def in_words(self, _now: datetime) -> str:
        """The hold for a reader."""
        return (
            f"{self.operation.title} to end: work that takes {self.set_name} below its minimum of {self.minimum} "
            "goes one after the other"
        )


@dataclass(frozen=True, slots=True)
class TerminatePending:
    """Another Terminate of the same scope is neither approved nor due."""

    event: Event
    until: datetime  # when one of both is due

    def in_words(self, now: datetime) -> str:
        """The hold for a reader."""
        names = ", ".join(self.event.resources)
        until = clock_time(self.until, now)
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


@dataclass(frozen=True, slots=True)
class Recovering:
    """Another update domain of the set was worked on by the same rollout, and is given time to recover."""

    set_name: str
    update_domain: int
    until: datetime

    def in_words(self, now: datetime) -> str:
        """The hold for a reader."""
        return (
            f"update domain {self.update_domain} of {self.set_name} to recover until {clock_time(self.until, now)}"
        )


@dataclass(frozen=True, slots=True)
class WindowClosed:
    """Machines may be touched only while the rollout's window is open."""

    until: datetime | None
    is_forced: bool = False  # from then on it counts no more, open or not

    def in_words(self, now: datetime) -> str:
        """The hold for a reader."""
        if self.until is None:
            return "the window, which does not open any more"
        what = (
            "the force-by date, as the window does not open before:"
            if self.is_forced
            else "the window, which opens"
        )
        return f"{what} {self.until:%a} {clock_time(self.until, now)}"


@dataclass(frozen=True, slots=True)
class TooManyAtWork:
    """As many hosts of the rollout are at work as may be."""

    most: int
    hosts: tuple[str, ...]

    def in_words(self, _now: datetime) -> str:
        """The hold for a reader."""
        return f"one of {', '.join(self.hosts)} to be done: {self.most} hosts of the rollout work at once"


@dataclass(frozen=True, slots=True)
class NoHostTakes:
    """A VM whose host has failed is to come up elsewhere, and no host may take it."""

    vm: str
    why: str

    def in_words(self, _now: datetime) -> str:
        """The hold for a reader."""
        return f"a host that may take {self.vm} ({self.why})"


Hold = (
    NoticeRuns
    | VmBusy
    | OtherDomainDown
    | BelowMinimum
    | SetBusy
    | VmLeaves
    | VmComes
    | TerminatePending
    | Recovering
    | WindowClosed
    | TooManyAtWork
)


def holds(world: World, operation: Operation, now: datetime, underway: Underway | None = None) -> Iterator[Hold]:
    """Everything that keeps a scheduled operation from starting, the notice first."""
    underway = underway or Underway()
    yield from notice_holds(world, operation, now)
    yield from _busy(world, operation, underway)
    if operation.cause.is_planned:
        yield from _other_domains(world, operation, underway)
        yield from _minimums(world, operation, now, underway)
        if operation.host is not None:
            yield from _traffic(world, operation, operation.host)
    if operation.kind is Kind.TERMINATE:
        yield from _other_terminates(world, operation, now)
    yield from rollout_holds(world, operation, now)
    yield from _others_at_work(world, operation, underway)


def _others_at_work(world: World, operation: Operation, underway: Underway) -> Iterator[TooManyAtWork]:
    """A host that comes back from a postponement finds others at work."""
    rollout = world.rollouts.get(operation.rollout or "")
    if rollout is None or not world.book_of(rollout.id).had_postponed:
        return
    book, work = world.book_of(rollout.id), rollout.work
    others = [world.operations[each] for each in book.operations() if each in world.operations]
    started = [each.host or "" for each in underway.started(others, but=operation)]
    zone = book.turns[operation.host or ""].zone
    beside = [host for host in started if book.turns[host].zone == zone]
    if len(started) >= work.max_parallel:
        yield TooManyAtWork(work.max_parallel, tuple(started))
    elif work.max_parallel_per_zone is not None and len(beside) >= work.max_parallel_per_zone:
        yield TooManyAtWork(work.max_parallel_per_zone, tuple(beside))


def rollout_holds(world: World, operation: Operation, now: datetime) -> Iterator[Recovering | WindowClosed]:
    """What keeps a rollout's own operations: another update domain that recovers, and the window."""
    rollout = world.rollouts.get(operation.rollout or "")
    if rollout is None or not operation.targets:
        return
    book = world.book_of(rollout.id)
    for set_name, own in domains_of(_known(world, operation.targets)).items():
        for domain, ended in book.other_ends(set_name, own):
            if now < ended + rollout.work.recovery:
                yield Recovering(set_name, domain, ended + rollout.work.recovery)
    window = rollout.work.window_at(now)
    if window is not None:
        opens = window.fit(now, rollout.work.expected)
        if opens != now:
            last = rollout.work.force_by
            is_forced = last is not None and (opens is None or last < opens)
            yield WindowClosed(last if is_forced else opens, is_forced)


def host_holds(world: World, operation: Operation) -> Iterator[NoHostTakes]:
    """What keeps an operation that has started from bringing VMs back from a failed host."""
    for vm in _known(world, operation.targets):
        if waits_for_host(world, operation, vm.name):
            yield NoHostTakes(vm.name, why_no_host_takes(world, vm))


def notice_holds(world: World, operation: Operation, now: datetime) -> Iterator[NoticeRuns]:
    """The events that are not cleared.

    Scopes that are off gate nobody: the approval of all others is enough. What starts because time has run out,
    though, starts when every notice has, also one that nobody reads. Whoever postponed an event is waited for.
    """
    gates: list[Event] = []
    unread: list[Event] = []  # nobody is asked about these, and no approval there is needed
    for event in world.events_of(operation.id):
        if event.phase is Phase.SCHEDULED:
            (gates if world.scopes[event.scope].is_on or event.postponed_by else unread).append(event)
    asked = [event for event in gates if not event.approvals and not nobody_is_up(world, event)]
    running = [event for event in unread if not event.is_cleared(now) and not nobody_is_up(world, event)]
    if not gates:
        yield from (NoticeRuns(event, is_on=False) for event in running)
    last = max(running, key=lambda event: event.lapses_at, default=None)
    for event in asked:
        outlasted_by = last if last is not None and last.lapses_at > event.lapses_at else None
        if outlasted_by is not None or not event.is_cleared(now):
            yield NoticeRuns(event, world.scopes[event.scope].is_on, outlasted_by)


def _busy(world: World, operation: Operation, underway: Underway) -> Iterator[VmBusy]:
    for vm in operation.targets:
        for other in underway.started(world.operations_on_vm(vm), but=operation):
            if not waits_for_host(world, other, vm):  # that may be long, and nothing is done to the VM
                yield VmBusy(vm, other)


def _known(world: World, names: Iterable[str]) -> Iterator[Vm]:
    """The VMs of these names; one that was deleted while others are still worked on is not there any more."""
    return (vm for name in names if (vm := world.vms.get(name)) is not None)


def _other_domains(world: World, operation: Operation, underway: Underway) -> Iterator[OtherDomainDown]:
    domains = domains_of(_known(world, operation.targets))
    others = {
        other.id: other
        for set_name in domains
        for other in underway.started(world.operations_in_set(set_name), but=operation)
        if other.cause.takes_vm_down
    }
    for other in others.values():
        for vm in _known(world, other.targets):
            if vm.set_name in domains and domains[vm.set_name] != {vm.update_domain}:
                yield OtherDomainDown(vm.set_name, vm.update_domain, vm.name, other)
    for set_name, own in domains.items():
        for vm in world.down_in_set(set_name):
            if own != {vm.update_domain} and vm.name not in operation.targets:
                yield OtherDomainDown(set_name, vm.update_domain, vm.name, None)


def _minimums(
    world: World, operation: Operation, now: datetime, underway: Underway
) -> Iterator[BelowMinimum | SetBusy]:
    """The sets that are to have more VMs available first.

    A host that is about to fail does not wait for them beyond its notice: it would take them down all the same,
    and without a word. A rollout does not wait for them beyond its force-by date. From then on it only waits its
    turn, until what else is at work on the set has ended.
    """
    rollout = world.rollouts.get(operation.rollout or "")
    ends = [event.notice_ends_at for event in world.events_of(operation.id) if event.phase is Phase.SCHEDULED]
    until = max(ends, default=now) if operation.cause is Cause.DEGRADE else None
    if rollout is not None:
        until = rollout.work.force_by
    for shortfall in would_leave(world, operation.targets, underway):
        if until is None or now < until:
            yield BelowMinimum(shortfall, operation, until)
        else:
            others = underway.started(world.operations_in_set(shortfall.set_name), but=operation)
            yield from (SetBusy(shortfall.set_name, shortfall.minimum, other) for other in others)


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
                yield TerminatePending(other, min(own.lapses_at, other.lapses_at))

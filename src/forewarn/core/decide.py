"""What should happen next, as a pure function of what is and of what time it is.

`decide` looks only at the operations that it is given; it neither changes the world nor calls a driver. The
plane carries out its intents in the order in which they come.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from forewarn.core.holds import holds, rollout_holds
from forewarn.core.operation import Operation, Outcome
from forewarn.core.phase import Phase
from forewarn.core.placement import waits_for_host
from forewarn.core.terms import Kind, VmState
from forewarn.core.underway import Underway
from forewarn.core.world import World


@dataclass(frozen=True, slots=True)
class AttemptReport:
    """A driver's word on an attempt that has ended."""

    operation: str
    vm: str
    outcome: Outcome
    reason: str = ""
    state: VmState | None = None  # what the machine is now, where the driver knows
    host: str | None = None  # where it is now, where the driver knows


Reports = Mapping[tuple[str, str], AttemptReport]


@dataclass(frozen=True, slots=True)
class Start:
    """Nothing holds the operation: say Started, touch nothing yet."""

    operation: str


@dataclass(frozen=True, slots=True)
class Begin:
    """Started was visible long enough: record an attempt for each of these machines, then act."""

    operation: str
    vms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conclude:
    """A machine is done with, well or badly."""

    report: AttemptReport


@dataclass(frozen=True, slots=True)
class LetGo:
    """These machines and their events are done with; they are not to wait for others, which may wait long."""

    operation: str
    vms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """All machines are done with: the events leave the documents."""

    operation: str


Intent = Start | Begin | Conclude | LetGo | Finish


def operation_of(intent: Intent) -> str:
    """The operation that an intent is about."""
    return intent.report.operation if isinstance(intent, Conclude) else intent.operation


def decide(world: World, due: Iterable[str], now: datetime, reports: Reports | None = None) -> list[Intent]:
    """What to do about the operations in `due`, oldest first, given what drivers report.

    What has started goes on first, by itself: how it ends may change what else may start.
    """
    operations = [world.operations[each] for each in due if each in world.operations]
    # Planned work comes last, so that it sees what else goes down at this moment.
    operations.sort(key=lambda operation: (operation.cause.is_planned, operation.created_at, operation.id))
    in_hand: set[str] = set()
    going_on: list[Intent] = []
    for operation in operations:
        if operation.phase is Phase.STARTED:
            for intent in _go_on(world, operation, now, reports or {}, in_hand):
                going_on.append(intent)
                if isinstance(intent, Begin):
                    in_hand.update(intent.vms)
    return going_on or list(_starts(world, operations, now))


def _starts(world: World, operations: Iterable[Operation], now: datetime) -> Iterator[Intent]:
    underway = Underway()
    for operation in operations:
        if operation.phase is Phase.SCHEDULED and not any(holds(world, operation, now, underway)):
            underway.add(operation)
            yield Start(operation.id)


def _go_on(
    world: World, operation: Operation, now: datetime, reports: Reports, in_hand: Collection[str]
) -> Iterator[Intent]:
    """What to do about an operation that has started; `in_hand` are the machines on which others are to begin."""
    if operation.begin_at is None or now < operation.begin_at:
        return
    attempts = {attempt.vm: attempt for attempt in world.attempts_of(operation.id)}
    yield from (
        Conclude(reports[attempt.key])
        for attempt in attempts.values()
        if attempt.outcome is None and attempt.key in reports
    )
    left = [vm for vm in operation.targets if vm not in attempts]
    free = [vm for vm in left if vm not in in_hand and not _is_in_hand(world, vm)]
    ready = tuple(vm for vm in free if not waits_for_host(world, operation, vm))
    if ready:
        yield Begin(operation.id, ready)
    elif all(vm in attempts and (attempts[vm].outcome or attempts[vm].key in reports) for vm in operation.targets):
        yield Finish(operation.id)
    elif free and (done := tuple(_done_with(world, operation))):
        yield LetGo(operation.id, done)


def _done_with(world: World, operation: Operation) -> Iterator[str]:
    """The machines of those events that name no other than such as the operation is done with."""
    ended = {attempt.vm for attempt in world.attempts_of(operation.id) if attempt.outcome is not None}
    for event in world.events_of(operation.id):
        if event.phase.is_open and ended.issuperset(event.resources):
            yield from event.resources


def _is_in_hand(world: World, vm: str) -> bool:
    """Whether an attempt on the machine is still under way."""
    for operation in world.operations_on_vm(vm):
        attempt = world.attempts.get((operation.id, vm))
        if attempt is not None and attempt.outcome is None:
            return True
    return False


def next_look(world: World, operation: Operation, now: datetime) -> datetime | None:
    """When time alone may change what `decide` says of the operation; None: only something else can."""
    if operation.phase is Phase.STARTED:
        return operation.begin_at if operation.begin_at and operation.begin_at > now else None
    instants = [
        instant
        for event in world.events_of(operation.id)
        if event.phase is Phase.SCHEDULED
        for instant in (event.lapses_at, event.notice_ends_at)
    ]
    if operation.kind is Kind.TERMINATE:
        for event in list(world.events_of(operation.id)):
            instants += [other.lapses_at for other in world.events_in(event.scope)]
    rollout = world.rollouts.get(operation.rollout or "")
    if rollout is not None and rollout.work.force_by is not None:
        instants.append(rollout.work.force_by)
    instants += [hold.until for hold in rollout_holds(world, operation, now) if hold.until is not None]
    return min((instant for instant in instants if instant > now), default=None)

"""The control plane: a synchronous machine over a store, a driver and a board.

Every change is one commit: read what is newest, let a rule write a draft, keep it, show it, and only then act.
Nothing here knows of threads or sockets; `tick` waits for nothing but the store.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from forewarn.board.board import Board
from forewarn.clock import Clock
from forewarn.control.hands import Hands
from forewarn.control.polls import PollLedger
from forewarn.control.wakes import Wakes
from forewarn.core.carry_out import carry_out
from forewarn.core.decide import Intent, decide, next_look
from forewarn.core.document import document_of
from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.fleet import Vm
from forewarn.core.fleet_check import Problem
from forewarn.core.fleet_plan import plan_fleet
from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.neighbours import concerned
from forewarn.core.notice import Rules
from forewarn.core.operation import Operation
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests import clocks, hosts, notices, vms
from forewarn.core.scope import Scope
from forewarn.core.settle import settle
from forewarn.core.terms import Cause
from forewarn.core.world import Changes, World
from forewarn.drivers.base import Driver
from forewarn.store.sql import ClockMark, SqlStore, Transaction

log = structlog.get_logger()

PLANE = "forewarn"  # the actor of what nobody asked for by name
_STEP_WORTH_NOTICING = timedelta(seconds=1)
_MOST_ROUNDS = 1000  # of one tick; what is left comes in the next
_MOST_INTENTS = 500  # of one commit


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request was committed: this operation, with these events."""

    operation: Operation
    events: tuple[Event, ...]


Write = Callable[[Draft], Refusal | None]


class ControlPlane:
    """Takes requests, ticks, and keeps world, store and board the same."""

    def __init__(
        self,
        *,
        store: SqlStore,
        driver: Driver,
        board: Board,
        clock: Clock,
        rules: Rules | None = None,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self.world = World()
        self.rules = rules or Rules()
        self.clock = clock
        self.board = board
        self.store = store
        self.polls = PollLedger(board, clock, self.rules.silence)
        self.ended: Counter[str] = Counter()  # operations by outcome, since the plane was opened
        self.observers: list[Callable[[Changes], None]] = []
        self._new_id = new_id
        self._hands = Hands(driver)
        self._looks: Wakes[str] = Wakes()
        self._due: set[str] = set()
        self._seen_now = clock.now()
        self._seen_elapsed = clock.elapsed()

    def open(self) -> None:
        """Take over what the store holds and go on where it was left."""
        with self.store.transaction() as transaction:
            for entity in transaction.everything():
                self.world.take(entity)
            self.world.number = transaction.number
            polled = transaction.polls()
            mark = transaction.mark()
        now = self.clock.now()
        on = {scope.id for scope in self.world.scopes.values() if scope.is_on}
        self.polls.restore(polled, self._time_away(mark), on)
        self._show(self.world.scopes.values(), self.world.vms.values())
        self._hands.pick_up(self.world.attempts.values(), now)
        self._due.update(self.world.operations)

    def _time_away(self, mark: ClockMark | None) -> timedelta:
        """How long nobody could be heard; a step of the clock in that time is left for the first tick."""
        if mark is None:
            return timedelta(0)
        if mark.epoch != self.clock.epoch:
            return max(timedelta(0), self.clock.now() - mark.now)
        self._seen_now, self._seen_elapsed = mark.now, mark.elapsed
        return self.clock.elapsed() - mark.elapsed

    # Requests.

    def ask_for_vm(self, cause: Cause, vm: str, actor: str) -> Accepted | Refusal:
        """A user's operation on one VM."""
        operation = self._new_id()
        return self._ask(operation, actor, lambda draft: vms.ask_for_vm(draft, cause, vm, operation, self.rules))

    def evict(self, vm: str, actor: str) -> Accepted | Refusal:
        """Take a Spot VM's capacity back."""
        operation = self._new_id()
        return self._ask(operation, actor, lambda draft: vms.evict(draft, vm, operation, self.rules))

    def maintain(self, host: str, asked: hosts.Maintenance, actor: str) -> Accepted | Refusal:
        """Planned work on a host."""
        operation = self._new_id()
        return self._ask(operation, actor, lambda draft: hosts.maintain(draft, host, asked, operation, self.rules))

    def degrade(self, host: str, notice: timedelta | None, actor: str) -> Accepted | Refusal:
        """A host is expected to fail."""
        operation = self._new_id()
        return self._ask(operation, actor, lambda draft: hosts.degrade(draft, host, notice, operation, self.rules))

    def fail(self, host: str, actor: str) -> Accepted | Refusal:
        """A host has failed."""
        operation = self._new_id()
        return self._ask(operation, actor, lambda draft: hosts.fail(draft, host, operation, self.rules))

    def recover(self, host: str, actor: str) -> Refusal | None:
        """A host is well again."""
        return self.change(actor, lambda draft: hosts.recover(draft, host))

    def cancel(self, operation: str, actor: str) -> Refusal | None:
        """Call off an operation that has not started."""

        def write(draft: Draft) -> Refusal | None:
            found = self.world.operations.get(operation)
            if found is None:
                return Refusal(Code.ILLEGAL_STEP, f"Operation {operation} is not open; it cannot be cancelled.")
            return notices.call_off(draft, found, self.rules)

        return self.change(actor, write)

    def approve(self, event: str, actor: str) -> Refusal | None:
        """An operator's approval of one event."""

        def write(draft: Draft) -> Refusal | None:
            found = self.world.events.get(event)
            if found is None or not found.phase.is_open:
                return Refusal(Code.ILLEGAL_STEP, f"Event {event} is not open; it cannot be approved.")
            notices.approve_events(draft, [found], actor)
            return None

        return self.change(actor, write)

    def approve_as_guest(self, vm: str, events: Iterable[str]) -> Refusal | None:
        """A guest's approval of events in its scope: all of them or none."""

        def write(draft: Draft) -> Refusal | None:
            guest = self.world.vms.get(vm)
            if guest is None:
                return Refusal(Code.NOT_FOUND, f"There is no VM {vm}.")
            found = [self.world.events.get(event) for event in events]
            known = [event for event in found if event and event.phase.is_open and event.scope == guest.scope]
            if len(known) != len(found):
                return Refusal(Code.NOT_FOUND, "An EventId is not that of an open event of this virtual machine")
            notices.turn_on(draft, guest.scope, vm, self.rules)
            notices.approve_events(draft, known, vm)
            return None

        return self.change(vm, write, polled_by=vm)

    def first_poll(self, vm: str) -> Refusal | None:
        """A guest of a scope that is off has asked: committed before it is answered."""

        def write(draft: Draft) -> Refusal | None:
            guest = self.world.vms.get(vm)
            if guest is None:
                return Refusal(Code.NOT_FOUND, f"There is no VM {vm}.")
            notices.turn_on(draft, guest.scope, vm, self.rules)
            return None

        return self.change(vm, write, polled_by=vm)

    def apply_fleet(self, spec: FleetSpec, actor: str) -> list[str] | list[Problem]:
        """Make the fleet what the description says: the differences, or the problems and no change."""
        outcome: list[str] | list[Problem] = []

        def write(draft: Draft) -> Refusal | None:
            nonlocal outcome
            plan = plan_fleet(self.world, spec, self._new_id())
            outcome = plan.problems or plan.differences
            if plan.problems:
                return Refusal(Code.NOT_ALLOWED, "The fleet cannot be applied.")
            if plan.differences:
                plan.write(draft)
            return None

        self.change(actor, write)
        return outcome

    # Commits.

    def _ask(self, operation: str, actor: str, write: Write) -> Accepted | Refusal:
        refusal = self.change(actor, write)
        if refusal is not None:
            return refusal
        return Accepted(self.world.operations[operation], tuple(self.world.events_of(operation)))

    def change(self, actor: str, write: Write, *, polled_by: str | None = None) -> Refusal | None:
        """Let a rule write a draft, and commit it; a refusal changes nothing."""
        with self.store.transaction() as transaction:
            self._catch_up(transaction)
            now = self.clock.now()
            draft = Draft(self.world, now, actor)
            refusal = write(draft)
            if refusal is not None or draft.is_empty:
                return refusal
            changes = self._keep(transaction, draft)
            if polled_by is not None:
                scope = self.world.vms[polled_by].scope
                self.polls.note(scope, now)
                transaction.keep_polls({scope: now})
        self._publish(changes)
        return None

    def _keep(self, transaction: Transaction, draft: Draft) -> Changes:
        settle(draft, self.rules)
        changes = draft.seal()
        transaction.write(changes, self._mark())
        return changes

    def _mark(self) -> ClockMark:
        return ClockMark(self.clock.epoch, self.clock.elapsed(), self.clock.now())

    def _catch_up(self, transaction: Transaction) -> None:
        """Take over what others committed, or what we committed without hearing of it."""
        if transaction.number == self.world.number:
            return
        news = list(transaction.news(self.world.number))
        self._publish(Changes(transaction.number, tuple(news)))
        self._hands.pick_up(self.world.attempts.values(), self.clock.now())

    def _publish(self, changes: Changes) -> None:
        """Show a commit: the world, the board, the next tick and the observers learn of it, in this order."""
        self.world.apply(changes)
        for entity in changes.entities:
            if isinstance(entity, Operation) and not entity.phase.is_open:
                self.ended[entity.phase] += 1
        scopes = [entity for entity in changes.entities if isinstance(entity, Scope)]
        self._show(scopes, [entity for entity in changes.entities if isinstance(entity, Vm)])
        self._due |= concerned(self.world, changes.entities)
        for observe in self.observers:
            observe(changes)

    def _show(self, scopes: Iterable[Scope], machines: Iterable[Vm]) -> None:
        for scope in scopes:
            if not scope.is_on or scope.is_gone:
                self.polls.forget(scope.id)
            if scope.is_gone:
                self.board.remove(scope.id)
            else:
                self.board.post(document_of(self.world, scope.id), is_on=scope.is_on)
        self.board.seat(machines)

    # Time.

    def tick(self) -> None:
        """Do all that is due now."""
        now = self.clock.now()
        self._allow_for_step(now)
        self._turn_off_the_silent(now)
        for _ in range(_MOST_ROUNDS):
            reports = self._hands.reports(self.world, now)
            due = self._take_due(now) | {operation for operation, _ in reports}
            if not due:
                return
            try:
                is_done = self._act(decide(self.world, due, now, reports), now)
            except BaseException:
                self._due |= due  # nothing is lost: the next tick decides anew
                raise
            if is_done:
                self._plan_looks(due, now)
            else:
                self._due |= due

    def _plan_looks(self, operations: Iterable[str], now: datetime) -> None:
        for operation in operations:
            found = self.world.operations.get(operation)
            self._looks.set(operation, next_look(self.world, found, now) if found else None)

    def _take_due(self, now: datetime) -> set[str]:
        due, self._due = self._due, set()
        return due.union(self._looks.take(now))

    def _act(self, intents: list[Intent], now: datetime) -> bool:
        """Commit what was decided, show it, and only then touch machines; False: decided on an older state."""
        for start in range(0, len(intents), _MOST_INTENTS):
            with self.store.transaction() as transaction:
                if transaction.number != self.world.number:
                    self._catch_up(transaction)
                    return False
                draft = Draft(self.world, now, PLANE)
                to_begin = carry_out(draft, intents[start : start + _MOST_INTENTS], self.rules)
                changes = self._keep(transaction, draft)
            self._publish(changes)
            self._hands.begin(to_begin, now)
        return True

    def _allow_for_step(self, now: datetime) -> None:
        """Notice when the wall clock and elapsed time disagree, and keep the promises all the same."""
        elapsed = self.clock.elapsed()
        step = (now - self._seen_now) - (elapsed - self._seen_elapsed)
        if abs(step) < _STEP_WORTH_NOTICING:
            self._seen_now, self._seen_elapsed = now, elapsed
            return

        def write(draft: Draft) -> None:
            clocks.allow_for_step(draft, step)

        log.warning("clock stepped", step_s=step.total_seconds())
        self.change(PLANE, write)
        self.polls.shift(step)
        self._seen_now, self._seen_elapsed = now, elapsed
        self._due.update(self.world.operations)

    def _turn_off_the_silent(self, now: datetime) -> None:
        self.polls.collect()
        silent = [scope for scope in self.polls.silent(now) if scope in self.world.scopes]
        if not silent:
            return

        def write(draft: Draft) -> None:
            for scope in silent:
                notices.turn_off(draft, scope, self.rules.silence)

        self.change(PLANE, write)

    def flush(self) -> None:
        """Write down who has polled and what the clocks show."""
        self.polls.collect()
        unwritten = self.polls.take_unwritten()
        try:
            with self.store.transaction() as transaction:
                transaction.keep_polls(unwritten)
                transaction.keep_mark(self._mark())
        except BaseException:
            self.polls.put_back(unwritten)
            raise

    def next_wake(self) -> datetime | None:
        """When the next tick has something to do."""
        if self._due:
            return self.clock.now()
        instants = (self._looks.next(), self._hands.next_look(), self.polls.next_deadline())
        return min((instant for instant in instants if instant is not None), default=None)

"""The control plane: a synchronous machine over a store, a driver and a board.

Every change is one commit: read what is newest, let a rule write a draft, keep it, show it, and only then act.
Nothing here knows of threads or sockets; `tick` waits for nothing but the store.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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
from forewarn.core.requests import clocks, hosts, lateness, notices, vms
from forewarn.core.requests.machines import Workshop
from forewarn.core.scope import Scope
from forewarn.core.settle import settle
from forewarn.core.terms import Cause
from forewarn.core.world import Changes, Entity, World
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
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.world = World()
        self.rules = rules or Rules()
        self.clock = clock
        self.board = board
        self.store = store
        self.polls = PollLedger(board, clock, self.rules.silence, monotonic)
        self.ended: Counter[str] = Counter()  # operations by outcome, since the plane was opened
        self.observers: list[Callable[[Changes], None]] = []
        self._new_id = new_id
        self.workshop = Workshop(new_id, driver.makes_machines, self.rules)
        self._hands = Hands(driver)
        self._looks: Wakes[str, datetime] = Wakes()
        self._due: set[str] = set()
        self._unshown: list[Entity] = []  # in the world, not yet on the board
        self._shown = 0  # the last commit that was shown
        self._seen_now = clock.now()
        self._seen_elapsed = clock.elapsed()

    def open(self) -> None:
        """Take over what the store holds and go on where it was left."""
        with self.store.transaction() as transaction:
            everything = tuple(transaction.everything())
            self.world.apply(Changes(transaction.number, everything))
            self._unshown.extend(everything)
            self._shown = transaction.shown
            mark = transaction.mark()
            polled = transaction.polls()
        on = {scope: at for scope, at in polled.items() if scope in self.world.scopes}
        self.polls.restore(on, mark.now if mark else self.clock.now())
        self._synchronise()

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
            self.polls.note(guest.scope)
            return None

        return self.change(vm, write)

    def first_poll(self, vm: str) -> Refusal | None:
        """A guest of a scope that is off has asked: committed before it is answered."""

        def write(draft: Draft) -> Refusal | None:
            guest = self.world.vms.get(vm)
            if guest is None:
                return Refusal(Code.NOT_FOUND, f"There is no VM {vm}.")
            notices.turn_on(draft, guest.scope, vm, self.rules)
            self.polls.note(guest.scope)
            return None

        return self.change(vm, write)

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

    def change(self, actor: str, write: Write) -> Refusal | None:
        """Let a rule write a draft, and commit it; a refusal changes nothing."""
        self._allow_for_step()
        return self._commit(actor, write)

    def _commit(self, actor: str, write: Write) -> Refusal | None:
        changes: Changes | None = None
        while True:
            with self.store.transaction() as transaction:
                if self._is_current(transaction):
                    draft = Draft(self.world, self.clock.now(), actor)
                    refusal = write(draft)
                    if refusal is None and not draft.is_empty:
                        changes = self._keep(transaction, draft)
                    break
            self._synchronise()
        if changes is not None:
            self._publish(changes)
        return refusal

    def _keep(self, transaction: Transaction, draft: Draft) -> Changes:
        settle(draft, self.rules)
        changes = draft.seal()
        transaction.write(changes, self._mark(), self._shown)
        transaction.keep_polls(self.polls.urgent())
        return changes

    def _mark(self) -> ClockMark:
        return ClockMark(self.clock.epoch, self.clock.elapsed(), self.clock.now())

    def _is_current(self, transaction: Transaction) -> bool:
        return transaction.number == self.world.number and not self._unshown

    def _synchronise(self) -> None:
        """Take over what others committed, or what we committed without hearing of it.

        What could not be read in time is promised anew before it is shown.
        """
        with self.store.transaction() as transaction:
            if transaction.number != self.world.number:
                news = tuple(transaction.news(self.world.number))
                self.world.apply(Changes(transaction.number, news))
                self._unshown.extend(news)
            self._remember_clock(transaction.mark())
            draft = Draft(self.world, self.clock.now(), PLANE)
            self._write_step(draft)
            lateness.make_up_for_lateness(draft, self._unshown, self._shown, self.rules)
            changes = None if draft.is_empty else self._keep(transaction, draft)
        if changes is not None:
            self.polls.urgent_is_written()
            self.world.apply(changes)
            self._unshown.extend(changes.entities)
        self._see_clock()
        unshown, self._unshown = self._unshown, []
        self._show(unshown)
        self._hands.pick_up(self.world.attempts.values(), self.clock.now())

    def _publish(self, changes: Changes) -> None:
        """Take over a commit and show it."""
        self.polls.urgent_is_written()
        self.world.apply(changes)
        self._show(changes.entities)

    def _show(self, entities: Sequence[Entity]) -> None:
        """The board, the next tick and the observers learn of what was committed, in this order."""
        scopes = {entity.id: entity for entity in entities if isinstance(entity, Scope)}
        for scope in scopes.values():
            if not scope.is_on or scope.is_gone:
                self.polls.forget(scope.id)
            if scope.is_gone:
                self.board.remove(scope.id)
            else:
                self.board.post(scope.id, document_of(self.world, scope.id), is_on=scope.is_on)
        self.board.seat(entity for entity in entities if isinstance(entity, Vm))
        self._shown = self.world.number
        self._due |= concerned(self.world, entities)
        for entity in entities:
            if isinstance(entity, Operation) and not entity.phase.is_open:
                self.ended[entity.phase] += 1
        changes = Changes(self.world.number, tuple(entities))
        for observe in self.observers:
            observe(changes)

    # Time.

    def tick(self) -> None:
        """Do all that is due now."""
        now = self.clock.now()
        self._allow_for_step()
        self._turn_off_the_silent()
        for _ in range(_MOST_ROUNDS):
            reports = self._hands.reports(self.world, now)
            due = self._take_due(now) | {operation for operation, _ in reports}
            if not due:
                return
            intents = decide(self.world, due, now, reports)
            if not intents:
                self._plan_looks(due, now)
                continue
            self._due |= due  # until there is nothing more to say of it, whatever goes wrong
            if not self._act(intents, now):
                self._synchronise()

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
                if not self._is_current(transaction):
                    return False
                draft = Draft(self.world, now, PLANE)
                to_begin = carry_out(draft, intents[start : start + _MOST_INTENTS], self.rules)
                changes = self._keep(transaction, draft)
            self._publish(changes)
            self._hands.begin(to_begin, now)
        return True

    # The wall clock may be stepped; what was promised was promised in elapsed time too.

    def _remember_clock(self, mark: ClockMark | None) -> None:
        """Compare with what the clocks showed at the last commit, which an earlier process may have made."""
        if mark is not None and mark.epoch == self.clock.epoch:
            self._seen_now, self._seen_elapsed = mark.now, mark.elapsed

    def _see_clock(self) -> None:
        self._seen_now, self._seen_elapsed = self.clock.now(), self.clock.elapsed()

    def _step(self) -> timedelta:
        """By how much the wall clock was stepped since it was last looked at."""
        passed = self.clock.elapsed() - self._seen_elapsed
        step = (self.clock.now() - self._seen_now) - passed
        return step if abs(step) >= _STEP_WORTH_NOTICING else timedelta(0)

    def _write_step(self, draft: Draft) -> None:
        if step := self._step():
            log.warning("clock stepped", step_s=step.total_seconds())
            clocks.allow_for_step(draft, step)
            self.polls.all_is_urgent()

    def _allow_for_step(self) -> None:
        """Notice a step before anything else is written, and keep the promises all the same."""
        if self._step():
            self._commit(PLANE, self._write_step)
            self._due.update(self.world.operations)
        self._see_clock()

    def _turn_off_the_silent(self) -> None:
        self.polls.collect()
        silent = [scope for scope in self.polls.silent() if scope in self.world.scopes]
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
                transaction.keep_mark(self._mark(), self._shown)
        except BaseException:
            self.polls.put_back(unwritten)
            raise

    def next_wake(self) -> datetime | None:
        """When the next tick has something to do."""
        if self._due:
            return self.clock.now()
        instants = (self._looks.next(), self._hands.next_look(), self.polls.next_deadline())
        return min((instant for instant in instants if instant is not None), default=None)

"""The control plane: a synchronous machine over a store, a driver and a board.

Every change is one commit: read what is newest, let a rule write a draft, keep it, show it, and only then act.
Nothing here knows of threads or sockets; `tick` waits for nothing but the store.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from forewarn.board.board import Board
from forewarn.board.faults import FaultBook
from forewarn.clock import Clock
from forewarn.control.attempt_tracker import AttemptTracker
from forewarn.control.clock_watch import ClockWatch
from forewarn.control.commit import Committed, Write
from forewarn.control.dry_run import DryRun
from forewarn.control.faults import FaultHits, put_in
from forewarn.control.health import HealthSource, NoHealthChecks
from forewarn.control.polls import PollLedger
from forewarn.control.push.outbox import Outbox
from forewarn.control.retention import Retention
from forewarn.control.rollout_scheduler import RolloutScheduler
from forewarn.control.silence import turn_off_the_silent
from forewarn.control.timer_heap import TimerHeap
from forewarn.core.carry_out import carry_out
from forewarn.core.decide import Intent, Reports, decide, next_look, operation_of
from forewarn.core.document import document_of
from forewarn.core.draft import Draft
from forewarn.core.fleet import ScaleSet, Vm
from forewarn.core.neighbours import concerned
from forewarn.core.notice import Limits
from forewarn.core.operation import Operation
from forewarn.core.refusal import Refusal
from forewarn.core.requests import clocks, lateness
from forewarn.core.requests.machines import MachineFactory
from forewarn.core.scope import Scope
from forewarn.core.settle import settle
from forewarn.core.world import Changes, Entity, World
from forewarn.drivers.base import Driver
from forewarn.errors import ForewarnError, StoreUnavailable
from forewarn.ids import random_id
from forewarn.logs import get_logger
from forewarn.store.sql import SqlStore, Transaction
from forewarn.subscribers import Subscribers

log = get_logger()

PLANE = "forewarn"  # the actor of what nobody asked for by name
_MOST_ROUNDS = 1000  # of one tick; what is left comes in the next
_AFTER_A_BUG = timedelta(minutes=1)


class ControlPlane:
    """Takes requests, ticks, and keeps world, store and board the same."""

    most_intents = 500  # of one commit

    def __init__(
        self,
        *,
        store: SqlStore,
        driver: Driver,
        board: Board,
        clock: Clock,
        limits: Limits | None = None,
        new_id: Callable[[], str] = random_id,
        monotonic: Callable[[], float] = time.monotonic,
        health: HealthSource | None = None,
        keep_history: timedelta | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        self.world = World()
        self.limits = limits or Limits()
        self.clock = clock
        self.board = board
        self.store = store
        self.polls = PollLedger(board, clock, self.limits.silence, monotonic)
        self.retention = Retention(store, clock, keep_history)
        self.ended: Counter[str] = Counter()  # operations by outcome, since the plane was opened
        self.committed: Subscribers[Changes] = Subscribers()  # each commit, once the board shows it
        self.ticked: Subscribers[Collection[str]] = Subscribers()  # the operations and rollouts a tick looked at
        self._looked: set[str] = set()  # the operations and rollouts that may wait for something else now
        self.bugs = 0  # operations that could not be gone on with; see the log
        self._outbox = outbox
        self.new_id = new_id
        self.machine_factory = MachineFactory(new_id, driver.makes_machines, self.limits)
        self._attempt_tracker = AttemptTracker(driver, self.limits.action_limit)
        self.faults: FaultBook | None = FaultBook() if driver.is_simulated else None  # real machines have none
        self._fault_hits = FaultHits()  # of the draft that is being committed
        self._looks: TimerHeap[str, datetime] = TimerHeap()
        self.health: HealthSource = health or NoHealthChecks()  # of sets
        self._rollout_scheduler = RolloutScheduler(self.world, self.limits, self.health, new_id)
        self._due: set[str] = set()
        self._is_sure = False  # that the world is what the store holds, and on the board
        self._unshown: list[Entity] = []  # in the world, not yet on the board
        self._shown = 0  # the last commit that was shown
        self._shown_written = 0  # and the last that the store knows to have been shown
        self._watch = ClockWatch(clock)

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

    # Commits.

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        """The store's; when it breaks off, nobody knows what was kept until it is read again."""
        try:
            with self.store.transaction() as transaction:
                yield transaction
        except StoreUnavailable:
            self._is_sure = False
            raise

    def commit(self, actor: str, write: Write) -> Committed | Refusal:
        """Let a rule write a draft, and commit it; a refusal changes nothing."""
        self._allow_for_step()
        return self._commit(actor, write)

    def _commit(self, actor: str, write: Write) -> Committed | Refusal:
        while True:
            with self._transaction() as transaction:
                if self._is_current(transaction):
                    draft = Draft(self.world, self.clock.now(), actor)
                    if (refusal := write(draft)) is not None:
                        return refusal
                    if draft.is_empty:
                        return Committed(Changes(self.world.number))
                    changes = self._keep(transaction, draft)
                    break
            self._synchronise()
        self._publish(changes)
        return Committed(changes)

    def dry_run(self) -> DryRun:
        """What carries out requests on a copy of the newest state, and keeps nothing."""
        with self._transaction() as transaction:
            is_current = self._is_current(transaction)
        if not is_current:
            self._synchronise()
        return DryRun(self)

    def _keep(self, transaction: Transaction, draft: Draft) -> Changes:
        settle(draft, self.limits)
        self._fault_hits = put_in(draft, () if self.faults is None else self.faults.on_events)
        changes = draft.seal()
        transaction.write(changes, self._watch.mark(), self._shown)
        if self._outbox is not None:
            self._outbox.write(transaction, draft)
        transaction.keep_polls(self.polls.urgent())
        scopes = [entity for entity in changes.entities if isinstance(entity, Scope)]
        off = [scope.id for scope in scopes if scope.is_gone or not scope.is_on]
        transaction.forget_polls(scope for scope in off if (was := self.world.scopes.get(scope)) and was.is_on)
        return changes

    def _is_current(self, transaction: Transaction) -> bool:
        return self._is_sure and transaction.number == self.world.number

    def _synchronise(self) -> None:
        """Take over what others committed, or what we committed without hearing of it.

        What could not be read in time is promised anew before it is shown.
        """
        with self._transaction() as transaction:
            if transaction.number != self.world.number:
                news = tuple(transaction.news(self.world.number))
                self.world.apply(Changes(transaction.number, news))
                self._unshown.extend(news)
            self._watch.remember(transaction.mark())
            draft = Draft(self.world, self.clock.now(), PLANE)
            self._write_step(draft)
            lateness.make_up_for_lateness(draft, self._unshown, self._shown, self.limits)
            changes = None if draft.is_empty else self._keep(transaction, draft)
        if changes is not None:
            self._take_over(changes)
            self._unshown.extend(changes.entities)
        self._watch.see()
        self._rollout_scheduler.all_are_due()
        unshown, self._unshown = self._unshown, []
        self._show(unshown)
        self._attempt_tracker.pick_up(self.world.attempts.values(), self.clock.now())
        self._is_sure = True

    def _publish(self, changes: Changes) -> None:
        """Take over a commit and show it."""
        self._take_over(changes)
        self._show(changes.entities)

    def _take_over(self, changes: Changes) -> None:
        """What was committed is so."""
        self._fault_hits.count()
        self.polls.urgent_is_written()
        self.world.apply(changes)

    def _show(self, entities: Sequence[Entity]) -> None:
        """The board, the next tick and the subscribers learn of what was committed, in this order."""
        scopes = {entity.id: entity for entity in entities if isinstance(entity, Scope)}
        for scope in scopes.values():
            if scope.is_on and not scope.is_gone:
                self.polls.begin(scope.id)
            else:
                self.polls.forget(scope.id)
            if scope.is_gone:
                self.board.remove(scope.id)
            else:
                self.board.post(scope.id, document_of(self.world, scope.id), is_on=scope.is_on)
        self.board.model(entity for entity in entities if isinstance(entity, ScaleSet))
        self.board.seat(entity for entity in entities if isinstance(entity, Vm))
        self._shown = self.world.number
        self._due |= concerned(self.world, entities)
        self._rollout_scheduler.note(entities)
        for entity in entities:
            if isinstance(entity, Operation) and not entity.phase.is_open:
                self.ended[entity.phase] += 1
        self.committed.publish(Changes(self.world.number, tuple(entities)))

    # Time.

    def tick(self) -> None:
        """Do all that is due now."""
        self._do_what_is_due()
        self.ticked.publish(self._looked)
        self._looked.clear()

    def _do_what_is_due(self) -> None:
        if not self._is_sure:
            self._synchronise()
        self._allow_for_step()
        turn_off_the_silent(self, self.polls, PLANE)
        now = self.clock.now()
        for _ in range(_MOST_ROUNDS):
            reports = self._attempt_tracker.reports(self.world, now)
            due = self._take_due(now) | {operation for operation, _ in reports}
            if not due:
                if self._move_rollouts(now):
                    continue
                return
            self._due |= due  # until there is nothing more to say of it, whatever goes wrong
            intents = self._decide(due, now, reports)
            if not intents:
                self._plan_looks(due & self._due, now)
                continue
            if not self._act(intents, now):
                self._synchronise()

    def look_at_rollouts(self) -> None:
        """Let the next tick look at all of them: something may have changed that is in no commit."""
        self._rollout_scheduler.all_are_due()

    def _move_rollouts(self, now: datetime) -> bool:
        """Let the rollouts that are due go on; whether something came of it."""
        before = self.world.number
        moved = self._rollout_scheduler.move(now, lambda write: self._commit(PLANE, write))
        self._looked |= moved.looked_at
        self.bugs += moved.bugs
        return self.world.number != before

    def _decide(self, due: set[str], now: datetime, reports: Reports) -> list[Intent]:
        """What to do about them; a bug in one of them is not the others' trouble."""
        try:
            return decide(self.world, due, now, reports)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is told
            if len(due) == 1:
                self._postpone(due, now, problem)
                return []
            return [intent for each in sorted(due) for intent in self._decide({each}, now, reports)]

    def _postpone(self, operations: Iterable[str], now: datetime, problem: Exception) -> None:
        """Look at them again later: what went wrong with them is a bug, and is told as one."""
        self.bugs += 1
        later = now + _AFTER_A_BUG
        for operation in operations:
            log.error("operation could not be gone on with", operation=operation, exc_info=problem)
            self._due.discard(operation)
            self._looks.set(operation, later)
            attempts = [each for each in self.world.attempts.values() if each.operation == operation]
            self._attempt_tracker.pick_up(attempts, later)

    def _plan_looks(self, operations: set[str], now: datetime) -> None:
        self._looked |= operations
        for operation in operations:
            found = self.world.operations.get(operation)
            self._looks.set(operation, next_look(self.world, found, now) if found else None)
            self._due.discard(operation)

    def _take_due(self, now: datetime) -> set[str]:
        due, self._due = self._due, set()
        return due.union(self._looks.take(now))

    def _act(self, intents: list[Intent], now: datetime) -> bool:
        """Carry out what was decided, in bounded commits; False: it was decided on an older state."""
        return all(
            self._carry_out(intents[start : start + self.most_intents], now)
            for start in range(0, len(intents), self.most_intents)
        )

    def _carry_out(self, intents: list[Intent], now: datetime) -> bool:
        """Commit, show, and only then touch machines."""
        try:
            with self._transaction() as transaction:
                if not self._is_current(transaction):
                    return False
                draft = Draft(self.world, now, PLANE)
                to_begin = carry_out(draft, intents, self.limits)
                changes = self._keep(transaction, draft)
        except ForewarnError:
            raise
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is told
            return self._carry_out_apart(intents, now, problem)
        self._publish(changes)
        self._attempt_tracker.begin(to_begin, now)
        return True

    def _carry_out_apart(self, intents: list[Intent], now: datetime, problem: Exception) -> bool:
        """Nothing was kept, for the sake of one of the operations: each by itself, and that one later."""
        apart: dict[str, list[Intent]] = {}
        for intent in intents:
            apart.setdefault(operation_of(intent), []).append(intent)
        if len(apart) == 1:
            self._postpone(apart, now, problem)
            return True
        return all(self._carry_out(each, now) for each in apart.values())

    # The wall clock may be stepped; what was promised was promised in elapsed time too.

    def _write_step(self, draft: Draft) -> None:
        if step := self._watch.step():
            log.warning("clock stepped", step_s=step.total_seconds())
            clocks.allow_for_step(draft, step)
            self.polls.all_is_urgent()
            self._watch.allow(step)

    def _allow_for_step(self) -> None:
        """Notice a step before anything else is written, and keep the promises all the same."""
        if self._watch.step():
            self._commit(PLANE, self._write_step)
            self._watch.see()
            self._due.update(self.world.operations)
            self._rollout_scheduler.all_are_due()
            self._attempt_tracker.pick_up(self.world.attempts.values(), self.clock.now())

    def flush(self) -> None:
        """Write down who has polled and what the clocks show; a step of theirs is dealt with first."""
        self._allow_for_step()
        self.polls.collect()
        unwritten = self.polls.take_unwritten()
        try:
            with self.store.transaction() as transaction:
                transaction.keep_polls(unwritten)
                transaction.keep_mark(self._watch.mark(), self._shown)
        except BaseException:
            self.polls.put_back(unwritten)
            raise
        self._shown_written = self._shown

    @property
    def wants_flush(self) -> bool:
        """Whether guests can read what a crash would make the plane promise anew."""
        return self._shown != self._shown_written

    def touch_store(self) -> None:
        """Ask the store for something small; raises where it does not answer."""
        with self._transaction():
            pass

    def probe_store(self) -> None:
        """Commit something small; raises where the store cannot keep it."""
        self.store.verify_room()
        self._allow_for_step()
        with self._transaction() as transaction:
            transaction.look_at_every_table()
            transaction.keep_mark(self._watch.mark(), self._shown)
        self._shown_written = self._shown

    def next_wake(self) -> datetime | None:
        """When the next tick has something to do."""
        if self._due or self._rollout_scheduler.are_due or self.polls.missed or not self._is_sure:
            return self.clock.now()
        instants = (
            self._looks.next(),
            self._rollout_scheduler.next(),
            self._attempt_tracker.next_look(),
            self.polls.next_deadline(),
        )
        return min((instant for instant in instants if instant is not None), default=None)

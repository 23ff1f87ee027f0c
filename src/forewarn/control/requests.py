"""What may be asked of the plane. Each request is one commit: all of it, or a refusal and nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from forewarn.board.board import Board
from forewarn.board.faults import FaultBook, Posted
from forewarn.clock import Clock
from forewarn.control import faults
from forewarn.control.polls import PollLedger
from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.fault import Fault, FaultRule
from forewarn.core.fleet_check import Problem
from forewarn.core.fleet_plan import plan_fleet
from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.notice import Rules
from forewarn.core.operation import Operation
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests import degraded, hosts, notices, postpone, reclaim, rollouts, vms
from forewarn.core.requests.faults import mark_told
from forewarn.core.rollout_course import Verdict
from forewarn.core.terms import Cause, Kind
from forewarn.core.world import World
from forewarn.store import history
from forewarn.store.sql import SqlStore

_SEE_OPEN = "See what is open: forewarn event list"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request was committed: this operation, with these events."""

    operation: Operation
    events: tuple[Event, ...]


Write = Callable[[Draft], Refusal | None]


class Requests(ABC):
    """The plane as those see it who want something of it."""

    world: World
    rules: Rules
    clock: Clock
    store: SqlStore
    board: Board
    polls: PollLedger
    faults: FaultBook | None  # None: machines are real, and nothing is put in
    heard: Verdict  # on the health of sets, as readers are told
    _new_id: Callable[[], str]

    @abstractmethod
    def change(self, actor: str, write: Write) -> Refusal | None:
        """Let a rule write a draft, and commit it; a refusal changes nothing."""

    def _ask(self, operation: str, actor: str, write: Write) -> Accepted | Refusal:
        refusal = self.change(actor, write)
        if refusal is not None:
            return refusal
        return self._accepted(operation)

    def _accepted(self, operation: str) -> Accepted:
        return Accepted(self.world.operations[operation], tuple(self.world.events_of(operation)))

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

    def degrade(self, host: str, asked: degraded.Degradation, actor: str) -> Accepted | Refusal:
        """A host is expected to fail; who says so again is answered with the operation that there is."""
        operation = self._new_id()
        write = partial(degraded.degrade, name=host, asked=asked, operation=operation, rules=self.rules)
        refusal = self.change(actor, write)
        if refusal is not None:
            return refusal
        incident = degraded.incident_on(self.world, host)
        return self._accepted(incident.id) if incident else self._past_incident(host, operation, actor)

    def _past_incident(self, host: str, operation: str, actor: str) -> Accepted | Refusal:
        """The move that has emptied a degraded host; where nobody remembers it, one that has nothing to do."""
        with self.store.transaction() as transaction:
            past = history.last_on_host(transaction.connection, host, Cause.DEGRADE)
            events = history.events_of(transaction.connection, past.id) if past else []
        if past is not None:
            return Accepted(past, tuple(events))
        return self._ask(operation, actor, lambda draft: degraded.announce_again(draft, host, operation))

    def fail(self, host: str, actor: str, kind: Kind | None = None) -> Accepted | Refusal:
        """A host has failed."""
        operation = self._new_id()
        return self._ask(operation, actor, lambda draft: hosts.fail(draft, host, operation, self.rules, kind))

    def reclaim(self, host: str, count: int, actor: str) -> list[Accepted] | Refusal:
        """Take so many Spot VMs' capacity back from a host: all of them, or none."""
        batch, made = self._new_id(), list[str]()

        def new_id() -> str:
            made.append(self._new_id())
            return made[-1]

        def write(draft: Draft) -> Refusal | None:
            made.clear()
            return reclaim.reclaim(draft, host, count, new_id, self.rules, batch)

        refusal = self.change(actor, write)
        return refusal if refusal is not None else [self._accepted(operation) for operation in made]

    def recover(self, host: str, actor: str) -> Refusal | None:
        """A host is well again."""
        return self.change(actor, lambda draft: hosts.recover(draft, host))

    def preview_rollout(self, wish: rollouts.RolloutWish) -> Callable[[], rollouts.Plan | Refusal]:
        """What tells, on any thread, what a rollout would do and when: it may take seconds. Nothing is changed."""
        return partial(rollouts.plan_rollout, self.world.fleet(), wish, self.clock.now(), self.rules)

    def refuse_repeated_rollout(self, plan: rollouts.Plan) -> Refusal | None:
        """No, if the planned rollout is open already."""
        return rollouts.is_open_already(self.world, plan)

    def start_rollout(self, wish: rollouts.RolloutWish, actor: str) -> str | Refusal:
        """Begin a rollout: its id, or why it cannot be."""
        rollout = self._new_id()
        write = partial(rollouts.start_rollout, wish=wish, rollout=rollout, rules=self.rules)
        return self.change(actor, write) or rollout

    def pause_rollout(self, rollout: str, reason: str, actor: str) -> Refusal | None:
        """Begin nothing more for now, and take back what is only announced."""
        return self.change(actor, lambda draft: rollouts.pause(draft, rollout, reason))

    def resume_rollout(self, rollout: str, actor: str, *, anyway: bool = False) -> Refusal | None:
        """Go on where it was paused."""
        return self.change(actor, lambda draft: rollouts.resume(draft, rollout, anyway=anyway))

    def abort_rollout(self, rollout: str, reason: str, actor: str) -> Refusal | None:
        """End it for good."""
        return self.change(actor, lambda draft: rollouts.abort(draft, rollout, reason))

    def cancel(self, operation: str, actor: str) -> Refusal | None:
        """Call off an operation that has not started."""

        def write(draft: Draft) -> Refusal | None:
            found = self.world.operations.get(operation)
            if found is None:
                what = f"Operation {operation} is not open; it cannot be cancelled."
                return Refusal(Code.ILLEGAL_STEP, what, _SEE_OPEN)
            return notices.call_off(draft, found, self.rules)

        return self.change(actor, write)

    def approve(self, event: str, actor: str) -> Refusal | None:
        """An operator's approval of one event."""

        def write(draft: Draft) -> Refusal | None:
            found = self.world.events.get(event)
            if found is None or not found.phase.is_open:
                what = f"Event {event} is not open; it cannot be approved."
                return Refusal(Code.ILLEGAL_STEP, what, _SEE_OPEN)
            notices.approve_events(draft, [found], actor)
            return None

        return self.change(actor, write)

    def postpone(self, event: str, asked: postpone.Postponement, actor: str) -> Refusal | None:
        """Put an event's whole operation off."""

        def write(draft: Draft) -> Refusal | None:
            found = self.world.events.get(event)
            if found is None:
                what = f"Event {event} is not open; it cannot be postponed."
                return Refusal(Code.ILLEGAL_STEP, what, _SEE_OPEN)
            return postpone.postpone(draft, found, asked, self.rules)

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

        return self._change_noting_a_poll(vm, write)

    def first_poll(self, vm: str) -> Refusal | None:
        """A guest of a scope that is off has asked: committed before it is answered."""

        def write(draft: Draft) -> Refusal | None:
            guest = self.world.vms.get(vm)
            if guest is None:
                return Refusal(Code.NOT_FOUND, f"There is no VM {vm}.")
            notices.turn_on(draft, guest.scope, vm, self.rules)
            self.polls.note(guest.scope)
            return None

        return self._change_noting_a_poll(vm, write)

    def _change_noting_a_poll(self, vm: str, write: Write) -> Refusal | None:
        """A change that is a poll too: it is written in the same commit, and never was if that failed."""
        try:
            return self.change(vm, write)
        except BaseException:
            self.polls.drop_urgent()
            raise

    def add_fault(self, rule: FaultRule, actor: str) -> Posted | Refusal:
        """Let a fault rule strike from now on."""
        book = self.faults
        if book is None:
            return faults.NO_FAULTS

        def write(draft: Draft) -> Refusal | None:
            refusal = faults.refuse_rule(book, rule, self.world.vms)
            if refusal is None:
                draft.note("add fault", subject=rule.vm or "", detail=rule.title)
            return refusal

        refusal = self.change(actor, write)
        if refusal is not None:
            return refusal
        self.board.keeps_previous |= rule.name is Fault.STALE
        return book.add(rule)

    def clear_faults(self, rule: str | None, actor: str) -> list[Posted] | Refusal:
        """Let a fault rule, or all of them, strike no more."""
        book = self.faults
        if book is None:
            return faults.NO_FAULTS
        found = faults.find(book, rule)
        if isinstance(found, Refusal):
            return found

        def write(draft: Draft) -> None:
            for each in found:
                draft.note("clear fault", subject=each.rule.vm or "", detail=each.rule.title)

        self.change(actor, write)
        book.remove(found)
        return found

    def mark_fault(self, vm: str, events: Iterable[str], fault: Fault) -> None:
        """A guest is about to be told of these events what is not so."""
        self.change(vm, lambda draft: mark_told(draft, vm, events, fault))

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

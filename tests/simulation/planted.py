"""Planted bugs: each breaks one law in the production code, and that law's checker has to catch it.

A checker that never fires proves nothing. These are mutations of our own functions, put in place for one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from types import ModuleType
from unittest.mock import patch

from forewarn.board.pages import Page
from forewarn.control import plane as plane_module
from forewarn.control.attempt_tracker import AttemptTracker
from forewarn.control.plane import ControlPlane
from forewarn.control.polls import PollLedger
from forewarn.core import decide as decide_module
from forewarn.core import draft as draft_module
from forewarn.core import holds, settle, steps
from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.operation import Outcome
from forewarn.core.phase import Phase
from forewarn.core.requests import lateness, notices
from forewarn.core.scope import Scope
from forewarn.drivers.base import NotBegun
from forewarn.wire.http import Answer
from tests.simulation import lobby, requests
from tests.simulation import planted_limits as limits
from tests.simulation import planted_rollouts as rolling
from tests.simulation.planted_limits import nothing_committed


@dataclass(frozen=True)
class Planted:
    """A bug with a name, the law that it breaks, what its checker then says, and the places that it mutates."""

    name: str
    law: int
    complaint: str
    mutations: Callable[[], list[object]]

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with ExitStack() as stack:
            for mutation in self.mutations():
                stack.enter_context(mutation)  # type: ignore[arg-type]
            yield


def _starts_a_minute_early() -> list[object]:
    def is_cleared(event, now):
        return bool(event.approvals) or now >= event.lapses_at - timedelta(minutes=1)

    return [patch.object(Event, "is_cleared", is_cleared)]


def _forgets_elapsed_time() -> list[object]:
    return [patch.object(Event, "lapses_at", property(lambda event: event.not_before))]


def _promises_too_little() -> list[object]:
    real = steps.notice_ends
    return [patch.object(steps, "notice_ends", lambda now, notice: real(now, notice * 0.9))]


def _promises_anew_too_little() -> list[object]:
    real = lateness.notice_ends
    return [patch.object(lateness, "notice_ends", lambda now, notice: real(now, notice * 0.5))]


def _acts_before_it_says_so() -> list[object]:
    real = steps.start

    def start(draft, operation, rules):
        real(draft, operation, rules)
        draft.put(replace(draft.operation(operation.id), begin_at=draft.now))

    return [patch.object(steps, "start", start)]


def _never_says_so() -> list[object]:
    real = steps.start

    def start(draft, operation, rules):
        real(draft, operation, rules)
        for event in draft.world.events_of(operation.id):
            draft.put(event)

    return [patch.object(steps, "start", start)]


def _forgets_who_lands_on_a_host_under_notice() -> list[object]:
    return [patch.object(settle, "admit", lambda *_: None)]


def _begins_again_after_a_crash() -> list[object]:
    real = AttemptTracker.pick_up

    def pick_up(hands, attempts, now):
        attempts = list(attempts)
        real(hands, attempts, now)
        hands.begin([attempt for attempt in attempts if attempt.outcome is None], now)

    return [patch.object(AttemptTracker, "pick_up", pick_up)]


def _overlooks_update_domains() -> list[object]:
    return [patch.object(holds, "_other_domains", lambda *_: iter(()))]


def _names_two_domains_in_one_event() -> list[object]:
    def by_event(vms):
        groups: dict[str, list[object]] = {}
        for vm in vms:
            groups.setdefault(vm.scope, []).append(vm)
        return iter(groups.values())

    return [patch.object(steps, "by_event", by_event)]


def _believes_what_was_left_down_to_be_up() -> list[object]:
    real = steps.conclude
    return [
        patch.object(
            steps, "conclude", lambda draft, attempt, report: real(draft, attempt, replace(report, state=None))
        )
    ]


def _forgets_to_count_the_end() -> list[object]:
    real = Draft._shows

    def shows(draft, event):
        return event.phase.is_open and real(draft, event)

    return [patch.object(Draft, "_shows", shows)]


def _overlooks_resources() -> list[object]:
    real = draft_module.visible

    def visible(event):
        return real(replace(event, resources=()))

    return [patch.object(draft_module, "visible", visible)]


def _lets_the_count_run_over() -> list[object]:
    real = Draft._count_incarnations

    def count(draft):
        real(draft)
        for scope in [entity for entity in draft._put.values() if isinstance(entity, Scope)]:
            if scope.is_on and scope.incarnation == 8:
                draft.put(replace(scope, incarnation=1))

    return [patch.object(Draft, "_count_incarnations", count)]


def _counts_anew_at_every_approval() -> list[object]:
    real = notices.turn_on

    def turn_on(draft, scope, by, rules):
        if (found := draft.scope(scope)).is_on:
            draft.put(replace(found, incarnation=1, generation=draft.number))
        else:
            real(draft, scope, by, rules)

    return [patch.object(notices, "turn_on", turn_on)]


def _retries_under_the_same_event() -> list[object]:
    real = steps.finish

    def finish(draft, operation, attempts):
        attempts = list(attempts)
        if any(attempt.outcome is Outcome.FAILED for attempt in attempts) and not operation.reason:
            draft.put(replace(operation, phase=Phase.SCHEDULED, reason="again"))
            for event in draft.events_of(operation.id):
                draft.put(replace(event, phase=Phase.SCHEDULED))
        else:
            real(draft, operation, attempts)

    return [patch.object(steps, "finish", finish)]


def _shows_a_gone_event_again() -> list[object]:
    real = plane_module.document_of
    known: dict[str, Event] = {}
    gone: dict[str, Event] = {}

    def document_of(world, scope):
        document = real(world, scope)
        there = {event.id: event for event in document.events}
        has_more = bool(there.keys() - known.keys())
        gone.update(
            {event.scope: event for event in known.values() if event.scope == scope and event.id not in there}
        )
        known.update(there)
        if has_more and scope in gone:
            return replace(document, events=(*document.events, gone[scope]))
        return document

    return [patch.object(plane_module, "document_of", document_of)]


def _answers_each_guest_differently() -> list[object]:
    real = Page.answer
    calls = iter(range(10**9))

    def answer(page, version):
        said = real(page, version)
        return Answer(said.status, said.head, said.tail + b" " * (next(calls) % 2))

    return [patch.object(Page, "answer", answer)]


def _answers_before_it_commits() -> list[object]:
    real = lobby.approve_as_guest

    def approve_as_guest(plane, vm, events):
        draft = Draft(plane.world, plane.clock.now(), vm)
        found = [plane.world.events.get(event) for event in events]
        if any(event is None or event.scope != plane.world.vms[vm].scope for event in found):
            return real(plane, vm, events)
        for event in found:
            steps.approve(draft, event, vm)
        for event in (entity for entity in draft._put.values() if isinstance(entity, Event)):
            plane.world.take(replace(event, version=plane.world.events[event.id].version))
            plane._due.add(event.operation)
        return nothing_committed(plane)

    return [patch.object(lobby, "approve_as_guest", approve_as_guest)]


def _says_yes_and_forgets(where: ModuleType, command: str) -> Callable[[], list[object]]:
    def forget() -> list[object]:
        return [patch.object(where, command, lambda plane, *_: nothing_committed(plane))]

    return forget


def _takes_what_never_began_for_done() -> list[object]:
    real = AttemptTracker._look

    def look(hands, world, attempt, now):
        if isinstance(hands._check(attempt), NotBegun):
            return decide_module.AttemptReport(*attempt.key, Outcome.DONE)
        return real(hands, world, attempt, now)

    return [patch.object(AttemptTracker, "_look", look)]


def _never_looks_at_a_held_operation_again() -> list[object]:
    def concerned(world, entities):
        return {getattr(entity, "operation", None) or getattr(entity, "id", "") for entity in entities} & set(
            world.operations
        )

    return [patch.object(plane_module, "concerned", concerned)]


def _waits_for_ever_for_an_outcome() -> list[object]:
    real = AttemptTracker._look

    def look(hands, world, attempt, now):
        return real(hands, world, replace(attempt, deadline_at=now + timedelta(days=1)), now)

    return [patch.object(AttemptTracker, "_look", look)]


def _comes_back_to_a_silent_scope_for_ever() -> list[object]:
    real = PollLedger.take_silent

    def take_silent(ledger):
        silent = real(ledger)
        ledger.ask_again(silent)
        return silent

    return [
        patch.object(PollLedger, "take_silent", take_silent),
        patch.object(PollLedger, "forget", lambda *_: None),
    ]


def _waits_for_the_next_request_after_a_lost_reply() -> list[object]:
    return [patch.object(ControlPlane, "_transaction", lambda plane: plane.store.transaction())]


def _forgets_actions_at_a_step() -> list[object]:
    real = ControlPlane._allow_for_step

    def allow(plane):
        with patch.object(AttemptTracker, "pick_up", lambda *_: None):
            real(plane)

    return [patch.object(ControlPlane, "_allow_for_step", allow)]


def _lets_what_runs_silently_wait_an_hour() -> list[object]:
    real_holds, real_look, hour = decide_module.holds, plane_module.next_look, timedelta(hours=1)

    def held(world, operation, now, underway=None):
        if operation.kind is None and now - operation.created_at < hour:
            yield "an hour"
        yield from real_holds(world, operation, now, underway)

    def next_look(world, operation, now):
        if operation.kind is None and operation.phase is Phase.SCHEDULED:
            return max(now + timedelta(seconds=1), operation.created_at + hour)
        return real_look(world, operation, now)

    return [patch.object(decide_module, "holds", held), patch.object(plane_module, "next_look", next_look)]


def _waits_for_a_hanging_driver() -> list[object]:
    real_reports, real_decide = AttemptTracker.reports, plane_module.decide

    def is_stuck(world, now):
        under_way = (attempt for attempt in world.attempts.values() if attempt.outcome is None)
        return any(timedelta(minutes=5) < now - each.recorded_at and now < each.deadline_at for each in under_way)

    def reports(hands, world, now):
        if not is_stuck(world, now):
            return real_reports(hands, world, now)
        for key in hands._looks.take(now):
            hands._looks.set(key, now + timedelta(minutes=1))
        return {}

    def decide(world, due, now, reports):
        return [] if is_stuck(world, now) else real_decide(world, due, now, reports)

    return [patch.object(AttemptTracker, "reports", reports), patch.object(plane_module, "decide", decide)]


PLANTED = (
    Planted("starts a minute early", 1, "before its NotBefore|was promised", _starts_a_minute_early),
    Planted("lets a clock step eat the notice", 1, "was promised", _forgets_elapsed_time),
    Planted("promises a tenth too little", 2, "of notice", _promises_too_little),
    Planted("promises anew half of what it should", 2, "of notice", _promises_anew_too_little),
    Planted("pulls nearer than the least notice", 2, "of notice", limits.pulls_too_near),
    Planted("forgets that a move was never shown", 2, "of notice", limits.forgets_that_a_move_was_never_shown),
    Planted("postpones to sooner", 2, "pulled nearer|of notice", limits.postpones_to_sooner),
    Planted("acts in the moment it says Started", 3, "between Started and", _acts_before_it_says_so),
    Planted("acts without ever saying Started", 3, "before it was told", _never_says_so),
    Planted("forgets who lands on a host", 3, "was not told", _forgets_who_lands_on_a_host_under_notice),
    Planted("begins again after a crash without asking", 4, "twice", _begins_again_after_a_crash),
    Planted("overlooks other update domains", 5, "was down", _overlooks_update_domains),
    Planted("names two update domains in one event", 5, "names VMs of", _names_two_domains_in_one_event),
    Planted("believes up what an action left down", 5, "was down", _believes_what_was_left_down_to_be_up),
    Planted("forgets to count the end of an event", 6, "the document changed", _forgets_to_count_the_end),
    Planted("overlooks that resources have changed", 6, "the document changed", _overlooks_resources),
    Planted("lets the count run over", 6, "downward", _lets_the_count_run_over),
    Planted("counts anew at every approval", 6, "while it is on", _counts_anew_at_every_approval),
    Planted("retries under the same event", 7, "from Started to Scheduled", _retries_under_the_same_event),
    Planted("shows a gone event again", 7, "is back", _shows_a_gone_event_again),
    Planted("answers each guest differently", 8, "two answers", _answers_each_guest_differently),
    Planted("answers before it commits", 9, "is lost", _answers_before_it_commits),
    Planted(
        "says yes to a first poll and forgets it",
        9,
        "the scope is off",
        _says_yes_and_forgets(lobby, "first_poll"),
    ),
    Planted(
        "says yes to an operator and forgets it", 9, "is lost", _says_yes_and_forgets(requests, "approve_event")
    ),
    Planted("says that a host is up and forgets it", 9, "is not", _says_yes_and_forgets(requests, "recover_host")),
    Planted("says cancelled and forgets it", 9, "cancelled and is not", limits.says_cancelled_and_forgets),
    Planted("says postponed and forgets it", 9, "postponed by .* and is not", limits.says_postponed_and_forgets),
    Planted("takes what never began for done", 9, "felt nothing", _takes_what_never_began_for_done),
    Planted("waits for ever for an outcome", 10, "still open", _waits_for_ever_for_an_outcome),
    Planted("comes back to a silent scope for ever", 10, "no time passed", _comes_back_to_a_silent_scope_for_ever),
    Planted("overlooks a lost reply", 10, "no more than", _waits_for_the_next_request_after_a_lost_reply),
    Planted("never looks at a held operation again", 11, "has not", _never_looks_at_a_held_operation_again),
    Planted("forgets who waits for a host", 11, "felt nothing", limits.forgets_who_waits_for_a_host),
    Planted("waits for a hanging driver", 11, "has not|felt nothing|unnoticed", _waits_for_a_hanging_driver),
    Planted(
        "forgets actions when the clock is stepped",
        11,
        "unnoticed",
        _forgets_actions_at_a_step,
    ),
    Planted(
        "starts before a domain has recovered", 13, "to recover", rolling.starts_before_a_domain_has_recovered
    ),
    Planted("works on every host at once", 13, "are at work", rolling.works_on_every_host_at_once),
    Planted("pauses without calling anything off", 13, "is Paused", rolling.pauses_without_calling_anything_off),
    Planted("forgets the window", 13, "out of the rollout's window", rolling.forgets_the_window),
    Planted("lets what runs silently wait an hour", 11, "has not", _lets_what_runs_silently_wait_an_hour),
    Planted("overlooks minimums", 12, "below its minimum", limits.overlooks_minimums),
)

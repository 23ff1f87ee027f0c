"""Planted bugs: each breaks one law in the production code, and that law's checker has to catch it.

A checker that never fires proves nothing. These are mutations of our own functions, put in place for one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from unittest.mock import patch

from forewarn.board.pages import Page
from forewarn.control import plane as plane_module
from forewarn.control.hands import Hands
from forewarn.control.plane import ControlPlane
from forewarn.core import holds, steps
from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.operation import Outcome
from forewarn.core.phase import Phase
from forewarn.drivers.base import Running
from forewarn.wire.http import Answer


@dataclass(frozen=True)
class Planted:
    """A bug with a name, the law that it breaks, and the places that it mutates."""

    name: str
    law: int
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


def _acts_before_it_says_so() -> list[object]:
    real = steps.start

    def start(draft, operation, rules):
        real(draft, operation, rules)
        draft.put(replace(draft.operation(operation.id), begin_at=draft.now))

    return [patch.object(steps, "start", start)]


def _begins_again_after_a_crash() -> list[object]:
    real = Hands.pick_up

    def pick_up(hands, attempts, now):
        attempts = list(attempts)
        real(hands, attempts, now)
        hands.begin([attempt for attempt in attempts if attempt.outcome is None], now)

    return [patch.object(Hands, "pick_up", pick_up)]


def _overlooks_update_domains() -> list[object]:
    return [patch.object(holds, "_other_domains", lambda *_: iter(()))]


def _names_two_domains_in_one_event() -> list[object]:
    def by_event(vms):
        groups: dict[str, list[object]] = {}
        for vm in vms:
            groups.setdefault(vm.scope, []).append(vm)
        return iter(groups.values())

    return [patch.object(steps, "by_event", by_event)]


def _forgets_to_count_the_end() -> list[object]:
    real = Draft._shows

    def shows(draft, event):
        return event.phase.is_open and real(draft, event)

    return [patch.object(Draft, "_shows", shows)]


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


def _answers_each_guest_differently() -> list[object]:
    real = Page.answer
    calls = iter(range(10**9))

    def answer(page, version):
        said = real(page, version)
        return Answer(said.status, said.head, said.tail + b" " * (next(calls) % 2))

    return [patch.object(Page, "answer", answer)]


def _answers_before_it_commits() -> list[object]:
    real = ControlPlane.approve_as_guest

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
        return None

    return [patch.object(ControlPlane, "approve_as_guest", approve_as_guest)]


def _never_looks_at_a_held_operation_again() -> list[object]:
    def concerned(world, entities):
        return {getattr(entity, "operation", None) or getattr(entity, "id", "") for entity in entities} & set(
            world.operations
        )

    return [patch.object(plane_module, "concerned", concerned)]


def _waits_for_ever_for_an_outcome() -> list[object]:
    real = Hands._look

    def look(hands, attempt, now):
        return real(hands, replace(attempt, deadline_at=now + timedelta(days=1)), now)

    return [patch.object(Hands, "_look", look)]


def _waits_for_a_hanging_driver() -> list[object]:
    real = Hands.reports

    def reports(hands, world, now):
        for attempt in world.attempts.values():
            progress = hands._check(attempt) if attempt.outcome is None else None
            if isinstance(progress, Running) and progress.again_at == attempt.deadline_at:
                hands._looks.set(attempt.key, min(attempt.deadline_at, now + timedelta(minutes=5)))
                return {} if now < attempt.deadline_at else real(hands, world, now)
        return real(hands, world, now)

    real_decide = plane_module.decide

    def decide(world, due, now, reports):
        stuck = any(
            attempt.outcome is None and now - attempt.recorded_at > timedelta(minutes=5)
            for attempt in world.attempts.values()
        )
        return [] if stuck and not reports else real_decide(world, due, now, reports)

    return [patch.object(Hands, "reports", reports), patch.object(plane_module, "decide", decide)]


PLANTED = (
    Planted("starts a minute early", 1, _starts_a_minute_early),
    Planted("lets a clock step eat the notice", 1, _forgets_elapsed_time),
    Planted("promises a tenth too little", 2, _promises_too_little),
    Planted("acts in the moment it says Started", 3, _acts_before_it_says_so),
    Planted("begins again after a crash without asking", 4, _begins_again_after_a_crash),
    Planted("overlooks other update domains", 5, _overlooks_update_domains),
    Planted("names two update domains in one event", 5, _names_two_domains_in_one_event),
    Planted("forgets to count the end of an event", 6, _forgets_to_count_the_end),
    Planted("retries under the same event", 7, _retries_under_the_same_event),
    Planted("answers each guest differently", 8, _answers_each_guest_differently),
    Planted("answers before it commits", 9, _answers_before_it_commits),
    Planted("waits for ever for an outcome", 10, _waits_for_ever_for_an_outcome),
    Planted("never looks at a held operation again", 11, _never_looks_at_a_held_operation_again),
    Planted("waits for a hanging driver", 11, _waits_for_a_hanging_driver),
)

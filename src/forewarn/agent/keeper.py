"""The keeper: one thread that owns the cases. Everything else sends it messages; nobody else changes a case.

A round is: take messages, note what they say, plan every open case, make the moves. Nothing in it waits for
anybody outside: handlers, approvals and polls have threads of their own.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from forewarn.agent import course, orders
from forewarn.agent.approving import Answered, Approver
from forewarn.agent.attempts import Attempts
from forewarn.agent.book import Book
from forewarn.agent.case import Case, Consent
from forewarn.agent.clock import Clock
from forewarn.agent.common import Common
from forewarn.agent.company import Alone, Company, Promise, as_seen
from forewarn.agent.config_secrets import find_secret
from forewarn.agent.events import Sighting
from forewarn.agent.handlers.base import Handler
from forewarn.agent.journal import Journal
from forewarn.agent.logs import secrets_of
from forewarn.agent.messages import Asked, Inbox, Inquiry, Leave, Message, Named, without_repeated
from forewarn.agent.metadata import Metadata
from forewarn.agent.metrics import Metrics
from forewarn.agent.moves import Mover
from forewarn.agent.names import Names
from forewarn.agent.notify import Notifier
from forewarn.agent.reporting import Reporter
from forewarn.agent.runner import Ended, Runner
from forewarn.agent.scene import View
from forewarn.agent.secrecy import concealing
from forewarn.agent.seeing import Eyes, Told
from forewarn.agent.settings import Settings
from forewarn.agent.standing import Standing, in_words
from forewarn.agent.superseded import profile_of
from forewarn.agent.turns import Turns
from forewarn.agent.watching import Trouble

_MOST_MESSAGES = 1000  # in one round
_MOST_ROUNDS = 50  # of planning, before messages are looked at again
_LONGEST_ROUND_SECONDS = 5.0
_SHORTEST_ROUND_SECONDS = 0.05
_PURGE_EVERY_SECONDS = 3600.0
_LEAVE_SECONDS = 3.0
_TAKE_BACK_SECONDS = 4.0  # one try to tell the leader, and the answer to an operator

log = logging.getLogger("forewarn.agent")


class Keeper:
    """Joins everything. `run` is for one thread; `send`, `say` and `standing` are for any."""

    def __init__(
        self,
        settings: Settings,
        metadata: Metadata,
        clock: Clock,
        names: Names,
        journal: Journal,
        *,
        find: Callable[[str], Handler],
        boot: str,
        inbox: Inbox | None = None,
        look_again: Callable[[float], None] = lambda _: None,
        company: Company | None = None,
        metrics: Metrics | None = None,
        notifier: Notifier | None = None,
    ) -> None:
        self.metrics = metrics or Metrics()
        self.standing = Standing(is_dry_run=settings.is_dry_run)
        self._company = company or Alone()
        self._look_again = look_again  # in so many seconds
        self._inbox = inbox or Inbox()
        self.send = self._inbox.send
        self._settings = settings
        self._policy = policy = settings.policy
        self._metadata = metadata
        self._clock = clock
        self._notifier = notifier or Notifier({})
        self._book = Book(
            journal, self.metrics, policy, lambda each: find_secret(each, os.environ, settings.literals)
        )
        kept = {id(case.policy): case.policy for case in self._book.unclosed()}
        self.secrets = secrets_of(settings, find, kept.values())
        reporter = Reporter()
        self._say = reporter.say
        self._view = View(boot, settings.fresh_within, approves=settings.approves)
        self._runner = Runner(
            self.send,
            find,
            settings.state_dir,
            clock,
            is_dry_run=settings.is_dry_run,
            conceal=concealing(self.secrets),
        )
        self._approver = Approver(metadata.approve, self.send)
        common = Common(clock, boot, self._book, reporter, self.metrics)
        self._mover = Mover(common, settings, self._runner, self._approver, lambda: look_again(0))
        told = Told(self.standing, look_again, self._runner.forget)
        self._eyes = Eyes(common, settings, names, told, policy)
        self._attempts = Attempts(common, self._runner, self._eyes)
        self._wake_at: datetime | None = None
        self._turns = Turns()
        self._purge_at = 0.0
        self._stop = threading.Event()
        self.standing.ticked_at = clock.monotonic()
        for case in self._book.unclosed():
            reporter.say_what_is_kept(case, policy)

    # For other threads.

    def say(self, order: orders.Order) -> str | orders.Refusal:
        """Give an operator's word to the keeper, and wait for the answer."""
        reply: queue.SimpleQueue[str | orders.Refusal] = queue.SimpleQueue()
        self.send(Asked(order, reply))
        try:
            answer = reply.get(timeout=5)
        except queue.Empty:
            return orders.Refusal(503, "The agent is busy. Ask again.")
        if order.verb is orders.Verb.HOLD and isinstance(answer, str):
            return f"{answer} {self._take_back(order.event)}".strip()
        return answer

    def _take_back(self, event: str) -> str:
        """Take back this VM's word for an event that is held; what has become of that, in words."""
        case = orders.find(self.standing.cases, event)
        taken = self._company.take_back(case.id, _TAKE_BACK_SECONDS) if isinstance(case, Case) else None
        return taken.in_words() if taken else ""

    # The loop.

    def run(self, stop: threading.Event) -> None:
        """Keep the cases until `Leave`, which sets `stop`; or whoever sets it also sends a `Nudge`."""
        self._stop = stop
        self._runner.forget_all_but([case.id for case in self._book.unclosed()])
        self._attempts.offer_to_handlers()
        self._go_round()
        while not stop.is_set():
            self._take_messages(self._seconds_to_next_round())
            if not stop.is_set():
                self._go_round()
        self._leave()

    def _go_round(self) -> None:
        """One round. What goes wrong in it is said, and does not end the agent."""
        now = self._clock.monotonic()
        try:
            self._book.save_again()
            for late in self._runner.overdue():
                self._attempts.note(late)
            self._attempts.begin_what_waits()
            self._eyes.take_up_what_is_back()
            self._make_moves()
            self._book.save_noted()
            self._publish()
            if now >= self._purge_at:
                self._purge_at = now + _PURGE_EVERY_SECONDS
                self._book.purge(self._clock.now())
        except Exception:  # whatever it is, the next round may go well
            log.exception("a round failed")
            return  # an agent whose rounds fail is not well, and must not look so
        self.standing.ticked_at = now
        self._notifier.pat(now)

    def _seconds_to_next_round(self) -> float:
        longest = min(_LONGEST_ROUND_SECONDS, (self._notifier.watchdog_seconds or 60) / 4)
        if self._book.is_behind:
            longest = min(longest, 1.0)
        if self._wake_at is None:
            return longest
        left = (self._wake_at - self._clock.now()).total_seconds()
        return min(max(left, _SHORTEST_ROUND_SECONDS), longest)

    def _take_messages(self, seconds: float) -> None:
        messages: list[Message] = []
        try:
            messages.append(self._inbox.get(timeout=seconds))
            while len(messages) < _MOST_MESSAGES:
                messages.append(self._inbox.get_nowait())
        except queue.Empty:
            pass
        wanted = list(without_repeated(messages))
        for _ in range(len(messages) - len(wanted)):
            self.metrics.count("polls")
        for message in wanted:
            self._take(message)

    def _take(self, message: Message) -> None:
        try:
            if isinstance(message, Sighting):
                self._eyes.see(message)
            elif isinstance(message, Trouble):
                self._eyes.note_trouble(message)
            elif isinstance(message, Ended):
                self._attempts.note(message)
            elif isinstance(message, Answered):
                self._note_answer(message)
            elif isinstance(message, Named):
                self._eyes.note_name(message.name)
            elif isinstance(message, Asked):
                message.reply.put(self._obey(message.order))
            elif isinstance(message, Inquiry):
                case = self._book.cases.get(message.event)
                message.reply.put(case is not None and case.consent is not Consent.NONE)
            elif isinstance(message, Leave):
                self._stop.set()
        except Exception:  # the message is lost, the agent is not
            log.exception("a message could not be taken")

    # What messages mean.

    def _note_answer(self, answered: Answered) -> None:
        self._approver.settle(answered)
        case = self._book.cases[answered.event]
        now = self._clock.now()
        problem = answered.problem
        if problem is None:
            self.metrics.count("approvals", result="taken")
            self._say(case, "event approved", by=case.consent_by)
            self._book.note(replace(case, consent=Consent.GIVEN, consent_at=now))
            return
        self.metrics.count("approvals", result=problem.kind)
        # It may have gone or started meanwhile, which the next answer shows; it is not asked again before that.
        self._say(case, f"approval failed: {problem.message}", logging.WARNING, kind=problem.kind)
        self._book.note(replace(case, consent_at=now))
        self._look_again(0)

    def _obey(self, order: orders.Order) -> str | orders.Refusal:
        case = orders.find(self._book.cases.values(), order.event)
        if isinstance(case, orders.Refusal):
            return case
        profile = profile_of(case)
        failures = course.failures(case, profile, self._clock.now())
        answer = orders.give(
            case, order, profile, approves=self._settings.approves, failures=failures, policy=self._policy
        )
        if isinstance(answer, orders.Refusal):
            return answer
        told, words = answer
        if order.verb is orders.Verb.RETRY:
            for name in {name for (name, way) in case.runs if told.run(name, way) != case.run(name, way)}:
                self._runner.forget(case.id, name)  # its attempts are counted anew
        if not self._book.save_first(told):
            return orders.Refusal(
                503, "The journal cannot be written, so nothing was changed. Its disk may be full."
            )
        self._say(
            told,
            f"operator: {order.verb}",
            by=order.by,
            is_urgent=order.is_urgent or None,
            step=order.step or None,
        )
        return words

    # What cases want.

    def _make_moves(self) -> None:
        left = {case.id for case in self._book.unclosed()}
        self.standing.stuck = {event: why for event, why in self.standing.stuck.items() if event in left}
        in_turn = self._turns.of(list(self._book.unclosed()))
        has_moved = False
        for _ in range(_MOST_ROUNDS):
            moved = {case.id: self._try_to_move(case) for case in in_turn}
            if not any(each_has for _, each_has in moved.values()):
                break
            has_moved = True
        self._turns.note({event: plan for event, (plan, _) in moved.items()}, left, has_moved=has_moved)
        self._wake_at = self._turns.next_at(self._clock.now())
        plans = self._turns.plans
        self.standing.waiting_for = {event: plan.waiting_for for event, plan in plans.items()}
        self._company.tell(
            frozenset(
                self._promise(self._book.cases[event], plan) for event, plan in plans.items() if plan.tells_leader
            )
        )

    def _promise(self, case: Case, plan: course.Plan) -> Promise:
        left = (plan.tells_until - self._clock.now()).total_seconds() if plan.tells_until else math.inf
        return Promise(case.id, case.vm, plan.tells_leader, as_seen(case.event), self._clock.monotonic() + left)

    def _try_to_move(self, case: Case) -> tuple[course.Plan, bool]:
        """Plan a case and make its moves. One that cannot be planned does not stop the others."""
        try:
            moved = self._plan_and_move(case)
        except Exception as problem:
            if case.id not in self.standing.stuck:  # said once, not every second
                log.exception("the case cannot be planned", extra={"event": case.id})
            self.standing.stuck = {**self.standing.stuck, case.id: repr(problem)}
            return course.Plan(waiting_for=(f"someone to look at the agent's log: {problem!r}",)), False
        if case.id in self.standing.stuck:
            self.standing.stuck = {each: why for each, why in self.standing.stuck.items() if each != case.id}
        return moved

    def _plan_and_move(self, seen: Case) -> tuple[course.Plan, bool]:
        case = self._book.cases[seen.id]
        if not self._eyes.is_certain(case):
            who = " or ".join(case.named_by) or "the endpoint"
            return course.Plan(waiting_for=(f"an answer of {who} that shows whether it is there",)), False
        if self._eyes.is_back(case):
            return course.Plan(waiting_for=("what is under way for its end: it is there again",)), False
        plan = self._plan(case)
        moved = [self._mover.make(case.id, move) for move in plan.moves]
        return plan, any(moved)

    def _plan(self, case: Case) -> course.Plan:
        others = self._book.acted_on()
        ready = self._company.ready_for(case.event)
        profile = profile_of(case)
        now = self._clock.now()
        return course.plan(case, profile, others, now, ready, self._view)

    def _publish(self) -> None:
        self.standing.cases = tuple(self._book.cases.values())
        self.standing.endpoint = self._metadata.endpoint
        self.standing.api_version = self._metadata.api_version
        self._notifier.status(in_words(self._book.unclosed(), is_blind=self.standing.is_blind))

    # The end.

    def _leave(self) -> None:
        """Give up what cannot go on alone, and take note of what still comes to its end in time."""
        self._notifier.stopping()
        self._runner.leave()
        deadline = self._clock.monotonic() + _LEAVE_SECONDS
        while (self._attempts.are_awaited or self._approver.is_busy) and (
            left := deadline - self._clock.monotonic()
        ) > 0:
            self._take_messages(min(left, 0.2))
        self._take_messages(0)
        self._book.save_noted()
        self._book.save_again()
        log.info("stopped", extra={"left_running": " ".join(self._attempts.left_running()) or None})

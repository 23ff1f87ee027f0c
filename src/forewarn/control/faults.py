"""Fault rules as operators ask for them, and those that hit what the plane announces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta

from forewarn.board.faults import MOST_RULES, FaultBook, Posted
from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.fault import Fault, FaultRule
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.faults import announced, shorten_notice, start_early
from forewarn.wire.choices import did_you_mean, either

NO_FAULTS = Refusal(
    Code.NOT_ALLOWED,
    "This service acts on real machines; faults are put in only where the machines are simulated.",
    "Test against a service of its own: forewarn serve --store sqlite:// --clock virtual --fleet FILE",
)


class FaultHits:
    """What the rules were asked about in one draft, and what they hit: counted when it is committed."""

    def __init__(self) -> None:
        self._asked: Counter[tuple[Posted, str]] = Counter()
        self._hits: Counter[Posted] = Counter()

    def ask(self, posted: Posted, vm: str) -> bool:
        """Whether the rule hits one more event of the VM."""
        self._asked[posted, vm] += 1
        return posted.foresee(vm, self._asked[posted, vm]) is not None

    def hit(self, posted: Posted) -> None:
        """It had an effect."""
        self._hits[posted] += 1

    def count(self) -> None:
        """The draft was committed: all of it has happened."""
        for (posted, vm), times in self._asked.items():
            posted.count(vm, times)
        for posted, times in self._hits.items():
            posted.hits += times


def put_in(draft: Draft, rules: Sequence[Posted]) -> FaultHits:
    """Let the rules hit the events that the draft announces."""
    hits = FaultHits()
    for events in announced(draft).values() if rules else ():
        for posted in rules:
            if posted.rule.name is Fault.EARLY_START:
                _start_early(draft, events, posted, hits)
            else:
                _shorten_notices(draft, events, posted, hits)
    return hits


def _start_early(draft: Draft, events: Iterable[Event], posted: Posted, hits: FaultHits) -> None:
    """An operation starts as a whole: where one of its events is hit, all of them are."""
    events = [draft.event(event.id) for event in events]
    are_hit = [hits.ask(posted, vm) for event in events if (vm := _whose(event, posted.rule)) is not None]
    if any(are_hit):
        hits.hit(posted)
        for event in events:
            start_early(draft, event, timedelta(seconds=posted.rule.seconds))


def _shorten_notices(draft: Draft, events: Iterable[Event], posted: Posted, hits: FaultHits) -> None:
    notice = timedelta(seconds=posted.rule.seconds)
    for event in (draft.event(event.id) for event in events):
        vm = _whose(event, posted.rule)
        if vm is not None and hits.ask(posted, vm) and shorten_notice(draft, event, notice):
            hits.hit(posted)


def _whose(event: Event, rule: FaultRule) -> str | None:
    """The VM by which the rule counts the event; None: the rule is not about it."""
    if rule.vm is None:
        return event.resources[0]
    return rule.vm if rule.vm in event.resources else None


def find(book: FaultBook, rule: str | None) -> list[Posted] | Refusal:
    """The rule of that id, alone; without one, all."""
    if rule is None:
        return book.all
    found = [each for each in book.all if each.id == rule]
    if found:
        return found
    known = [each.id for each in book.all]
    hint = f"{did_you_mean(rule, known)} There is {either(known)}.".lstrip() if known else "There are none."
    return Refusal(Code.NOT_FOUND, f"There is no fault rule {rule}.", hint)


def refuse_rule(book: FaultBook, rule: FaultRule, vms: Iterable[str]) -> Refusal | None:
    """Why a rule that can be read cannot be put in force."""
    if rule.vm is not None and rule.vm not in (known := list(vms)):
        question = did_you_mean(rule.vm, known)
        return Refusal(Code.NOT_FOUND, f"There is no VM {rule.vm}. {question}".rstrip(), "forewarn vm list")
    if len(book.all) >= MOST_RULES:
        return Refusal(
            Code.LIMIT_REACHED,
            f"There are {MOST_RULES} fault rules already.",
            "Clear some: forewarn fault clear ID",
        )
    return None

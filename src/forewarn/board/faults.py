"""The fault rules that are in force, kept in memory: they are for tests, and go with the process.

Rules on requests are asked by the listeners' thread, rules on events by the plane's. Which there are is replaced
in single assignments, so neither waits for the other.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from forewarn.core.fault import About, FaultRule
from forewarn.subscribers import Subscribers

MOST_RULES = 100


class Posted:
    """A rule in force, and how often it was asked and has hit."""

    __slots__ = ("_numbers", "hits", "id", "rule")

    def __init__(self, id_: str, rule: FaultRule) -> None:
        self.id = id_
        self.rule = rule
        self.hits = 0
        self._numbers: Counter[str] = Counter()  # by guest, of what it was asked about

    @property
    def asked(self) -> int:
        """How many requests or events it was asked about."""
        return sum(list(self._numbers.values()))

    def ask(self, guest: str) -> FaultHit | None:
        """Count one more, and say whether the rule hits it."""
        hit = self.foresee(guest, 1)
        self.count(guest, 1)
        return hit

    def foresee(self, guest: str, ahead: int) -> FaultHit | None:
        """Whether the rule is going to hit the one that comes then: 1 is the next. Nothing is counted."""
        number = self._numbers[guest] + ahead
        return FaultHit(self, guest, number) if self.rule.hits(guest, number) else None

    def count(self, guest: str, times: int) -> None:
        """It was asked about so many more."""
        self._numbers[guest] += times


class FaultHit(NamedTuple):
    """A rule hits a guest's request, or an event, of this number."""

    posted: Posted
    guest: str
    number: int

    @property
    def rule(self) -> FaultRule:
        """The rule that hits."""
        return self.posted.rule

    def choose(self, among: int) -> int:
        """Which of so many things is hit."""
        return self.rule.choose(among, self.guest, self.number)

    def took_effect(self) -> None:
        """It had an effect: count it."""
        self.posted.hits += 1


class FaultBook:
    """All rules in force, oldest first."""

    def __init__(self) -> None:
        self.on_requests: tuple[Posted, ...] = ()
        self.on_events: tuple[Posted, ...] = ()
        self.added: Subscribers[Posted] = Subscribers()  # rules on requests
        self._made = 0

    @property
    def all(self) -> list[Posted]:
        """Every rule, oldest first."""
        return sorted((*self.on_requests, *self.on_events), key=lambda each: int(each.id.rpartition("-")[2]))

    def add(self, rule: FaultRule) -> Posted:
        """Put a rule in force."""
        self._made += 1
        posted = Posted(f"{rule.name}-{self._made}", rule)
        if rule.is_of_engine:
            self.on_events = (*self.on_events, posted)
        else:
            self.on_requests = (*self.on_requests, posted)
            self.added.publish(posted)
        return posted

    def remove(self, gone: list[Posted]) -> None:
        """Take these out of force."""
        self.on_requests = tuple(each for each in self.on_requests if each not in gone)
        self.on_events = tuple(each for each in self.on_events if each not in gone)

    def ask(self, vm: str, about: About) -> list[FaultHit]:
        """What hits a request, the oldest rule first; every rule that it concerns counts it."""
        asked = [posted.ask(vm) for posted in self.on_requests if posted.rule.concerns(vm, about)]
        return [hit for hit in asked if hit is not None]

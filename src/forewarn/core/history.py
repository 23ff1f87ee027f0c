"""Lines of the history: what became of one event, and what many of them come to.

A line is an event that has ended, or an operation of which guests were told nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import NamedTuple

from forewarn.core.event import Event
from forewarn.core.operation import Attempt, Operation, Outcome
from forewarn.core.phase import Phase
from forewarn.core.terms import Action, AutoApproval


class Approver(StrEnum):
    """Who let an event start before its notice had run out."""

    GUESTS = "guests"
    OPERATORS = "operators"
    POLICY = "policy"  # nobody was up, and that counts as the guests' word
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One line of the history."""

    operation: Operation
    event: Event | None  # None: guests were told nothing
    attempts: tuple[Attempt, ...] = ()  # what was done to the machines that the line names
    is_approved_by_guest: bool = False  # whether the first approval came from a machine

    @property
    def about(self) -> Event | Operation:
        """What the line tells of."""
        return self.event or self.operation

    @property
    def resources(self) -> tuple[str, ...]:
        """The machines that it names."""
        return self.event.resources if self.event else self.operation.targets

    @property
    def notice_promised(self) -> timedelta | None:
        """How long ahead guests were told; None: they were told nothing."""
        return self.event.notice if self.event else None

    @property
    def notice_given(self) -> timedelta | None:
        """How long ahead of the start they knew; None: it did not start, or they were told nothing."""
        if self.event is None or self.event.started_at is None:
            return None
        return self.event.started_at - self.event.created_at

    @property
    def interruption_expected_seconds(self) -> int | None:
        """How long each machine was to be away; None: nobody knew."""
        seconds = self.about.duration_seconds
        return seconds if seconds >= 0 else None

    @property
    def interruptions(self) -> list[timedelta]:
        """How long each of its machines was away, one for each that was touched.

        Empty, too, where an action has failed: when its machine was back, if it was, is not known.
        """
        if any(each.outcome is Outcome.FAILED for each in self.attempts):
            return []
        ended = [(self._away_from(each), each.ended_at) for each in self.attempts if each.ended_at is not None]
        return [max(last - first, timedelta(0)) for first, last in ended]

    def _away_from(self, attempt: Attempt) -> datetime:
        """Since when the machine was away: one whose host failed, from that moment on."""
        failed_at = self.operation.started_at if attempt.action is Action.RESTORE else None
        return failed_at or attempt.recorded_at

    @property
    def approver(self) -> Approver | None:
        """Who let it start; None: it did not, or guests were told nothing."""
        if self.event is None or self.event.started_at is None:
            return None
        return approver_of(self.event.approved_by, is_guest=self.is_approved_by_guest)

    @property
    def figures(self) -> Figures:
        """What a summary needs of it."""
        promised, given = self.notice_promised, self.notice_given
        return Figures(
            outcome=self.about.phase,
            approver=self.approver,
            promised=None if promised is None else promised.total_seconds(),
            given=None if given is None else given.total_seconds(),
            expected=self.interruption_expected_seconds,
            interruptions=[each.total_seconds() for each in self.interruptions],
        )


def approver_of(first: str | None, *, is_guest: bool) -> Approver:
    """Who let an event start, by the name of the first who approved."""
    if first is None:
        return Approver.NOBODY
    if is_guest:
        return Approver.GUESTS
    return Approver.POLICY if first == AutoApproval.ALL_DOWN else Approver.OPERATORS


class Figures(NamedTuple):
    """What a summary needs of a line; times are in seconds."""

    outcome: Phase
    approver: Approver | None
    promised: float | None
    given: float | None
    expected: int | None
    interruptions: Sequence[float]


@dataclass(frozen=True, slots=True)
class Spread:
    """The least, the middle and the most of some seconds."""

    least: float
    median: float
    most: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What many lines come to."""

    lines: int
    outcomes: Mapping[Phase, int]
    started_by: Mapping[Approver, int]  # of the events that started: who let them
    notice_promised: Spread | None  # None: there was none
    notice_given: Spread | None
    interruption_expected: Spread | None
    interruption: Spread | None
    interruption_vm_seconds: float


class Summing:
    """Figures of lines come in as they are read; the summary is what is asked at the end."""

    def __init__(self) -> None:
        self._lines = 0
        self._outcomes: Counter[Phase] = Counter()
        self._started_by: Counter[Approver] = Counter()
        self._promised: list[float] = []
        self._given: list[float] = []
        self._expected: list[float] = []
        self._real: list[float] = []
        self._vm_seconds = 0.0

    def add(self, figures: Iterable[Figures]) -> None:
        """Count these too."""
        for each in figures:
            self._lines += 1
            self._outcomes[each.outcome] += 1
            if each.approver is not None:
                self._started_by[each.approver] += 1
            if each.promised is not None:
                self._promised.append(each.promised)
            if each.given is not None:
                self._given.append(each.given)
            if each.interruptions:
                self._add_interruptions(each)

    def _add_interruptions(self, figures: Figures) -> None:
        """What never happened took no time, and was not to take any: it is not counted."""
        if figures.expected is not None:
            self._expected.append(figures.expected)
        self._real.append(max(figures.interruptions))
        self._vm_seconds += sum(figures.interruptions)

    def summary(self) -> Summary:
        """What they come to."""
        return Summary(
            lines=self._lines,
            outcomes={phase: self._outcomes[phase] for phase in Phase if not phase.is_open},
            started_by={approver: self._started_by[approver] for approver in Approver},
            notice_promised=_spread(self._promised),
            notice_given=_spread(self._given),
            interruption_expected=_spread(self._expected),
            interruption=_spread(self._real),
            interruption_vm_seconds=self._vm_seconds,
        )


def summarise(lines: Iterable[HistoryEntry]) -> Summary:
    """What the lines come to."""
    summing = Summing()
    summing.add(line.figures for line in lines)
    return summing.summary()


def _spread(values: list[float]) -> Spread | None:
    return Spread(min(values), median(values), max(values)) if values else None

"""The most that the acts of a scenario can make: how many events, how far ahead, on whose wish, in which words.

Numbers are held against the acts only where each makes an event of a VM once, at its own time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from forewarn.core.fault import Fault
from forewarn.core.fleet import Vm
from forewarn.core.fleet_check import Place, Problem
from forewarn.core.notice import in_words
from forewarn.scenario.makers import Course, Maker
from forewarn.scenario.model import NO_EVENT, Deed, Expectation, clock_of
from forewarn.scenario.problems import at
from forewarn.scenario.words import OF_AN_EVENT
from forewarn.wire.choices import either

_CHANGES_OF_AN_EVENT = 3  # it is announced, it starts, it goes
_WHOLE_SECOND = timedelta(seconds=1)  # a NotBefore is one, so a notice may be rounded up to it


@dataclass(frozen=True, slots=True)
class Case:
    """An expectation of a VM or of its guest, and when it is looked at."""

    wanted: Expectation
    vm: Vm
    time: timedelta
    where: Place

    @property
    def title(self) -> str:
        """The event, for a reader: `A Reboot of web-0`."""
        return f"{'An event' if self.wanted.kind is None else f'A {self.wanted.kind}'} of {self.vm.name}"

    @property
    def title_within(self) -> str:
        """The same, within a sentence: `a Reboot of web-0`."""
        return f"{self.title[:1].lower()}{self.title[1:]}"

    def problem(self, key: str, what: str, remedy: str) -> Problem:
        """A problem of that key, where it is in the file; else of the entry."""
        is_there = getattr(self.wanted, key) is not None
        return Problem(Place(self.where.section, self.where.index, key if is_there else ""), what, remedy)


def expects_event(wanted: Expectation) -> bool:
    """Whether it can hold only where there has been an event."""
    said = [getattr(wanted, key) for key in OF_AN_EVENT if key != "kind"]
    is_counted = bool(wanted.count or wanted.ids or wanted.saw)
    return is_counted or any(each not in (None, NO_EVENT) for each in said)


def problems(course: Course, case: Case, makers: Sequence[Maker]) -> Iterator[Problem]:
    """What is more than these acts make of the VM until then, or on another's wish."""
    yield from _source(case, makers)
    yield from resources(course, case)
    if course.is_exact:
        yield from _count(course, case, makers)
        yield from _notice(case, makers)
        yield from _words(case, makers)


def events(course: Course, case: Case) -> Iterator[Problem]:
    """More events in a document than the acts make in its scope."""
    wanted, makers = case.wanted, _in_scope(course, case)
    if not course.is_exact:
        return
    if wanted.events is not None and wanted.events > len(makers):
        yield _too_many(at(case.where, "events"), wanted.events, makers, case.time)
    elif wanted.empty is False and not makers:
        when = clock_of(case.time)
        what = f"empty is false, and until {when} this file makes no event that {case.vm.name} is told of."
        yield case.problem("empty", what, "Expect empty = true, or add an [[at]].")


def incarnation(course: Course, case: Case) -> Iterator[Problem]:
    """A document that has changed more often than the acts can change it."""
    wanted, makers = case.wanted.incarnation, _in_scope(course, case)
    others = sum(act.time <= case.time for act in course.scenario.acts)  # each may change what an event names
    most = 1 + len(makers) * (_CHANGES_OF_AN_EVENT + others)
    if wanted is not None and course.is_exact and wanted > most:
        lines = _named(makers)
        what = f"incarnation is {wanted}, and until {clock_of(case.time)} it is at most {most}{lines}."
        yield case.problem("incarnation", what, f"Expect {most} or less, or add an [[at]].")


def _in_scope(course: Course, case: Case) -> list[Maker]:
    """What makes events until then that the VM is told of."""
    return [each for each in course.makers if each.vm.scope == case.vm.scope and each.act.time <= case.time]


def open_events(course: Course, wanted: int, time: timedelta, where: Place) -> Iterator[Problem]:
    """More open events than the acts make in the whole fleet."""
    makers = [each for each in course.makers if each.act.time <= time]
    if course.is_exact and wanted > len(makers):
        yield _too_many(where, wanted, makers, time)


def _count(course: Course, case: Case, makers: Sequence[Maker]) -> Iterator[Problem]:
    may_lack_ids = any(
        act.do is Deed.FAULT and act.fault == Fault.MISSING_MEMBERS.value for act in course.scenario.acts
    )
    for key, wanted in (("count", case.wanted.count), ("ids", None if may_lack_ids else case.wanted.ids)):
        if wanted is not None and wanted > len(makers):
            yield _too_many(Place(case.where.section, case.where.index, key), wanted, makers, case.time)


def _too_many(where: Place, wanted: int, makers: Sequence[Maker], time: timedelta) -> Problem:
    made = f"at most {len(makers)}{_named(makers)}"
    what = f"{where.key} is {wanted}, and until {clock_of(time)} this file makes {made}."
    return Problem(where, what, f"Expect {len(makers)} or fewer, or add an [[at]].")


def _named(makers: Sequence[Maker]) -> str:
    lines = sorted({maker.line for maker in makers})
    return f" (line {', '.join(map(str, lines))})" if lines else ""


def _notice(case: Case, makers: Sequence[Maker]) -> Iterator[Problem]:
    wanted = case.wanted
    longest = max(makers, key=lambda maker: maker.notice)
    if wanted.notice is not None and wanted.notice >= longest.notice + _WHOLE_SECOND:
        most = in_words(longest.notice)
        what = f"{case.title} gets {most} of notice (line {longest.line}); {in_words(wanted.notice)} is expected."
        yield case.problem("notice", what, f"Expect {most}{_more_notice(longest)}.")
    latest = max(makers, key=lambda maker: maker.act.time + maker.notice)
    ahead = max(latest.act.time + latest.notice - case.time, timedelta(0))
    if wanted.not_before_in is not None and wanted.not_before_in >= ahead + _WHOLE_SECOND:
        what = (
            f"NotBefore of {case.vm.name} is at most {clock_of(ahead)} ahead at {clock_of(case.time)} "
            f"(line {latest.line}); {clock_of(wanted.not_before_in)} is expected."
        )
        yield case.problem("not_before_in", what, f"Expect {clock_of(ahead)} or less{_more_notice(latest)}.")


def _more_notice(maker: Maker) -> str:
    is_free = maker.act.do in {Deed.MAINTAIN, Deed.DEGRADE}
    return f", or ask for more in line {maker.line}" if is_free else ""


def _source(case: Case, makers: Sequence[Maker]) -> Iterator[Problem]:
    known = sorted({maker.source for maker in makers})
    if case.wanted.source is not None and case.wanted.source not in known:
        last = makers[-1]
        what = f"{case.title} comes of {last.act.do} (line {last.line}), and its source is {last.source}."
        yield case.problem("source", what, f"Expect {either(known)}.")


def _words(case: Case, makers: Sequence[Maker]) -> Iterator[Problem]:
    """What an event says is what its act gave it."""
    for key in ("description", "duration_seconds"):
        wanted, known = getattr(case.wanted, key), {getattr(maker, key): maker for maker in makers}
        if wanted is not None and wanted not in known:
            last, said = makers[-1], [_in_the_file(each) for each in known]
            what = f"{case.title} comes of {last.act.do} (line {last.line}), and its {key} is {said[-1]}."
            yield case.problem(key, what, f"Expect {either(said)}.")


def _in_the_file(value: str | int) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def resources(course: Course, case: Case) -> Iterator[Problem]:
    """An event names VMs of one scope."""
    for name in case.wanted.resources or []:
        other = course.world.vms.get(name)
        if other is not None and other.scope != case.vm.scope:
            what = f"{name} does not share a document with {case.vm.name}, so no event names both."
            yield case.problem("resources", what, f"Leave out {name}, or expect it of {name}.")

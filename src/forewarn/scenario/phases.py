"""Where an event cannot be in its life at a time: too early, too late, or never."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forewarn.core.fleet_check import Problem
from forewarn.core.notice import in_words
from forewarn.core.phase import Phase
from forewarn.scenario.bounds import NEVER, Bounds
from forewarn.scenario.makers import Maker
from forewarn.scenario.model import GONE, Expectation, clock_of
from forewarn.scenario.most import Case

_AFTER_THE_START = {Phase.STARTED, Phase.COMPLETED, Phase.FAILED}


def problems(bounds: Bounds, case: Case, makers: Sequence[Maker]) -> Iterator[Problem]:
    """What is wrong with the phase that is expected, or with the ones that a guest is to have seen."""
    if all(maker.is_born_started for maker in makers) and (key := _key_of_scheduled(case.wanted)):
        last = makers[-1]
        what = f"{case.title} is never Scheduled: {last.act.do} (line {last.line}) makes it Started at once."
        yield case.problem(key, what, f"Leave out {key if key != 'saw' else 'Scheduled'}, or expect Started.")
        return
    yield from _too_early(bounds, case, makers)
    yield from _too_late(bounds, case, makers)


def _key_of_scheduled(wanted: Expectation) -> str:
    """What can be said only of an event that is Scheduled at some time."""
    if wanted.phase == Phase.SCHEDULED.value:
        return "phase"
    if Phase.SCHEDULED.value in (wanted.saw or []):
        return "saw"
    return "not_before_in" if wanted.not_before_in is not None else "approved_by" if wanted.approved_by else ""


def _too_early(bounds: Bounds, case: Case, makers: Sequence[Maker]) -> Iterator[Problem]:
    saw = case.wanted.saw or []
    phase = Phase.STARTED if Phase.STARTED.value in saw else case.wanted.phase
    if phase not in _AFTER_THE_START:
        return
    last, starts = makers[-1], min(bounds.earliest_start(maker) for maker in makers)
    comes, what_comes = starts, str(phase)
    if phase is Phase.STARTED and GONE in saw:
        comes, what_comes = min(bounds.earliest_end(maker, is_done=False) for maker in makers), "gone"
    elif phase in {Phase.COMPLETED, Phase.FAILED}:
        is_done = phase == Phase.COMPLETED.value
        comes = min(bounds.earliest_end(maker, is_done=is_done) for maker in makers)
    if case.time >= comes:
        return
    approval = "nothing in this file approves it"
    if last.is_born_started:
        approval = "it is Started at once"
    elif starts < last.act.time + last.notice:
        approval = f"it is approved at {clock_of(starts)} at the earliest"
    takes = f"; it takes {in_words(comes - starts)} from its start" if comes > starts else ""
    what = (
        f"{case.title} cannot be {what_comes} at {clock_of(case.time)}: it is announced at "
        f"{clock_of(last.act.time)} (line {last.line}) with {in_words(last.notice)} of notice, "
        f"and {approval}{takes}."
    )
    sooner = "" if last.is_born_started else ", or let a guest approve it before (approve_after)"
    yield case.problem("saw" if saw else "phase", what, f"Expect it from {clock_of(comes)} on{sooner}.")


def _too_late(bounds: Bounds, case: Case, makers: Sequence[Maker]) -> Iterator[Problem]:
    """Scheduled after its start, or Started after its end, as both come by themselves."""
    wanted = case.wanted
    if wanted.phase == Phase.STARTED.value:
        key, ends = "phase", max(bounds.latest_end(maker) for maker in makers)
    elif wanted.phase == Phase.SCHEDULED.value or wanted.not_before_in is not None:
        key = "phase" if wanted.phase is not None else "not_before_in"
        ends = max(bounds.latest_start(maker) for maker in makers)
    else:
        return
    if ends == NEVER or case.time < ends:
        return
    last, phase = makers[-1], wanted.phase or Phase.SCHEDULED
    course = f"and starts by {clock_of(ends)}"
    if phase == Phase.STARTED.value:
        course = f"starts by {clock_of(bounds.latest_start(last))} and is over by {clock_of(ends)}"
    what = (
        f"{case.title} is not {phase} any more at {clock_of(case.time)}: it is announced at "
        f"{clock_of(last.act.time)} (line {last.line}), {course}."
    )
    remedy = (
        f"Expect it before {clock_of(ends)}." if ends > last.act.time else "Expect Started, or what comes then."
    )
    yield case.problem(key, what, remedy)

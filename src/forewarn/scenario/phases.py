"""Where an event cannot be in its life at a time: it has not come so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forewarn.core.fleet_check import Problem
from forewarn.core.notice import in_words
from forewarn.core.phase import Phase
from forewarn.scenario.bounds import Bounds
from forewarn.scenario.makers import Maker
from forewarn.scenario.model import GONE, clock_of
from forewarn.scenario.most import Case

_AFTER_THE_START = {Phase.STARTED, Phase.COMPLETED, Phase.FAILED}


def problems(bounds: Bounds, case: Case, makers: Sequence[Maker]) -> Iterator[Problem]:
    """What is wrong with the phase that is expected, or with the ones that a guest is to have seen."""
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

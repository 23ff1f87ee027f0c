"""Whether what a scenario does and expects can be, as far as its file tells.

Only what is certain is refused. Where a fault is against the rules, or nobody may be up to be waited for,
everything may be. Where others may act than the file, what it does tells nothing of what comes about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from forewarn.core.fleet_check import Place, Problem
from forewarn.core.notice import LEAST_NOTICE, in_words
from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
from forewarn.core.world import World
from forewarn.scenario import approvals, most, phases, sightings, standing
from forewarn.scenario.bounds import Bounds
from forewarn.scenario.makers import TO_HOSTS, Course, Maker
from forewarn.scenario.model import END, Act, Deed, Expectation, GuestScript, Scenario, clock_of
from forewarn.scenario.most import Case
from forewarn.scenario.problems import LineOf, at

_MAY_UNDO = {  # it calls an event off, or does its work
    Deed.CANCEL,
    Deed.DEGRADE,
    Deed.DELETE,
    Deed.EVICT,
    Deed.FAIL,
    Deed.MAINTAIN,
    Deed.RECOVER,
    Deed.REDEPLOY,
    Deed.RESTART,
    Deed.ROLLOUT,
    Deed.SCALE,
    Deed.STOP,
}
_DONE = {Deed.CANCEL: "called off", Deed.APPROVE: "approved"}
_HOW = {
    Kind.FREEZE: 'do = "maintain"',
    Kind.REBOOT: 'do = "restart"',
    Kind.REDEPLOY: 'do = "redeploy"',
    Kind.PREEMPT: 'do = "evict"',
    Kind.TERMINATE: 'do = "delete", of a VM with terminate_notification',
}
_START_LATER = "Let it start then, or later (starts)."
_OTHER_OUTSIDE = "Let one be outside that is there from the start."
_EXPECT_LATER = "Expect it then, or later."


@dataclass(slots=True)
class Foresight:
    """Goes through the acts once, and then holds every expectation against them."""

    scenario: Scenario
    world: World
    line_of: LineOf
    is_closed: bool = True  # nobody acts but the file
    _course: Course = field(init=False)
    _bounds: Bounds = field(init=False)

    def __post_init__(self) -> None:
        self._course = Course(self.scenario, self.world)
        self._bounds = Bounds(self._course)

    def problems(self) -> Iterator[Problem]:
        """What cannot happen."""
        for index, script in enumerate(self.scenario.guests):
            where, remedy = Place("guests", index, "vm"), _OTHER_OUTSIDE if script.outside else _START_LATER
            yield from self._not_there_yet(script.vm, script.starts, where, remedy)
        is_closed = self.is_closed and not any(script.outside for script in self.scenario.guests)
        if is_closed:
            yield from self._done()
        for index, wanted in enumerate(self.scenario.expectations):
            time = self.scenario.length if wanted.time == END else wanted.time
            judge = self._expected if is_closed else self._expected_of_anybody
            yield from judge(wanted, time, Place("expect", index))

    def _done(self) -> Iterator[Problem]:
        """What is wrong with the acts, one after the other."""
        for index, act in enumerate(self.scenario.acts):
            place = Place("at", index, "vm" if act.vm is not None else "options")
            yield from self._not_there_yet(act.named_vm, act.time, place, "Do it after that.")
            yield from self._done_to_the_gone(act, index)
            yield from self._done_in_vain(act, index)
            self._course.go_on(act, self.line_of("at", index))

    def _expected_of_anybody(self, wanted: Expectation, time: timedelta, where: Place) -> Iterator[Problem]:
        """What cannot be whoever acts: an operator may do anything, and somebody may speak for any VM."""
        script = self._script_of(wanted)
        vm = self.world.vms.get((wanted.vm if script is None else script.vm) or "")
        if script is not None:
            yield from standing.not_asked_yet(script, wanted, time, where)
        if vm is not None:
            case = Case(wanted, vm, time, where)
            yield from most.resources(self._course, case)
            if script is not None and wanted.kind is not None:
                yield from sightings.unknown_kinds(script, case, [wanted.kind])

    def _script_of(self, wanted: Expectation) -> GuestScript | None:
        return next((each for each in self.scenario.guests if each.title == wanted.guest), None)

    def _expected(self, wanted: Expectation, time: timedelta, where: Place) -> Iterator[Problem]:
        script = self._script_of(wanted)
        if script is not None:
            unanswered = list(standing.answers(self._course, script, wanted, time, where))
            yield from unanswered
            if unanswered:
                return
        name = wanted.vm if script is None else script.vm
        vm = self.world.vms.get(name or "")
        if vm is not None:
            yield from self._judge(Case(wanted, vm, time, where), script)
        elif wanted.open is not None:
            yield from most.open_events(self._course, wanted.open, time, at(where, "open"))
        elif _needs_a_vm(wanted):
            yield from self._not_there_yet(wanted.vm, time, at(where, "vm"), _EXPECT_LATER)

    def _not_there_yet(self, vm: str | None, time: timedelta, where: Place, remedy: str) -> Iterator[Problem]:
        """A VM that its scale set gets only later; at one instant acts come in the order of the file."""
        arrival = self._course.instances.get(vm or "")
        if arrival is None or arrival.index is None:
            return
        comes = self.scenario.acts[arrival.index].time
        if time < comes or (where.section == "at" and where.index < arrival.index):
            line = self.line_of("at", arrival.index)
            what = (
                f"{vm} is not there at {clock_of(time)}: {arrival.scale_set} gets it at {clock_of(comes)} at the "
                f"earliest (line {line})."
            )
            yield Problem(where, what, remedy)

    def _done_to_the_gone(self, act: Act, index: int) -> Iterator[Problem]:
        gone = self._course.gone.get(act.vm or "")
        if gone is None or act.do in {Deed.CANCEL, Deed.APPROVE, Deed.FAULT}:
            return
        if act.do in TO_HOSTS | {Deed.RECOVER, Deed.EVICT} and act.time < gone.done_by:
            return
        what = f"{act.vm} is deleted at {clock_of(gone.asked_at)} (line {gone.line}); {act.do} comes too late."
        yield Problem(Place("at", index, "vm"), what, "Do it before, or to another VM.")

    def _done_in_vain(self, act: Act, index: int) -> Iterator[Problem]:
        """A start of what runs, a request to what does not, an answer to what is not announced, or over."""
        vm, time, where = self.world.vms.get(act.vm or ""), clock_of(act.time), Place("at", index, "do")
        if vm is None:
            return
        if act.do is Deed.START and not any(standing.may_stop(each, vm) for each in self.scenario.acts[:index]):
            what = f"{vm.name} runs at {time}, so it cannot be started: nothing in this file stops it before."
            yield Problem(where, what, 'Stop it before (do = "stop"), or leave this out.')
        if act.do in {Deed.CANCEL, Deed.APPROVE} and self._course.is_exact:
            untold = (each for each in self._course.untold if each.vm.name == vm.name)
            fitting = [each for each in (*self._course.makers_of(vm), *untold) if act.kind in {None, each.kind}]
            if not fitting:
                kind = act.kind or "event"
                what = f"There is nothing to {act.do} at {time}: no {kind} of {vm.name} is announced before."
                yield Problem(where, what, f"Put what is to be {_DONE[act.do]} before it.")
            else:
                yield from self._done_too_late(act, index, fitting)
        if act.do in {Deed.RESTART, Deed.REDEPLOY, Deed.STOP}:
            yield from standing.done_to_the_stopped(self._course, vm, index, self.line_of)

    def _done_too_late(self, act: Act, index: int, makers: list[Maker]) -> Iterator[Problem]:
        """A cancel of what has started, and an approval of what is gone."""
        has_started = all(self._bounds.has_started(maker, index) for maker in makers)
        is_gone = has_started and all(self._bounds.latest_end(maker) < act.time for maker in makers)
        if is_gone or (has_started and act.do is Deed.CANCEL):
            last = makers[-1]
            state = "is over" if is_gone else "has started"
            what = f"The {last.kind} of {act.vm} (line {last.line}) {state} by {clock_of(act.time)}."
            yield Problem(Place("at", index, "do"), what, f"Let it be {_DONE[act.do]} before.")

    def _judge(self, case: Case, script: GuestScript | None) -> Iterator[Problem]:
        if most.expects_event(case.wanted):
            own = self._course.makers_of(case.vm)
            fitting = [maker for maker in own if case.wanted.kind in {None, maker.kind}]
            before = [maker for maker in fitting if maker.act.time <= case.time]
            if not fitting:
                what = f"{case.title} cannot be: nothing in this file makes one."
                yield case.problem("kind", what, _how_to_make(case.wanted, self._course, case.vm.name))
            elif not before:
                first = min(fitting, key=lambda maker: maker.act.time)
                comes = f"it comes at {clock_of(first.act.time)} (line {first.line})"
                what = f"{case.title} cannot be at {clock_of(case.time)}: {comes}."
                yield case.problem("time", what, _EXPECT_LATER)
            else:
                untimely = list(phases.problems(self._bounds, case, before))
                yield from untimely
                if script is not None and not untimely:
                    yield from sightings.problems(self._bounds, script, case, before)
                yield from self._judge_cancel(case, before)
                yield from approvals.problems(self._bounds, case, before)
                yield from self._judge_notice(case, before)
                yield from most.problems(self._course, case, before)
        if case.wanted.vm is not None:
            yield from most.events(self._course, case)
            yield from most.incarnation(self._course, case)
            yield from standing.machines(self._course, case)

    def _judge_cancel(self, case: Case, makers: list[Maker]) -> Iterator[Problem]:
        if case.wanted.phase != Phase.CANCELLED.value:
            return
        # What moves, stops or deletes a machine does the work of an event that is announced before it or after.
        others = [act for act in self.scenario.acts if act.time <= case.time and act is not makers[-1].act]
        if not any(act.do in _MAY_UNDO for act in others):
            what = f"{case.title} cannot be Cancelled: nothing before {clock_of(case.time)} calls it off."
            yield case.problem("phase", what, 'Add an [[at]] with do = "cancel".')

    def _judge_notice(self, case: Case, makers: list[Maker]) -> Iterator[Problem]:
        """No notice is ever shorter than the least of its kind."""
        asked = case.wanted.notice
        if asked is None or any(maker.is_born_started or self._bounds.is_lawless(maker) for maker in makers):
            return
        least = min(LEAST_NOTICE[maker.kind] for maker in makers)
        if asked < least:
            what = f"A {makers[-1].kind} gets at least {in_words(least)} of notice; {in_words(asked)} is expected."
            yield case.problem("notice", what, f"Expect {in_words(least)} or more.")


def _needs_a_vm(wanted: Expectation) -> bool:
    return most.expects_event(wanted) or bool(standing.said_of_a_vm(wanted))


def _how_to_make(wanted: Expectation, course: Course, vm: str) -> str:
    for maker in course.untold:
        if maker.vm.name == vm and wanted.kind in {None, maker.kind}:
            why = "as nobody has asked for the document: give it a guest, or enabled = true"
            return f"Line {maker.line} is done at once, {why}."
    others = [f" Line {each.line} makes a {each.kind} of it." for each in course.makers if each.vm.name == vm]
    how = "that does something to it" if wanted.kind is None else f"with {_HOW[wanted.kind]}"
    return f"Add an [[at]] {how}.{''.join(others[-1:])}"

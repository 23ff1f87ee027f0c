"""What stays as it is until an act of the file changes it: machines, scopes, and what guests are answered."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from forewarn.core.fault import About, Fault, FaultRule
from forewarn.core.fleet import Vm
from forewarn.core.fleet_check import Place, Problem
from forewarn.core.notice import Limits, in_words
from forewarn.core.terms import Action, VmState
from forewarn.scenario import faults
from forewarn.scenario.bounds import last_poll
from forewarn.scenario.makers import TO_HOSTS, Course
from forewarn.scenario.model import Act, Deed, Expectation, GuestScript, clock_of
from forewarn.scenario.most import Case
from forewarn.scenario.problems import LineOf, at
from forewarn.scenario.words import OF_A_VM_THAT_IS
from forewarn.wire.choices import either

_FELT = {Deed.STOP, Deed.EVICT, Deed.DELETE, Deed.RESTART, Deed.REDEPLOY}
_MAY_BRING_BACK = TO_HOSTS | {Deed.RECOVER, Deed.SCALE}
_CHANGES_NO_MACHINE = {Deed.FAULT, Deed.CLEAR}
_ANSWERS = {0, 200}  # that a guest may always get: there may be none in time
_NOT_MODIFIED, _NOT_FOUND = 304, 404
_HOW = {
    VmState.STOPPED: ("stops it", 'do = "stop"'),
    VmState.DEALLOCATED: ("evicts it", 'do = "evict"'),
    VmState.DOWN: ("takes it down", 'do = "fail"'),
    VmState.DELETED: ("deletes it", 'do = "delete"'),
}


def machines(course: Course, case: Case) -> Iterator[Problem]:
    """What nothing in the file makes of the VM, or of its scope, until then."""
    yield from _state(course, case)
    yield from _host(course, case)
    yield from _scope(course, case)
    yield from _silence(course, case)
    yield from _gone(course, case)


def said_of_a_vm(wanted: Expectation) -> list[str]:
    """What is expected of a VM that is there."""
    said = [key for key in OF_A_VM_THAT_IS if getattr(wanted, key) is not None]
    return said if wanted.state in {None, VmState.DELETED} else [*said, "state"]


def may_stop(act: Act, vm: Vm) -> bool:
    """Whether it may be the reason that the VM does not run, for however short a time."""
    return act.do in TO_HOSTS | {Deed.SCALE} or (act.do in _FELT and act.vm == vm.name)


def _may_bring(act: Act, vm: Vm, state: VmState) -> bool:
    """Whether the VM may be so because of it."""
    match state:
        case VmState.STOPPED:
            return act.do is Deed.STOP and act.vm == vm.name
        case VmState.DEALLOCATED:
            return act.do is Deed.EVICT and act.vm == vm.name
        case VmState.DELETED if act.do is Deed.SCALE:
            return act.scale_set == vm.set_name
        case VmState.DELETED:
            return act.do in {Deed.DELETE, Deed.EVICT} and act.vm == vm.name
        case _:
            return may_stop(act, vm)


def _state(course: Course, case: Case) -> Iterator[Problem]:
    state, before = case.wanted.state, _before(course, case.time)
    if state in _HOW and not any(_may_bring(act, case.vm, state) for act in before):
        does, how = _HOW[state]
        when = clock_of(case.time)
        what = f"{case.vm.name} cannot be {state} at {when}: nothing in this file {does} before."
        yield case.problem("state", what, f"Add an [[at]] with {how}, or expect another state.")


def _host(course: Course, case: Case) -> Iterator[Problem]:
    host, vm = case.wanted.host, case.vm
    if host not in {None, vm.host} and not course.may_have_moved(vm, case.time):
        what = f"{vm.name} is on {vm.host} at {clock_of(case.time)}: nothing in this file moves it before."
        yield case.problem("host", what, f'Expect {vm.host}, or move it before (do = "redeploy", for example).')


def _scope(course: Course, case: Case) -> Iterator[Problem]:
    """It is on for a day after somebody has asked; one that is made anew with its scale set may be off."""
    head, wanted = course.scenario.head, case.wanted.on
    silence, when = Limits().silence, clock_of(case.time)
    if wanted is False and not course.may_be_off(case.vm, case.time):
        why = f"everybody has asked when the scenario begins, and that holds for {in_words(silence)}"
        yield case.problem("on", f"The scope of {case.vm.name} is on at {when}: {why}.", "Expect on = true.")
    asking = (each for each in course.guests_in_scope_of(case.vm) if each.starts <= case.time)
    if wanted is True and not head.enabled and not any(asking):
        what = f"The scope of {case.vm.name} is off at {when}: nobody in it has asked before."
        yield case.problem("on", what, "Give it a guest, or say enabled = true.")


def _silence(course: Course, case: Case) -> Iterator[Problem]:
    """A scope that nobody has asked for in a day is off."""
    silence = Limits().silence
    if case.wanted.on is not True or course.is_made_anew(case.vm):
        return
    heard = [timedelta(0)] if course.scenario.head.enabled else []
    heard += [
        min(case.time, asked + (script.approve_after or timedelta(0)))
        for script in course.guests_in_scope_of(case.vm)
        if (asked := last_poll(script, case.time)) is not None
    ]
    if heard and case.time >= max(heard) + silence:
        what = (
            f"The scope of {case.vm.name} is off at {clock_of(case.time)}: nobody in it asks after "
            f"{clock_of(max(heard))}, and that holds for {in_words(silence)}."
        )
        yield case.problem("on", what, "Expect on = false, or let a guest ask (every, stops).")


def done_to_the_stopped(course: Course, vm: Vm, index: int, line_of: LineOf) -> Iterator[Problem]:
    """What cannot be done to a VM that was stopped, and to which nothing else was done since."""
    acts = course.scenario.acts
    act, takes = acts[index], course.seconds_of(Action.STOP)
    before = [n for n in range(index) if acts[n].vm == vm.name or acts[n].do in _MAY_BRING_BACK]
    before = [n for n in before if acts[n].do not in _CHANGES_NO_MACHINE]
    stops = [n for n in before if acts[n].do is Deed.STOP]
    if stops and stops == before and takes < course.action_limit.total_seconds():
        since = f"it is stopped at {clock_of(acts[stops[0]].time)} (line {line_of('at', stops[0])})"
        what = f"{vm.name} does not run at {clock_of(act.time)}, so it takes no {act.do}: {since}."
        yield Problem(Place("at", index, "do"), what, 'Start it before (do = "start"), or leave this out.')


def _gone(course: Course, case: Case) -> Iterator[Problem]:
    gone = course.gone.get(case.vm.name)
    if gone is None or case.time < max(each.done_by for each in course.gone.values()):
        return
    for key in said_of_a_vm(case.wanted)[:1]:
        since = f"it is deleted at {clock_of(gone.asked_at)} (line {gone.line})"
        what = f"{case.vm.name} is no more at {clock_of(case.time)}: {since}."
        yield case.problem(key, what, 'Expect it before, or state = "deleted".')


# What guests are answered.


def answers(
    course: Course, script: GuestScript, wanted: Expectation, time: timedelta, where: Place
) -> Iterator[Problem]:
    """What the guest is not answered until then, whatever it asks."""
    title, status = script.title, wanted.status
    unasked = list(not_asked_yet(script, wanted, time, where))
    known = _known_answers(course, script, time)
    if unasked or status is None or status in known:
        yield from unasked
        return
    if status == _NOT_MODIFIED:
        what = f"{title} is never answered with {status}: it sends no If-None-Match."
        yield Problem(at(where, "status"), what, "Give the guest conditional = true.")
        return
    what = f"{title} is not answered with {status} until {clock_of(time)}: nothing in this file does that."
    remedy = f"It can be {either([str(each) for each in sorted(known)])}, or what a fault answers with."
    yield Problem(at(where, "status"), what, remedy)


def not_asked_yet(script: GuestScript, wanted: Expectation, time: timedelta, where: Place) -> Iterator[Problem]:
    """What it is to have seen, or to be answered, before it begins."""
    if time < script.starts and (wanted.status is not None or wanted.saw or wanted.ids):
        what = f"{script.title} has not asked at {clock_of(time)}: it starts at {clock_of(script.starts)}."
        yield Problem(where, what, "Expect it then, or later.")


def _known_answers(course: Course, script: GuestScript, time: timedelta) -> set[int]:
    rules = faults.rules_in(course.scenario, time)
    struck = (_code_of(rule) for rule in rules if rule.concerns(script.vm, About.DOCUMENT))
    known = _ANSWERS | {code for code in struck if code is not None}
    vm = course.world.vms.get(script.vm)
    if vm is None or any(_may_bring(act, vm, VmState.DELETED) for act in _before(course, time)):
        known.add(_NOT_FOUND)
    return known | {_NOT_MODIFIED} if script.conditional else known


def _code_of(rule: FaultRule) -> int | None:
    """The status that a fault answers with."""
    code = rule.options["code"] if rule.name in {Fault.STATUS, Fault.PROXY_PAGE} else None
    return code if isinstance(code, int) else None


def _before(course: Course, time: timedelta) -> list[Act]:
    return [act for act in course.scenario.acts if act.time <= time]

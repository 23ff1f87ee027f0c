"""Who can have approved an event: guests that read of it and say so, and acts of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forewarn.core.fleet_check import Problem
from forewarn.core.terms import AutoApproval
from forewarn.scenario.bounds import Bounds, first_poll
from forewarn.scenario.makers import Maker
from forewarn.scenario.model import Act, GuestScript, clock_of
from forewarn.scenario.most import Case
from forewarn.wire.choices import either


def problems(bounds: Bounds, case: Case, makers: Sequence[Maker]) -> Iterator[Problem]:
    """Somebody who does not approve it until then."""
    who = case.wanted.approved_by
    if not who or who == AutoApproval.ALL_DOWN:
        return
    known = {
        script.vm for script in bounds.course.guests_in_scope_of(case.vm) if _may(bounds, script, case, makers)
    }
    told = (act for act in bounds.approving if act.time <= case.time and bounds.share_scope(act.vm, case.vm))
    known |= set(map(_name_of, told))
    if who not in known:
        those = f"Those who do are {either(sorted(known))}. " if known else ""
        guest = who if bounds.share_scope(who, case.vm) else case.vm.name
        remedy = f"{those}Let a guest of {guest} approve (approve_after), or an [[at]]."
        yield case.problem("approved_by", _why_not(bounds, case, who), remedy)


def _may(bounds: Bounds, script: GuestScript, case: Case, makers: Sequence[Maker]) -> bool:
    """Whether it approves one of these, and not too late."""
    for maker in makers:
        seen_at = first_poll(script, maker.act.time)
        if seen_at is None or script.approve_after is None or seen_at + script.approve_after > case.time:
            continue
        if bounds.may_approve(script, maker):
            return True
    return False


def _why_not(bounds: Bounds, case: Case, who: str) -> str:
    other = bounds.course.world.vms.get(who)
    if other is not None and other.scope != case.vm.scope:
        return f"{who} does not share a document with {case.vm.name}, so it cannot approve its events."
    guests = {each.vm for each in bounds.course.scenario.guests if each.approve_after is not None}
    if who not in guests.union(map(_name_of, bounds.approving)):
        return f"{who} approves nothing in this file."
    return f"{who} does not approve {case.title_within} until {clock_of(case.time)}."


def _name_of(act: Act) -> str:
    """As whom an act approves."""
    return act.who or "scenario"

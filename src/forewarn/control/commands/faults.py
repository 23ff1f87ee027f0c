"""Commands on fault rules, where machines are simulated."""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.board.faults import Posted
from forewarn.control.commit import CommandTarget, Committed
from forewarn.control.faults import NO_FAULTS, find, refuse_rule
from forewarn.control.plane import ControlPlane
from forewarn.core.draft import Draft
from forewarn.core.fault import Fault, FaultRule
from forewarn.core.refusal import Refusal
from forewarn.core.requests.faults import mark_told


def add_fault(plane: ControlPlane, rule: FaultRule, actor: str) -> Posted | Refusal:
    """Put a fault rule in force."""
    book = plane.faults
    if book is None:
        return NO_FAULTS

    def write(draft: Draft) -> Refusal | None:
        refusal = refuse_rule(book, rule, draft.world.vms)
        if refusal is None:
            draft.note("add fault", subject=rule.vm or "", detail=rule.title)
        return refusal

    outcome = plane.commit(actor, write)
    if isinstance(outcome, Refusal):
        return outcome
    plane.board.keeps_previous |= rule.name is Fault.STALE
    return book.add(rule)


def clear_faults(plane: CommandTarget, rule: str | None, actor: str) -> list[Posted] | Refusal:
    """Take a fault rule out of force; without an id, all of them."""
    book = plane.faults
    if book is None:
        return NO_FAULTS
    found = find(book, rule)
    if isinstance(found, Refusal):
        return found

    def write(draft: Draft) -> None:
        for each in found:
            draft.note("clear fault", subject=each.rule.vm or "", detail=each.rule.title)

    plane.commit(actor, write)
    book.remove(found)
    return found


def mark_fault(plane: CommandTarget, vm: str, events: Iterable[str], fault: Fault) -> Committed | Refusal:
    """Mark these events: a guest is about to be told of them what is not so."""
    return plane.commit(vm, lambda draft: mark_told(draft, vm, events, fault))

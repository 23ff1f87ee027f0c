"""Faults in a scenario: as they are written there, and the one place where the engine is told of them."""

from __future__ import annotations

from forewarn.control.plane import ControlPlane
from forewarn.core.fault import Fault, FaultRule
from forewarn.core.refusal import Refusal
from forewarn.scenario.model import Act
from forewarn.wire.fault import parse_fault

NAMES = [str(each) for each in Fault]


def rule_of(act: Act, seed: int) -> FaultRule | Refusal:
    """The rule that an act puts in, or what is wrong with it; chance goes by the scenario's seed."""
    rule = parse_fault({"name": act.fault, "vm": act.vm, **act.options})
    if isinstance(rule, Refusal) or "rate" not in act.options or "seed" in act.options:
        return rule
    return parse_fault({"name": act.fault, "vm": act.vm, "seed": seed, **act.options})


def put_in(plane: ControlPlane, act: Act, seed: int, who: str) -> Refusal | None:
    """Let a fault be, from now on."""
    rule = rule_of(act, seed)
    if isinstance(rule, Refusal):
        return rule
    outcome = plane.add_fault(rule, who)
    return outcome if isinstance(outcome, Refusal) else None


def take_out(plane: ControlPlane, name: str | None, who: str) -> Refusal | None:
    """Let the faults of that name be no more, or all of them."""
    for posted in [] if plane.faults is None else plane.faults.all:
        if name in {None, posted.rule.name}:
            outcome = plane.clear_faults(posted.id, who)
            if isinstance(outcome, Refusal):
                return outcome
    return None

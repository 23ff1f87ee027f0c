"""Commands on the fleet, and on its sets and resource groups."""

from __future__ import annotations

from forewarn.control.commit import CommandTarget, Committed
from forewarn.core.draft import Draft
from forewarn.core.fleet import AvailabilitySet, ScaleSet
from forewarn.core.fleet_check import Problem
from forewarn.core.fleet_plan import plan_fleet
from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests import sets
from forewarn.core.requests.sets import AvailabilitySetWish, ScaleSetWish


def apply_fleet(plane: CommandTarget, spec: FleetSpec, actor: str) -> list[str] | list[Problem]:
    """Make the fleet what the description says: the differences, or the problems and no change."""
    outcome: list[str] | list[Problem] = []

    def write(draft: Draft) -> Refusal | None:
        nonlocal outcome
        plan = plan_fleet(draft.world, spec, plane.new_id())
        outcome = plan.problems or plan.differences
        if plan.problems:
            return Refusal(Code.NOT_ALLOWED, "The fleet cannot be applied.")
        if plan.differences:
            plan.write(draft)
        return None

    plane.commit(actor, write)
    return outcome


def put_availability_set(plane: CommandTarget, wish: AvailabilitySetWish, actor: str) -> Committed | Refusal:
    """Make an availability set, or change it."""
    return plane.commit(actor, lambda draft: sets.put_availability_set(draft, wish))


def put_scale_set(plane: CommandTarget, wish: ScaleSetWish, actor: str) -> str | Refusal:
    """Make a scale set, or change it and how many instances it has; the id of the batch of deletions."""
    batch = plane.new_id()
    outcome = plane.commit(actor, lambda draft: sets.put_scale_set(draft, wish, plane.machine_factory, batch))
    return outcome if isinstance(outcome, Refusal) else batch


def delete_set(plane: CommandTarget, owner: AvailabilitySet | ScaleSet, actor: str) -> str | Refusal:
    """Delete a set; the id of the batch of deletions of its instances."""
    batch = plane.new_id()
    outcome = plane.commit(actor, lambda draft: sets.delete_set(draft, owner, plane.machine_factory, batch))
    return outcome if isinstance(outcome, Refusal) else batch


def put_group(plane: CommandTarget, name: str, kept: str, actor: str) -> Committed | Refusal:
    """Declare a resource group."""
    return plane.commit(actor, lambda draft: sets.put_group(draft, name, kept))

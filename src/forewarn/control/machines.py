"""What clients of ARM ask of the plane: several VMs at once, and making and changing machines and sets.

Each is one commit: all of it, or a refusal and nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forewarn.control.plane import ControlPlane
from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.fleet import AvailabilitySet, ScaleSet
from forewarn.core.refusal import Refusal
from forewarn.core.requests import machines, notices, sets, vms
from forewarn.core.terms import Cause

Write = Callable[[Draft], Refusal | None]


def ask_for_vms(plane: ControlPlane, cause: Cause, names: Sequence[str], actor: str) -> str | Refusal:
    """A user's operation on several VMs, each by itself; the id under which all of them are found."""
    batch = plane.workshop.new_id()
    shop = plane.workshop
    return _batch(
        plane, actor, batch, lambda draft: vms.ask_for_vms(draft, cause, names, shop.new_id, shop.rules, batch)
    )


def do_waiting_work(plane: ControlPlane, names: Sequence[str], actor: str) -> str | Refusal:
    """Planned work that waits for the VMs, now."""
    batch, shop = plane.workshop.new_id(), plane.workshop

    def write(draft: Draft) -> Refusal | None:
        for name in names:
            if refusal := vms.do_waiting_work(draft, name, shop.new_id(), shop.rules, batch):
                return refusal
        return None

    return _batch(plane, actor, batch, write)


def approve(plane: ControlPlane, events: Sequence[Event], actor: str) -> Refusal | None:
    """Approve events that are open now, together."""

    def write(draft: Draft) -> Refusal | None:
        notices.approve_events(draft, events, actor)
        return None

    return plane.change(actor, write)


def put_vm(plane: ControlPlane, wish: machines.VmWish, actor: str) -> Refusal | None:
    """Make a VM, or change it."""
    return plane.change(actor, lambda draft: machines.put_vm(draft, wish, plane.workshop))


def put_availability_set(plane: ControlPlane, wish: sets.AvailabilitySetWish, actor: str) -> Refusal | None:
    """Make an availability set, or change it."""
    return plane.change(actor, lambda draft: sets.put_availability_set(draft, wish))


def put_scale_set(plane: ControlPlane, wish: sets.ScaleSetWish, actor: str) -> str | Refusal:
    """Make a scale set, or change it and how many instances it has; the id under which deletions are found."""
    batch = plane.workshop.new_id()
    return _batch(plane, actor, batch, lambda draft: sets.put_scale_set(draft, wish, plane.workshop, batch))


def delete_set(plane: ControlPlane, owner: AvailabilitySet | ScaleSet, actor: str) -> str | Refusal:
    """Take a set away; the id under which the deletions of its instances are found."""
    batch = plane.workshop.new_id()
    return _batch(plane, actor, batch, lambda draft: sets.delete_set(draft, owner, plane.workshop, batch))


def put_group(plane: ControlPlane, name: str, kept: str, actor: str) -> Refusal | None:
    """Declare a resource group."""
    return plane.change(actor, lambda draft: sets.put_group(draft, name, kept))


def _batch(plane: ControlPlane, actor: str, batch: str, write: Write) -> str | Refusal:
    refusal = plane.change(actor, write)
    return batch if refusal is None else refusal

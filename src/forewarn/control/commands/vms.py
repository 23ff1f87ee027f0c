"""Commands on VMs."""

from __future__ import annotations

from collections.abc import Sequence

from forewarn.control.commit import Accepted, CommandTarget, Committed
from forewarn.core.draft import Draft
from forewarn.core.refusal import Refusal
from forewarn.core.requests import machines, vms
from forewarn.core.requests.machines import VmWish
from forewarn.core.terms import Cause


def act_on_vm(plane: CommandTarget, cause: Cause, vm: str, actor: str) -> Accepted | Refusal:
    """Open an owner's operation on one VM: a restart, a stop, a deletion."""
    operation = plane.new_id()
    outcome = plane.commit(actor, lambda draft: vms.ask_for_vm(draft, cause, vm, operation, plane.limits))
    return outcome if isinstance(outcome, Refusal) else outcome.accepted(operation)


def act_on_vms(plane: CommandTarget, cause: Cause, names: Sequence[str], actor: str) -> str | Refusal:
    """Open the same operation on several VMs, each by itself; the id of the batch."""
    batch = plane.new_id()
    outcome = plane.commit(
        actor, lambda draft: vms.ask_for_vms(draft, cause, names, plane.new_id, plane.limits, batch)
    )
    return outcome if isinstance(outcome, Refusal) else batch


def do_waiting_work(plane: CommandTarget, names: Sequence[str], actor: str) -> str | Refusal:
    """Do planned work that waits for the VMs now; the id of the batch."""
    batch = plane.new_id()

    def write(draft: Draft) -> Refusal | None:
        for name in names:
            if refusal := vms.do_waiting_work(draft, name, plane.new_id(), plane.limits, batch):
                return refusal
        return None

    outcome = plane.commit(actor, write)
    return outcome if isinstance(outcome, Refusal) else batch


def evict_vm(plane: CommandTarget, vm: str, actor: str) -> Accepted | Refusal:
    """Take a Spot VM's capacity back."""
    operation = plane.new_id()
    outcome = plane.commit(actor, lambda draft: vms.evict(draft, vm, operation, plane.limits))
    return outcome if isinstance(outcome, Refusal) else outcome.accepted(operation)


def put_vm(plane: CommandTarget, wish: VmWish, actor: str) -> Committed | Refusal:
    """Make a VM, or change it."""
    return plane.commit(actor, lambda draft: machines.put_vm(draft, wish, plane.machine_factory))

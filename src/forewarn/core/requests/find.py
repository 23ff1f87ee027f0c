"""Finding what a request names, or saying that it is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from forewarn.core.draft import Draft
from forewarn.core.fleet import Host, Vm
from forewarn.core.holds import clock_time
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.world import World

T = TypeVar("T")


def any_case(table: Mapping[str, T], name: str) -> T | None:
    """What has that name, in whatever case it is written: no two names differ by case alone."""
    if (found := table.get(name)) is not None:
        return found
    folded = name.lower()
    return next((each for known, each in table.items() if known.lower() == folded), None)


def find_vm(world: World, name: str) -> Vm | Refusal:
    """The VM of that name."""
    if found := world.vms.get(name):
        return found
    return Refusal(Code.NOT_FOUND, f"There is no VM {name}.", "forewarn vm list")


def find_host(world: World, name: str) -> Host | Refusal:
    """The host of that name."""
    if found := world.hosts.get(name):
        return found
    return Refusal(Code.NOT_FOUND, f"There is no host {name}.", "forewarn host list")


def in_the_way(draft: Draft, vm: Vm, what: str, other: Operation) -> Refusal:
    """A refusal that names the operation that stands in the way, by the event that tells the VM of it."""
    event = next((each for each in draft.world.events_of(other.id) if vm.name in each.resources), None)
    if event is None:
        return Refusal(Code.BUSY, f"{what}: {other.title} is under way.", "Wait until it has ended.")
    if other.phase is Phase.STARTED:
        return Refusal(
            Code.BUSY,
            f"{what}: {other.title} has started ({event.short_id}).",
            f"forewarn event watch {event.short_id}",
        )
    return Refusal(
        Code.BUSY,
        f"{what}: {other.title} is scheduled ({event.short_id}, "
        f"starts by {clock_time(event.not_before, draft.now)}).",
        f"forewarn event cancel {event.short_id}",
    )

"""What is allowed in a fleet, and not as good as it might be: a sentence for each."""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.core.placement import shared_hosts
from forewarn.core.world import World

_MOST_NAMED = 3


def warnings(world: World) -> list[str]:
    """All that there is to say."""
    return [*shared_hosts(world), *_minimums_that_allow_nothing(world)]


def _minimums_that_allow_nothing(world: World) -> Iterator[str]:
    """The sets that have no VM to spare, were all of them up."""
    for name, vm_set in world.sets.items():
        if not vm_set.min_available:
            continue
        members = sorted(vm.name for vm in world.members_of_set(name))
        size = len(members)
        if members and vm_set.min_available >= size:
            more = f" and {size - _MOST_NAMED} more" if size > _MOST_NAMED else ""
            names = ", ".join(members[:_MOST_NAMED]) + more
            yield (
                f"{name} wants {vm_set.min_available} VMs available and has {size} ({names}): maintenance of a "
                "host that holds one of them is refused. "
                f"Lower its min_available to {size - 1}, or add VMs."
            )

"""Adding to a fleet, one thing at a time, while something may be under way.

What is added is described in the words of a fleet file and goes through the same checks; what it refers to and is
not there yet, a set or a host, is made along with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec

from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commands.guests import first_poll
from forewarn.control.commit import refusal_of
from forewarn.control.plane import ControlPlane
from forewarn.core.fleet_check import Problem, check
from forewarn.core.fleet_export import describe
from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.refusal import Code, Refusal
from forewarn.wire.fleet_file import BadFleet, read_json

ACTOR = "test"
_SECTION_OF = {  # the keys of a VM that refer to something, and where that is described
    "host": "hosts",
    "availability_set": "availability_sets",
    "scale_set": "scale_sets",
    "cloud_service": "cloud_services",
}
_NAME_OF = {"vms": "VM", "hosts": "host", "availability_sets": "availability set"}


@dataclass(frozen=True, slots=True)
class Wish:
    """One entry of a section, as a fleet file has it."""

    section: str
    entry: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What it is to be called."""
        return str(self.entry["name"])


def add(plane: ControlPlane, wish: Wish) -> Refusal | None:
    """Add it to the fleet; everything that is there stays as it is."""
    there = describe(plane.world)
    if any(each.name.lower() == wish.name.lower() for each in getattr(there, wish.section)):
        return Refusal(
            Code.NOT_ALLOWED,
            f"There is a {_NAME_OF[wish.section]} {wish.name} already.",
            "Use what was returned when it was made, or choose another name.",
        )
    try:
        wanted = read_json({wish.section: [dict(wish.entry)], **_referred_to(there, wish)}).spec
    except BadFleet as problem:
        return _refuse([line.partition(": ")[2] for line in problem.lines], wish)
    whole = _joined(there, wanted)
    problems = check(whole) or apply_fleet(plane, whole, ACTOR)
    return _refuse([f"{each.what} {each.remedy}" for each in problems if isinstance(each, Problem)], wish)


def turn_on(plane: ControlPlane, vm: str) -> Refusal | None:
    """As if its guest had asked once: from now on its scope is told, and waited for."""
    return refusal_of(first_poll(plane, vm))


def _referred_to(there: FleetSpec, wish: Wish) -> dict[str, list[Any]]:
    """What the entry refers to, as it is or as it will be made."""
    found: dict[str, list[Any]] = {}
    for key, section in _SECTION_OF.items():
        name = wish.entry.get(key) if wish.section == "vms" else None
        if isinstance(name, str):
            known = next((each for each in getattr(there, section) if each.name == name), None)
            found[section] = [{"name": name} if known is None else msgspec.to_builtins(known)]
    return found


def _joined(there: FleetSpec, wanted: FleetSpec) -> FleetSpec:
    """Both together; what is in both is as it is there."""
    sections = {}
    for each in fields(FleetSpec):
        known = getattr(there, each.name)
        names = {entry.name for entry in known}
        sections[each.name] = [*known, *(entry for entry in getattr(wanted, each.name) if entry.name not in names)]
    return replace(there, **sections)


def _refuse(sentences: list[str], wish: Wish) -> Refusal | None:
    if not sentences:
        return None
    what = f"The {_NAME_OF[wish.section]} {wish.name} cannot be made:"
    return Refusal(Code.BAD_REQUEST, " ".join([what, *sentences]))

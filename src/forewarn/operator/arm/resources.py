"""Resources of every type in one list, as `az resource list` asks for them.

Instances of scale sets are not in it: they are listed under their set, as on Azure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from forewarn.core.fleet import AvailabilitySet, ScaleSet
from forewarn.core.refusal import Refusal
from forewarn.operator.arm.endpoint import GROUP, PAGES, ArmCall, Outcome, arm
from forewarn.operator.endpoint import Nothing
from forewarn.wire.arm.bodies import bad
from forewarn.wire.arm.ids import AVAILABILITY_SETS, COMPUTE, SCALE_SETS, VMS
from forewarn.wire.arm.keeping import Json

_SHOWN = ("id", "name", "type", "location", "tags", "zones", "sku")
_CLAUSE = re.compile(r"(\w+)\s+eq\s+'([^']*)'", re.IGNORECASE)
_PREFIX = re.compile(r"startswith\(\s*tagname\s*,\s*'([^']*)'\s*\)", re.IGNORECASE)
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_LONGEST_QUOTE = 100  # characters of a filter that a refusal repeats


@dataclass(frozen=True, slots=True)
class Resource:
    """What filters look at; the view is made only for those that are shown, or where the location matters."""

    name: str
    kind: str
    group: str
    tags: Mapping[str, str]
    view: Callable[[], Json]

    def has_tag(self, name: str, value: str | None) -> bool:
        """Whether it has that tag, in whatever case; with that value, where one is given."""
        found = {key.lower(): each.lower() for key, each in self.tags.items()}
        return name in found and value in {None, found[name]}


Wanted = Mapping[str, str]
_TESTS: Mapping[str, Callable[[Resource, Wanted], bool]] = MappingProxyType(
    {
        "resourcegroup": lambda each, wanted: each.group.lower() == wanted["resourcegroup"],
        "resourcetype": lambda each, wanted: f"{COMPUTE}/{each.kind}".lower() == wanted["resourcetype"],
        "name": lambda each, wanted: each.name.lower() == wanted["name"],
        "tagname": lambda each, wanted: each.has_tag(wanted["tagname"], wanted.get("tagvalue")),
        "tagvalue": lambda each, wanted: wanted["tagvalue"] in {tag.lower() for tag in each.tags.values()},
        "startswith": lambda each, wanted: any(tag.lower().startswith(wanted["startswith"]) for tag in each.tags),
        "location": lambda each, wanted: each.view()["location"].lower() == wanted["location"],
    }
)


async def list_resources(asked: ArmCall, _: Nothing) -> Outcome:
    """The VMs, scale sets and availability sets of a group, or all of them."""
    wanted = _read_filter(asked.call.query("$filter") or "")
    tells_state = "provisioningstate" in (asked.call.query("$expand") or "").lower().split(",")

    def read() -> Outcome:
        if refusal := asked.unknown_group():
            return refusal
        if isinstance(wanted, Refusal):
            return wanted
        known = {
            f"{each.group}/{each.kind}/{each.name}".lower(): each
            for each in _all(asked)
            if all(is_so(each, wanted) for name, is_so in _TESTS.items() if name in wanted)
        }

        def show(key: str) -> Json:
            view = known[key].view()
            state = {"provisioningState": view["properties"].get("provisioningState", "Succeeded")}
            return {name: view[name] for name in _SHOWN if name in view} | (state if tells_state else {})

        return asked.listed(known, show)

    return await asked.call.on_plane(read)


def _all(asked: ArmCall) -> Iterator[Resource]:
    views = asked.views
    for vm in filter(asked.lists, asked.world.vms.values()):
        if not views.is_instance(vm):
            yield Resource(vm.name, VMS, vm.resource_group, vm.tags, partial(views.vm, vm))
    for owner in filter(asked.lists, asked.world.sets.values()):
        name, group = owner.name, owner.resource_group
        if isinstance(owner, ScaleSet):
            yield Resource(name, SCALE_SETS, group, owner.tags, partial(views.scale_set, owner))
        elif isinstance(owner, AvailabilitySet):
            yield Resource(name, AVAILABILITY_SETS, group, owner.tags, partial(views.availability_set, owner))


def _read_filter(text: str) -> Wanted | Refusal:
    """Parse $filter into lower-case conditions; empty without a filter.

    It matches one clause after the other and stops at the first bad one: the time grows with the length only.
    """
    wanted: dict[str, str] = {}
    text = text.strip()
    at = 0
    while at < len(text):
        joined = _AND.match(text, at) if wanted else None
        start = joined.end() if joined else at
        if found := _PREFIX.match(text, start):
            name, value = "startswith", found[1]
        elif found := _CLAUSE.match(text, start):
            name, value = found[1].lower(), found[2]
        if found is None or name not in _TESTS or (wanted and not joined):
            shown = text[start : found.end() if found else None]
            return bad(
                f"$filter: {shown[:_LONGEST_QUOTE]!r} is not known. It can be resourceGroup, resourceType, name, "
                "location, tagName or tagValue eq 'VALUE', or startswith(tagname, 'VALUE'), joined by and."
            )
        wanted[name] = value.lower()
        at = found.end()
    return wanted


_LISTED = {
    **PAGES,
    "$expand": "of all resources: `provisioningState` adds it",
    "$filter": (
        "of all resources: `resourceGroup`, `resourceType`, `name`, `location`, `tagName` and `tagValue`, each "
        "`eq 'VALUE'`, and `startswith(tagname, 'VALUE')`, joined by `and`"
    ),
}

ENDPOINTS = [
    arm(
        "GET",
        "/subscriptions/{subscription}/resources",
        list_resources,
        "VMs, scale sets and availability sets",
        query=_LISTED,
    ),
    arm("GET", f"{GROUP}/resources", list_resources, "Those of a resource group", query=_LISTED),
]

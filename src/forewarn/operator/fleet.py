"""Fleet, VMs, hosts and scopes: what there is."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

import msgspec
from starlette.responses import Response

from forewarn.control.commands import fleet
from forewarn.control.commit import CommandTarget
from forewarn.control.plane import ControlPlane
from forewarn.core.fleet_check import Problem
from forewarn.core.fleet_export import describe
from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.fleet_warnings import warnings
from forewarn.core.placement import takes_vms
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.find import find_host, find_vm
from forewarn.operator.endpoint import Call, Endpoint, Nothing, PageQuery
from forewarn.operator.roles import Role
from forewarn.wire.fleet_file import BadFleet, read_json_sections, write_json
from forewarn.wire.rest import HostView, ScopeView, VmView, host_view, scope_view, vm_view

_MOST_PROBLEMS = 100  # that a refusal lists
_LONGEST_PROBLEM = 1000  # characters of one


class VmList(msgspec.Struct):
    """A page of VMs."""

    vms: list[VmView]
    next: str | None = None


class HostList(msgspec.Struct):
    """A page of hosts."""

    hosts: list[HostView]
    next: str | None = None


class ScopeList(msgspec.Struct):
    """A page of scopes."""

    scopes: list[ScopeView]
    next: str | None = None


class FleetApplied(msgspec.Struct):
    """What a fleet changed, and what is not as good as it might be, a line each."""

    differences: list[str]
    warnings: list[str]


def paged(names: Iterable[str], page: PageQuery) -> tuple[list[str], str | None]:
    """A page of names in order, and the value for `after` when there are more."""
    wanted = (name for name in names if page.after is None or name > page.after)
    found = heapq.nsmallest(page.limit + 1, wanted)
    return found[: page.limit], found[page.limit - 1] if len(found) > page.limit else None


async def list_vms(call: Call, _: Nothing) -> VmList | Refusal:
    """VMs by name."""
    page = call.page()
    if isinstance(page, Refusal):
        return page

    def read(plane: ControlPlane) -> VmList:
        names, following = paged(plane.world.vms, page)
        return VmList([vm_view(plane.world, plane.world.vms[name]) for name in names], following)

    return await call.on_plane(read, call.context.plane)


async def show_vm(call: Call, _: Nothing) -> VmView | Refusal:
    """One VM."""

    def read(plane: ControlPlane) -> VmView | Refusal:
        found = find_vm(plane.world, call.path("name"))
        return found if isinstance(found, Refusal) else vm_view(plane.world, found)

    return await call.on_plane(read, call.context.plane)


async def list_hosts(call: Call, _: Nothing) -> HostList | Refusal:
    """Hosts by name."""
    page = call.page()
    if isinstance(page, Refusal):
        return page

    def read(plane: ControlPlane) -> HostList:
        names, following = paged(plane.world.hosts, page)
        return HostList([_host(plane, name) for name in names], following)

    return await call.on_plane(read, call.context.plane)


def _host(plane: ControlPlane, name: str) -> HostView:
    host = plane.world.hosts[name]
    return host_view(plane.world, host, takes_vms=takes_vms(plane.world, host))


async def show_host(call: Call, _: Nothing) -> HostView | Refusal:
    """One host."""
    return await call.on_plane(view_host, call.context.plane, call.path("name"))


def view_host(plane: ControlPlane, name: str) -> HostView | Refusal:
    """The host of that name as it is told, if there is one."""
    found = find_host(plane.world, name)
    return found if isinstance(found, Refusal) else _host(plane, found.name)


async def list_scopes(call: Call, _: Nothing) -> ScopeList | Refusal:
    """Scopes by id."""
    page = call.page()
    if isinstance(page, Refusal):
        return page

    def read(plane: ControlPlane) -> ScopeList:
        plane.polls.collect()
        names, following = paged(plane.world.scopes, page)
        return ScopeList([_scope(plane, name) for name in names], following)

    return await call.on_plane(read, call.context.plane)


def _scope(plane: ControlPlane, scope: str) -> ScopeView:
    return scope_view(plane.world, plane.world.scopes[scope], plane.polls.last(scope))


async def show_scope(call: Call, _: Nothing) -> ScopeView | Refusal:
    """One scope."""

    def read(plane: ControlPlane) -> ScopeView | Refusal:
        plane.polls.collect()
        scope = call.path("scope")
        if scope not in plane.world.scopes:
            return Refusal(Code.NOT_FOUND, f"There is no scope {scope}.", "forewarn scope list")
        return _scope(plane, scope)

    return await call.on_plane(read, call.context.plane)


async def show_fleet(call: Call, _: Nothing) -> Response:
    """The fleet in the words of a fleet file."""
    spec = await call.on_plane(describe, call.context.plane.world)
    return Response(await call.aside(write_json, spec), media_type="application/json")


async def apply_fleet(call: Call, body: dict[str, msgspec.Raw]) -> FleetApplied | Refusal:
    """Make the fleet what the body says: all of it, or nothing."""
    try:
        text = await call.aside(read_json_sections, body)
    except BadFleet as problem:
        return Refusal(Code.BAD_REQUEST, _summary(problem))

    def write(kept: ControlPlane) -> FleetApplied | Refusal:
        plane: CommandTarget = kept.dry_run() if call.is_dry_run else kept
        outcome = fleet.apply_fleet(plane, text.spec, call.actor)
        problems = [each for each in outcome if isinstance(each, Problem)]
        if problems:
            return Refusal(Code.NOT_ALLOWED, _summary(text.refusal(problems)))
        differences = [each for each in outcome if isinstance(each, str)]
        return FleetApplied(differences, warnings(plane.world))

    return await call.on_plane(write, call.context.plane)


def _summary(problem: BadFleet) -> str:
    """The first problems, a line each, and how many more there are: a large fleet may have a million."""
    lines = [
        line if len(line) <= _LONGEST_PROBLEM else f"{line[:_LONGEST_PROBLEM]}..."
        for line in problem.lines[:_MOST_PROBLEMS]
    ]
    if more := len(problem.lines) - len(lines):
        lines.append(f"{more} more problems are not listed.")
    return "\n".join(lines)


PAGE = {"limit": "how many at the most, up to 1000", "after": "the value of `next` of the page before"}

ENDPOINTS = [
    Endpoint("GET", "/v1/fleet", show_fleet, "The fleet, in the words of a fleet file", FleetSpec),
    Endpoint(
        "PUT",
        "/v1/fleet",
        apply_fleet,
        "Apply a whole fleet, or change nothing",
        FleetApplied,
        body=dict[str, msgspec.Raw],
        body_shown=FleetSpec,
        role=Role.ADMIN,
        dry_answer=FleetApplied,
        is_bulky=True,
    ),
    Endpoint("GET", "/v1/vms", list_vms, "VMs by name", VmList, query=PAGE),
    Endpoint("GET", "/v1/vms/{name}", show_vm, "One VM", VmView),
    Endpoint("GET", "/v1/hosts", list_hosts, "Hosts by name", HostList, query=PAGE),
    Endpoint("GET", "/v1/hosts/{name}", show_host, "One host", HostView),
    Endpoint("GET", "/v1/scopes", list_scopes, "Scopes: on or off, and since when", ScopeList, query=PAGE),
    Endpoint("GET", "/v1/scopes/{scope:path}", show_scope, "One scope", ScopeView),
]

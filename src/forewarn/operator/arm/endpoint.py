"""What all ARM routes share: how a request is judged, how it is refused, and how long work is answered.

A handler gets an `ArmCall` and returns a body, an `Ongoing` operation, a response, or a `Refusal`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from heapq import nsmallest
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

from forewarn.core.fleet import DEFAULT_RESOURCE_GROUP, AvailabilitySet, ScaleSet, Vm, VmSet
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.find import any_case
from forewarn.core.world import World
from forewarn.operator.arm.errors import error, say_no
from forewarn.operator.endpoint import Call, Endpoint, Nothing
from forewarn.operator.guard import base_of
from forewarn.operator.roles import Role
from forewarn.wire.arm.bodies import bad, told
from forewarn.wire.arm.ids import AVAILABILITY_SETS, COMPUTE, SCALE_SETS, VMS
from forewarn.wire.arm.keeping import Json, is_too_deep
from forewarn.wire.arm.parts import BODIES, Part, spelled
from forewarn.wire.arm.views import Views

T = TypeVar("T")

GROUP = "/subscriptions/{subscription}/resourceGroups/{group}"
PROVIDER = f"{GROUP}/providers/{COMPUTE}"
ALL = f"/subscriptions/{{subscription}}/providers/{COMPUTE}"

_API_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-[A-Za-z0-9.]+)?", re.ASCII)
_COUNT = re.compile(r"0*[1-9][0-9]{0,8}")
_USUAL_PAGE = 100
_LARGEST_PAGE = 1000
_RETRY_SECONDS = "1"
_NO_CACHE = {"Cache-Control": "no-cache", "Pragma": "no-cache", "Expires": "-1"}


@dataclass(frozen=True, slots=True)
class Ongoing:
    """Work that goes on: where to ask for it."""

    operation: str
    body: Json | None = None  # the resource, where one was written
    leaving: str | None = None  # the scale set that has to have gone before it is done


@dataclass(frozen=True, slots=True)
class ArmCall:
    """One request, and what it is about."""

    call: Call

    @property
    def world(self) -> World:
        """All that is now."""
        return self.call.context.plane.world

    @property
    def views(self) -> Views:
        """How it is told."""
        return Views(self.world, self.call.context.site)

    @property
    def group(self) -> str:
        """The resource group in the path, as it is written there."""
        return self.call.path("group")

    @property
    def known_group(self) -> str:
        """The same, as it was written when it was first heard of."""
        return self.groups().get(self.group.lower(), self.group)

    @property
    def expands(self) -> bool:
        """Whether it is asked how a VM is doing, too."""
        return (self.call.query("$expand") or "").lower() == "instanceview"

    @property
    def base(self) -> str:
        """Where this service is, as the client calls it."""
        return base_of(self.call.request.scope)

    def vm(self) -> Vm | Refusal:
        """The VM in the path."""
        name = self.call.path("vm")
        found = any_case(self.world.vms, name)
        if found is None or not self._is_in_group(found) or self.views.is_instance(found):
            return self.missing(VMS, name)
        return found

    def scale_set(self) -> ScaleSet | Refusal:
        """The scale set in the path."""
        name = self.call.path("set")
        found = any_case(self.world.sets, name)
        return (
            found if isinstance(found, ScaleSet) and self._is_in_group(found) else self.missing(SCALE_SETS, name)
        )

    def availability_set(self) -> AvailabilitySet | Refusal:
        """The availability set in the path."""
        name = self.call.path("set")
        found = any_case(self.world.sets, name)
        if isinstance(found, AvailabilitySet) and self._is_in_group(found):
            return found
        return self.missing(AVAILABILITY_SETS, name)

    def instance(self) -> Vm | Refusal:
        """The instance of a scale set in the path."""
        owner = self.scale_set()
        if isinstance(owner, Refusal):
            return owner
        return self.numbered(owner, self.call.path("instance"))

    def numbered(self, owner: ScaleSet, number: str) -> Vm | Refusal:
        """The instance with that number."""
        found = self.world.vms.get(f"{owner.name}_{number}")
        if found is None or found.set_name != owner.name or found.instance is None:
            return self.missing(f"{SCALE_SETS}/{owner.name}/{VMS}", number)
        return found

    def groups(self) -> dict[str, str]:
        """The resource groups there are, by their names in small letters."""
        named = [
            DEFAULT_RESOURCE_GROUP,
            *self.world.groups,
            *(vm.resource_group for vm in self.world.vms.values()),
        ]
        named += [each.resource_group for each in self.world.sets.values()]
        return {name.lower(): name for name in reversed(named)}

    def unknown_group(self) -> Response | None:
        """A refusal where the path names a group that nobody declared and that nothing is in."""
        group = self.call.request.path_params.get("group")
        if group is None or group.lower() in self.groups():
            return None
        text = f"Resource group '{group}' could not be found."
        return error("ResourceGroupNotFound", text)

    def lists(self, found: Vm | VmSet) -> bool:
        """Whether it belongs in a list of the path's group, or of everything where the path names none."""
        return "group" not in self.call.request.path_params or self._is_in_group(found)

    def _is_in_group(self, found: Vm | VmSet) -> bool:
        return found.resource_group.lower() == self.group.lower()

    def missing(self, kind: str, name: str) -> Refusal:
        """A refusal: there is no such resource in the path's group."""
        return Refusal(
            Code.NOT_FOUND,
            f"The Resource '{COMPUTE}/{kind}/{name}' under resource group '{self.group}' was not found. "
            "For more details please go to https://aka.ms/ARMResourceNotFoundFix",
        )

    def listed(self, names: Iterable[str], show: Callable[[str], Json]) -> Json | Refusal:
        """The page of a list that is asked for, and where the next one is."""
        query = self.call.request.query_params
        after, top = query.get("$skiptoken", ""), query.get("$top", str(_USUAL_PAGE))
        if not _COUNT.fullmatch(top):
            return bad(f"$top is {top!r}; it can be 1 to {_LARGEST_PAGE}.")
        size = min(int(top), _LARGEST_PAGE)
        found = nsmallest(size + 1, (name for name in names if name > after))
        value = [show(name) for name in found[:size]]
        if len(found) <= size:
            return {"value": value}
        more = urlencode({**query, "$skiptoken": found[size - 1]})
        return {"value": value, "nextLink": f"{self.base}{self.call.request.url.path}?{more}"}

    def ongoing(self, operation: str, leaving: str | None) -> dict[str, str]:
        """The headers that say where an operation is followed."""
        site = self.call.context.site
        where = f"{self.base}/subscriptions/{site.subscription}/providers/{COMPUTE}/locations/{site.location}"
        query = {"api-version": self.call.query("api-version") or ""} | ({"leaving": leaving} if leaving else {})
        return {
            "Azure-AsyncOperation": f"{where}/operations/{operation}?{urlencode(query)}",
            "Location": f"{where}/operations/{operation}?{urlencode({'monitor': 'true'} | query)}",
            "Azure-AsyncNotification": "Enabled",
            "Retry-After": _RETRY_SECONDS,
            **_NO_CACHE,
        }


Outcome = Json | Ongoing | Response | Refusal
Handler = Callable[[ArmCall, Any], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class ArmEndpoint(Endpoint):
    """A route of ARM's: with an api-version, in any case."""

    kind: str = ""  # the resource type whose body it takes


PAGES = {"$top": f"how many on a page: {_USUAL_PAGE} by default, {_LARGEST_PAGE} at most"}
EXPAND = {"$expand": "`instanceView` adds how a VM is doing"}


def arm(
    method: str,
    path: str,
    handle: Handler,
    summary: str,
    *,
    body: Any = Nothing,  # noqa: ANN401 - a type
    kind: str = "",
    query: dict[str, str] | None = None,
    role: Role | None = None,
) -> ArmEndpoint:
    """A route, guarded by what ARM asks of every request.

    Members of a body that are known are read in any case, as ARM reads them.
    """
    part = BODIES[kind] if kind else body if isinstance(body, type) and issubclass(body, Part) else None

    async def serve(call: Call, given: Any) -> Response | Refusal:  # noqa: ANN401 - of the endpoint's type
        asked = ArmCall(call)
        if refusal := _judge(asked):
            return refusal
        read = _read(given, part, is_decoded=part is not body)
        if isinstance(read, Refusal):
            return read
        outcome = await handle(asked, read)
        if isinstance(outcome, Ongoing):
            return _accept(asked, outcome)
        if isinstance(outcome, (Response, Refusal)):
            return outcome
        return Response(msgspec.json.encode(outcome), media_type="application/json")

    return ArmEndpoint(
        method,
        path,
        serve,
        summary,
        dict,
        body=Json if part is body else body,
        body_shown=body,
        query=query or {},
        any_case=True,
        say_no=say_no,
        role=role,
        kind=kind,
    )


def _read(given: Any, part: type[Part] | None, *, is_decoded: bool) -> Any:  # noqa: ANN401 - of the endpoint's type
    """The body as a handler takes it, or a refusal."""
    if is_too_deep(given):
        return bad("The body is nested too deep.")
    if part is None:
        return given
    body = spelled(given, part)
    try:
        return body if is_decoded else msgspec.convert(body, part)
    except msgspec.ValidationError as problem:
        return bad(told(problem, body))


def showing(find: Callable[[ArmCall], T | Refusal], show: Callable[[ArmCall, T], Json]) -> Handler:
    """A handler that shows what the path names."""

    async def handle(asked: ArmCall, _: Nothing) -> Outcome:
        def read() -> Outcome:
            found = find(asked)
            return found if isinstance(found, Refusal) else show(asked, found)

        return await asked.call.on_plane(read)

    return handle


def _accept(asked: ArmCall, ongoing: Ongoing) -> Response:
    headers = asked.ongoing(ongoing.operation, ongoing.leaving)
    if ongoing.body is None:
        return Response(status_code=HTTPStatus.ACCEPTED, headers=headers)
    del headers["Location"]  # who is told of one looks there, and not at the resource, for what has become of it
    return Response(msgspec.json.encode(ongoing.body), headers=headers, media_type="application/json")


def _judge(asked: ArmCall) -> Response | None:
    version = asked.call.query("api-version")
    if not version:
        text = "The api-version query parameter (?api-version=) is required for all requests."
        return error("MissingApiVersionParameter", text)
    if not _API_VERSION.fullmatch(version):
        text = f"The api-version '{version}' is invalid: it is a date like 2024-07-01."
        return error("InvalidApiVersionParameter", text)
    asked_for, ours = asked.call.request.path_params.get("subscription"), asked.call.context.site.subscription
    if asked_for is not None and asked_for.lower() != ours.lower():
        return error("SubscriptionNotFound", f"The subscription '{asked_for}' could not be found. It is {ours}.")
    return None

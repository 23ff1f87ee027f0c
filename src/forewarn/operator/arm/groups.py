"""Resource groups and the subscription."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from starlette.responses import Response

from forewarn.control.commands import fleet
from forewarn.control.commit import refusal_of
from forewarn.core.refusal import Refusal
from forewarn.operator.arm.endpoint import GROUP, PAGES, ArmCall, Outcome, arm
from forewarn.operator.endpoint import Nothing
from forewarn.wire.arm.bodies import read_group
from forewarn.wire.arm.keeping import Json

_GROUPS = "/subscriptions/{subscription}/resourceGroups"


async def get_group(asked: ArmCall, _: Nothing) -> Outcome:
    """One resource group."""

    def read() -> Outcome:
        return asked.unknown_group() or asked.views.group(asked.known_group)

    return await asked.call.on_plane(read)


async def list_groups(asked: ArmCall, _: Nothing) -> Outcome:
    """The resource groups: those that were declared, and those that something is in."""

    def read() -> Outcome:
        return asked.listed(asked.groups().values(), asked.views.group)

    return await asked.call.on_plane(read)


async def put_group(asked: ArmCall, body: Json) -> Outcome:
    """Declare a resource group."""

    def write() -> Outcome:
        kept = read_group(body)
        if isinstance(kept, Refusal):
            return kept
        name, is_new = asked.known_group, asked.unknown_group() is not None
        if refusal := refusal_of(fleet.put_group(asked.call.context.plane, name, kept, asked.call.actor)):
            return refusal
        status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return Response(msgspec.json.encode(asked.views.group(name)), status, media_type="application/json")

    return await asked.call.on_plane(write)


async def list_subscriptions(asked: ArmCall, _: Nothing) -> Outcome:
    """The one subscription that there is."""
    return {"value": [asked.views.subscription()], "count": {"type": "Total", "value": 1}}


async def get_subscription(asked: ArmCall, _: Nothing) -> Outcome:
    """The subscription."""
    return asked.views.subscription()


ENDPOINTS = [
    arm("GET", "/subscriptions", list_subscriptions, "The subscription"),
    arm("GET", "/subscriptions/{subscription}", get_subscription, "The subscription"),
    arm("GET", _GROUPS, list_groups, "The resource groups", query=PAGES),
    arm("GET", GROUP, get_group, "One resource group"),
    arm("PUT", GROUP, put_group, "Declare a resource group", body=Json, kind="resourceGroups"),
]

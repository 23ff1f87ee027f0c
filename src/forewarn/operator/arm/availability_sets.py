"""availabilitySets."""

from __future__ import annotations

from http import HTTPStatus

from starlette.responses import Response

from forewarn.control.commands import fleet
from forewarn.control.commit import refusal_of
from forewarn.core.fleet import AvailabilitySet
from forewarn.core.refusal import Refusal
from forewarn.core.requests.find import any_case
from forewarn.operator.arm.endpoint import ALL, PAGES, PROVIDER, ArmCall, Outcome, arm, showing
from forewarn.operator.endpoint import Nothing
from forewarn.wire.arm.bodies import read_availability_set
from forewarn.wire.arm.ids import AVAILABILITY_SETS
from forewarn.wire.arm.keeping import Json, merge, overlay

_ALL_OF_GROUP = f"{PROVIDER}/{AVAILABILITY_SETS}"
_ONE = f"{_ALL_OF_GROUP}/{{set}}"


def show_set(asked: ArmCall, found: AvailabilitySet) -> Json:
    """The set as it is now."""
    return asked.views.availability_set(found)


async def list_sets(asked: ArmCall, _: Nothing) -> Outcome:
    """The availability sets of a group, or all of them."""

    def read() -> Outcome:
        if refusal := asked.unknown_group():
            return refusal
        sets = [each for each in asked.world.sets.values() if isinstance(each, AvailabilitySet)]
        known = {each.name: each for each in sets if asked.lists(each)}
        return asked.listed(known, lambda name: asked.views.availability_set(known[name]))

    return await asked.call.on_plane(read)


async def put_set(asked: ArmCall, body: Json) -> Outcome:
    """Make an availability set, or change it."""

    def write() -> Outcome:
        found = any_case(asked.world.sets, asked.call.path("set"))
        if isinstance(found, AvailabilitySet):
            return _put(asked, overlay(asked.views.availability_set(found), body))
        return _put(asked, body)

    return await asked.call.on_plane(write)


async def patch_set(asked: ArmCall, body: Json) -> Outcome:
    """Change members of an availability set."""

    def write() -> Outcome:
        found = asked.availability_set()
        if isinstance(found, Refusal):
            return found
        return _put(asked, merge(asked.views.availability_set(found), body))

    return await asked.call.on_plane(write)


def _put(asked: ArmCall, body: Json) -> Outcome:
    if unknown := asked.unknown_group():
        return unknown
    wish = read_availability_set(asked.call.path("set"), asked.known_group, body)
    if isinstance(wish, Refusal):
        return wish
    if refusal := refusal_of(fleet.put_availability_set(asked.call.context.plane, wish, asked.call.actor)):
        return refusal
    made = asked.availability_set()
    return made if isinstance(made, Refusal) else asked.views.availability_set(made)


async def delete_set(asked: ArmCall, _: Nothing) -> Outcome:
    """Take an empty availability set away."""

    def write() -> Outcome:
        found = asked.availability_set()
        if isinstance(found, Refusal):
            return Response(status_code=HTTPStatus.NO_CONTENT)
        outcome = fleet.delete_set(asked.call.context.plane, found, asked.call.actor)
        return outcome if isinstance(outcome, Refusal) else Response(status_code=HTTPStatus.OK)

    return await asked.call.on_plane(write)


ENDPOINTS = [
    arm("GET", _ALL_OF_GROUP, list_sets, "The availability sets of a resource group", query=PAGES),
    arm("GET", f"{ALL}/{AVAILABILITY_SETS}", list_sets, "All availability sets", query=PAGES),
    arm(
        "GET",
        _ONE,
        showing(ArmCall.availability_set, show_set),
        "One availability set",
    ),
    arm("PUT", _ONE, put_set, "Make an availability set, or change it", body=Json, kind=AVAILABILITY_SETS),
    arm("PATCH", _ONE, patch_set, "Change members of an availability set", body=Json, kind=AVAILABILITY_SETS),
    arm("DELETE", _ONE, delete_set, "Take an empty availability set away"),
]

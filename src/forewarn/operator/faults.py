"""Faults, for tests of clients: which rules are in force, how often each has struck, and clearing them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from forewarn.board.faults import Posted
from forewarn.control.commands import faults
from forewarn.control.faults import NO_FAULTS
from forewarn.core.fault import Fault, Target, Value
from forewarn.core.refusal import Refusal
from forewarn.operator.endpoint import Call, Endpoint, Nothing
from forewarn.wire.fault import all_options, parse_fault

# For the OpenAPI page; a body is read by `parse_fault`, which has better sentences.
FaultBody = msgspec.defstruct(
    "FaultBody",
    [
        ("name", Fault),
        *(
            (
                name,
                Annotated[(list[str] if kind is tuple else kind) | None, msgspec.Meta(description=words)],
                None,
            )
            for name, (kind, words) in all_options().items()
        ),
    ],
    namespace={"__doc__": "A rule that is asked for; its options are members too."},
)


class FaultView(msgspec.Struct):
    """A rule in force."""

    id: str
    name: Fault
    vm: str | None
    rate: float | None
    count: int | None
    every: int | None
    seed: int
    options: dict[str, Value]
    pace: Annotated[str, msgspec.Meta(description="how often it strikes, in words")]
    target: Annotated[Target, msgspec.Meta(description="what it is asked about, one by one")]
    asked: Annotated[int, msgspec.Meta(description="how many of those there were")]
    struck: Annotated[int, msgspec.Meta(description="how many of those it has struck")]


class FaultList(msgspec.Struct):
    """The rules in force, the oldest first."""

    faults: list[FaultView]
    next: str | None = None


def fault_view(posted: Posted) -> FaultView:
    """A rule in force, as it is told."""
    rule = posted.rule
    return FaultView(
        id=posted.id,
        name=rule.name,
        vm=rule.vm,
        rate=rule.rate,
        count=rule.count,
        every=rule.every,
        seed=rule.seed,
        options=dict(rule.options),
        pace=rule.pace,
        target=rule.form.target,
        asked=posted.asked,
        struck=posted.hits,
    )


def _listed(posted: list[Posted]) -> FaultList:
    return FaultList([fault_view(each) for each in posted])


async def list_faults(call: Call, _: Nothing) -> FaultList:
    """All of them; they are few."""
    book = call.context.plane.faults
    return _listed([] if book is None else await call.on_plane(lambda: book.all))


async def add_fault(call: Call, body: dict[str, Any]) -> FaultView | Refusal:
    """Add a rule."""
    plane = call.context.plane
    if plane.faults is None:
        return NO_FAULTS
    rule = parse_fault(body)
    outcome = rule if isinstance(rule, Refusal) else await call.on_plane(faults.add_fault, plane, rule, call.actor)
    return outcome if isinstance(outcome, Refusal) else fault_view(outcome)


async def clear_faults(call: Call, _: Nothing) -> FaultList | Refusal:
    """Clear all rules."""
    gone = await call.on_plane(faults.clear_faults, call.context.plane, None, call.actor)
    return gone if isinstance(gone, Refusal) else _listed(gone)


async def clear_fault(call: Call, _: Nothing) -> FaultView | Refusal:
    """Clear one rule."""
    gone = await call.on_plane(faults.clear_faults, call.context.plane, call.path("id"), call.actor)
    return gone if isinstance(gone, Refusal) else fault_view(gone[0])


ENDPOINTS = [
    Endpoint("GET", "/v1/faults", list_faults, "The fault rules in force, the oldest first", FaultList),
    Endpoint(
        "POST",
        "/v1/faults",
        add_fault,
        "Add a fault rule, for tests of clients",
        FaultView,
        201,
        dict[str, Any],
        body_shown=FaultBody,
    ),
    Endpoint("DELETE", "/v1/faults", clear_faults, "Clear all fault rules", FaultList),
    Endpoint("DELETE", "/v1/faults/{id}", clear_fault, "Clear a fault rule", FaultView),
]

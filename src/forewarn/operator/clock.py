"""The clock that maintenance goes by: read it, and move a virtual one."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

import msgspec

from forewarn.clock import FASTEST_RATE
from forewarn.control.plane import ControlPlane
from forewarn.control.timekeeper import Timekeeper
from forewarn.core.refusal import Code, Refusal
from forewarn.operator.endpoint import Call, Endpoint, Nothing, bad_request
from forewarn.wire.rest import ClockView

_HUNDRED_YEARS_SECONDS = 100 * 366 * 86400


class ClockBody(msgspec.Struct, forbid_unknown_fields=True):
    """One of: so many seconds on, to the next thing that happens, or from now on at this rate."""

    advance_seconds: Annotated[
        Annotated[float, msgspec.Meta(le=_HUNDRED_YEARS_SECONDS)] | None,
        msgspec.Meta(description="so far, not below 0; answered when all that is due by then has been done"),
    ] = None
    until: Annotated[
        Literal["next"] | None, msgspec.Meta(description="to the next instant at which something is due")
    ] = None
    rate: Annotated[
        Annotated[float, msgspec.Meta(ge=0, le=FASTEST_RATE)] | None,
        msgspec.Meta(description="from now on so many times as fast as real time; 0 stands still"),
    ] = None


def _view(plane: ControlPlane, timekeeper: Timekeeper | None) -> ClockView:
    mode = "system" if timekeeper is None else "virtual"
    rate = 1.0 if timekeeper is None else timekeeper.rate
    return ClockView(plane.clock.now(), mode, rate, plane.next_wake())


async def show_clock(call: Call, _: Nothing) -> ClockView:
    """What time it is for maintenance."""
    return await call.on_plane(_view, call.context.plane, call.context.timekeeper)


def find_fault(body: ClockBody) -> Refusal | None:
    """Why a clock cannot be moved like that; None: it can."""
    if sum(field is not None for field in (body.advance_seconds, body.until, body.rate)) != 1:
        return bad_request(
            "One of advance_seconds, until and rate is needed.", 'Send {"advance_seconds": 900}, for example.'
        )
    if body.advance_seconds is not None and body.advance_seconds < 0:
        return bad_request(
            f"advance_seconds is {body.advance_seconds:g}; a clock does not run backwards.", "Use 0 or more."
        )
    return None


async def move_clock(call: Call, body: ClockBody) -> ClockView | Refusal:
    """Move a virtual clock; answered when all that was due has been done."""
    timekeeper = call.context.timekeeper
    if fault := find_fault(body):
        return fault
    if timekeeper is None:
        return Refusal(
            Code.NOT_ALLOWED,
            "The service runs on the system clock, which cannot be moved.",
            "Serve with --clock virtual to move time by hand.",
        )
    return await call.change(lambda _: _move(timekeeper, body), lambda plane, _: _view(plane, timekeeper))


def _move(timekeeper: Timekeeper, body: ClockBody) -> None:
    if body.advance_seconds is not None:
        timekeeper.advance(timedelta(seconds=body.advance_seconds))
    elif body.until is not None:
        timekeeper.next()
    elif body.rate is not None:
        timekeeper.play(body.rate)


ENDPOINTS = [
    Endpoint("GET", "/v1/clock", show_clock, "What time it is for maintenance", ClockView),
    Endpoint("POST", "/v1/clock", move_clock, "Move a virtual clock", ClockView, body=ClockBody),
]

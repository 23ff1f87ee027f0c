"""The operator API of a replay: its clock and its progress."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from forewarn.clock import SystemClock
from forewarn.core.refusal import Code, Refusal
from forewarn.operator.app import refuse_route
from forewarn.operator.clock import ClockBody, find_fault
from forewarn.operator.endpoint import Call, Endpoint, Nothing, route
from forewarn.operator.guard import Guard
from forewarn.operator.health import Health
from forewarn.operator.openapi import openapi
from forewarn.operator.pacing import pacer_for_strangers
from forewarn.operator.refusals import refuse
from forewarn.operator.sign_in.checking import SignIn
from forewarn.wire.rest import ClockView
from forewarn.wire.times import iso

if TYPE_CHECKING:
    from forewarn.recording.replay import Replay


class ReplayView(msgspec.Struct):
    """The progress of a replay, and its approvals."""

    change: int  # the number of the current document, from 1
    changes: int
    is_over: bool  # whether it is the last one
    approvals: list[dict[str, str]]  # the newest, at most 1000


def make_app(replay: Replay) -> Starlette:
    """Build the application; call it on the loop that serves it."""
    sign_in = SignIn("", SystemClock().now)
    app = Starlette(
        routes=[route(endpoint) for endpoint in _endpoints(replay)],
        middleware=[Middleware(Guard, sign_in, [], pacer_for_strangers())],
        exception_handlers={HTTPException: _refuse, 500: refuse_route},
    )
    app.state.context = None  # the routes use the replay in its place
    return app


async def _refuse(request: Request, problem: Exception) -> Response:
    """Refuse routes that only a service has."""
    is_missing = isinstance(problem, HTTPException) and problem.status_code == 404  # noqa: PLR2004 - HTTP's own number
    if is_missing and request.url.path.startswith("/v1/"):
        return refuse(
            Code.NOT_FOUND,
            f"A replay of a recording has no {request.url.path}.",
            "See /openapi.json for its routes. Move its clock with forewarn clock.",
        )
    return await refuse_route(request, problem)


def _endpoints(replay: Replay) -> list[Endpoint]:
    playback = replay.playback

    async def show_clock(_call: Call, _: Any) -> ClockView:  # noqa: ANN401 - there is no body
        return ClockView(playback.now(), "virtual", playback.rate, playback.next_at)

    async def move_clock(call: Call, body: ClockBody) -> ClockView | Refusal:
        if fault := find_fault(body):
            return fault
        if body.advance_seconds is not None:
            playback.advance(timedelta(seconds=body.advance_seconds))
        elif body.rate is not None:
            playback.play(body.rate)
        else:
            playback.next()
        return await show_clock(call, Nothing())

    async def show_replay(_call: Call, _: Nothing) -> ReplayView:
        approvals = [{"event": each.event, "at": iso(each.at)} for each in replay.approvals]
        return ReplayView(playback.shown, playback.count, playback.next_at is None, approvals)

    async def healthz(_call: Call, _: Nothing) -> Health:
        return Health("ok")

    async def readyz(_call: Call, _: Nothing) -> Health:
        return Health("ready")

    async def show_openapi(_call: Call, _: Nothing) -> dict[str, Any]:
        return openapi(endpoints)

    endpoints = [
        Endpoint("GET", "/v1/clock", show_clock, "Show the clock of the replay", ClockView),
        Endpoint("POST", "/v1/clock", move_clock, "Move the clock of the replay", ClockView, body=ClockBody),
        Endpoint("GET", "/v1/replay", show_replay, "Show the progress of the replay", ReplayView),
        Endpoint("GET", "/healthz", healthz, "Whether the replay is alive", Health, is_public=True),
        Endpoint("GET", "/readyz", readyz, "Whether the replay is ready", Health, is_public=True),
        Endpoint("GET", "/openapi.json", show_openapi, "The description of this interface", dict),
    ]
    return endpoints

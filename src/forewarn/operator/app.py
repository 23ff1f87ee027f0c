"""The operators' application: all endpoints on one ASGI app."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from forewarn import __version__
from forewarn.core.refusal import Code
from forewarn.operator import (
    audit,
    clock,
    credentials,
    discovery,
    events,
    faults,
    fleet,
    health,
    history,
    metrics,
    oauth,
    report,
    requests,
    rollouts,
    stream,
    webhooks,
)
from forewarn.operator.arm import availability_sets, groups, operations, resources, scale_sets, vms
from forewarn.operator.arm.endpoint import ArmEndpoint
from forewarn.operator.endpoint import Call, Endpoint, Nothing, OperatorContext, route
from forewarn.operator.guard import Guard
from forewarn.operator.openapi import openapi
from forewarn.operator.refusals import TroubleCode, refuse


class Index(msgspec.Struct):
    """What is where."""

    service: str
    version: str
    links: list[str]


async def show_index(_call: Call, _: Nothing) -> Index:
    """What is where."""
    return Index("forewarn", __version__, [each.path for each in ENDPOINTS if each.method == "GET"])


async def show_openapi(_call: Call, _: Nothing) -> dict[str, Any]:
    """The description of all this, for programs."""
    return openapi(ENDPOINTS)


ENDPOINTS: list[Endpoint] = [
    *fleet.ENDPOINTS,
    *requests.ENDPOINTS,
    *rollouts.ENDPOINTS,
    *events.ENDPOINTS,
    *history.ENDPOINTS,
    *audit.ENDPOINTS,
    *report.ENDPOINTS,
    *clock.ENDPOINTS,
    *credentials.ENDPOINTS,
    *webhooks.ENDPOINTS,
    *faults.ENDPOINTS,
    *stream.ENDPOINTS,
    *health.ENDPOINTS,
    *metrics.ENDPOINTS,
    *oauth.ENDPOINTS,
    *discovery.ENDPOINTS,
    Endpoint("GET", "/openapi.json", show_openapi, "The description of this interface", dict),
    Endpoint("GET", "/", show_index, "What is where", Index),
]

ARM: list[ArmEndpoint] = [
    *vms.ENDPOINTS,
    *scale_sets.ENDPOINTS,
    *groups.ENDPOINTS,
    *resources.ENDPOINTS,
    *availability_sets.ENDPOINTS,
    *operations.ENDPOINTS,
]

_BUG = (TroubleCode.INTERNAL, "{method} {path} failed.", "See the service's log.")
_WORDS: dict[int, tuple[Code | TroubleCode, str, str]] = {
    404: (Code.NOT_FOUND, "There is no {path}.", "See /openapi.json for what there is."),
    405: (
        TroubleCode.METHOD_NOT_ALLOWED,
        "{path} does not take {method}.",
        "See /openapi.json for what it takes.",
    ),
}


async def refuse_route(request: Request, problem: Exception) -> Response:
    """What is said where there is no such route, or where one failed."""
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    code, text, hint = _WORDS.get(status, _BUG)
    if status in _WORDS and request.url.path.lower().startswith("/subscriptions"):
        hint = ""  # the routes of ARM are not in /openapi.json
    answer = refuse(code, text.format(path=request.url.path, method=request.method), hint)
    if code is TroubleCode.METHOD_NOT_ALLOWED:
        answer.headers["Allow"] = ", ".join(sorted(_methods(request)))
    return answer


def _methods(request: Request) -> set[str]:
    """What the path takes."""
    routes = [each for each in request.app.routes if each.matches(request.scope)[0] is not Match.NONE]
    return {method for each in routes for method in each.methods or ()}


ROUTES = [*ENDPOINTS, *ARM]


@cache
def _routes() -> list[tuple[Endpoint, Route]]:
    """Made once for all apps of the process: it takes longer than all the rest of a start."""
    return [(endpoint, route(endpoint)) for endpoint in ROUTES]


def make_app(context: OperatorContext) -> Starlette:
    """The application; has to be made on the loop that will serve it."""
    public = [made for endpoint, made in _routes() if endpoint.needs is None]
    app = Starlette(
        routes=[made for _, made in _routes()],
        middleware=[Middleware(Guard, context.sign_in, public, context.strangers)],
        exception_handlers={HTTPException: refuse_route, 500: refuse_route},
    )
    app.state.context = context
    app.state.stream = stream.Stream(context, asyncio.get_running_loop())
    return app

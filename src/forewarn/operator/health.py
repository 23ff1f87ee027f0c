"""Health and readiness."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.responses import Response

from forewarn.operator.endpoint import Call, Endpoint, Nothing
from forewarn.operator.refusals import TroubleCode, refuse

_PATIENCE_SECONDS = 3.0


class Health(msgspec.Struct):
    """Whether it lives, or may be used."""

    status: str


async def healthz(call: Call, _: Nothing) -> Health | Response:
    """Alive: the process answers and its plane runs."""
    if not call.context.runner.is_alive:
        return refuse(
            TroubleCode.PLANE_DEAD, "The plane's thread has ended.", "Restart the service and see its log."
        )
    return Health("ok")


async def readyz(call: Call, _: Nothing) -> Health | Response:
    """Ready: the store answers and what is due gets done."""
    if call.context.runner.problem is not None:
        return refuse(TroubleCode.NOT_READY, call.context.runner.problem, "See the log.")
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await call.on_plane(call.context.plane.touch_store)
    except TimeoutError:
        return refuse(TroubleCode.NOT_READY, "The store does not answer, or the plane is busy.", "See the log.")
    return Health("ready")


ENDPOINTS = [
    Endpoint("GET", "/healthz", healthz, "Whether the service lives", Health, is_public=True),
    Endpoint("GET", "/readyz", readyz, "Whether the service may be used", Health, is_public=True),
]

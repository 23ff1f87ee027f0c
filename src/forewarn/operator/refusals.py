"""How the operators' side says no: every code, its status, and when it is given.

One table: the answers and the reference page are made from it.
"""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from starlette.responses import Response

from forewarn.core.refusal import Code
from forewarn.wire.rest import ErrorBody, ErrorDetail


class TroubleCode(StrEnum):
    """Why it was refused, where no rule of the core was asked."""

    UNAUTHENTICATED = "Unauthenticated"
    ROLE_TOO_SMALL = "RoleTooSmall"
    TOO_MANY_GUESSES = "TooManyGuesses"
    FOREIGN_HOST = "ForeignHost"
    FOREIGN_ORIGIN = "ForeignOrigin"
    METHOD_NOT_ALLOWED = "MethodNotAllowed"
    INTERNAL = "Internal"
    PLANE_DEAD = "PlaneDead"
    NOT_READY = "NotReady"
    STORE_UNAVAILABLE = "StoreUnavailable"
    STOPPING = "Stopping"
    TOO_MANY_LISTENERS = "TooManyListeners"
    TOO_MANY_PREVIEWS = "TooManyPreviews"
    TOO_MANY_READS = "TooManyReads"
    TARGET_TOO_LONG = "TargetTooLong"
    HEAD_TOO_LARGE = "HeadTooLarge"
    BODY_TOO_LARGE = "BodyTooLarge"
    TOO_SLOW = "TooSlow"


class Occasion(NamedTuple):
    """With which status a code is sent, and when."""

    status: HTTPStatus
    when: str


OCCASIONS = MappingProxyType(
    {
        Code.BAD_REQUEST: Occasion(
            HTTPStatus.BAD_REQUEST, "the request makes no sense by itself: its JSON, a member, a parameter"
        ),
        Code.AMBIGUOUS: Occasion(HTTPStatus.BAD_REQUEST, "the beginning of an id fits several"),
        TroubleCode.UNAUTHENTICATED: Occasion(
            HTTPStatus.UNAUTHORIZED, "one has to sign in, and no token was sent, or one that is no good"
        ),
        TroubleCode.ROLE_TOO_SMALL: Occasion(HTTPStatus.FORBIDDEN, "the route needs a larger role"),
        TroubleCode.FOREIGN_HOST: Occasion(
            HTTPStatus.FORBIDDEN, "nobody has to sign in, and `Host` does not name this machine"
        ),
        TroubleCode.FOREIGN_ORIGIN: Occasion(HTTPStatus.FORBIDDEN, "`Origin` is another page's, signed in or not"),
        Code.NOT_FOUND: Occasion(
            HTTPStatus.NOT_FOUND, "there is no such path, VM, host, scope, event, operation or webhook"
        ),
        TroubleCode.METHOD_NOT_ALLOWED: Occasion(
            HTTPStatus.METHOD_NOT_ALLOWED, "the path does not take the method"
        ),
        TroubleCode.TOO_SLOW: Occasion(HTTPStatus.REQUEST_TIMEOUT, "the request did not arrive in time"),
        Code.BUSY: Occasion(HTTPStatus.CONFLICT, "something else is under way and stands in the way"),
        Code.NOT_ALLOWED: Occasion(HTTPStatus.CONFLICT, "a rule forbids it as things are"),
        Code.LIMIT_REACHED: Occasion(
            HTTPStatus.CONFLICT,
            "there are as many as there may be: open user operations of a scope, sick hosts, webhooks",
        ),
        Code.NOTICE_TOO_SHORT: Occasion(HTTPStatus.CONFLICT, "the notice is below the least of its kind"),
        Code.ILLEGAL_STEP: Occasion(HTTPStatus.CONFLICT, "the event or operation has gone too far for it"),
        TroubleCode.BODY_TOO_LARGE: Occasion(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the body is larger than any that a route takes"
        ),
        TroubleCode.TARGET_TOO_LONG: Occasion(HTTPStatus.REQUEST_URI_TOO_LONG, "path and query are too long"),
        TroubleCode.TOO_MANY_GUESSES: Occasion(
            HTTPStatus.TOO_MANY_REQUESTS, "too many tokens that are not known came from one address in a minute"
        ),
        TroubleCode.TOO_MANY_PREVIEWS: Occasion(
            HTTPStatus.TOO_MANY_REQUESTS, "previews of rollouts are made one at a time, and many wait already"
        ),
        TroubleCode.HEAD_TOO_LARGE: Occasion(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request line and headers are too large or too many"
        ),
        TroubleCode.INTERNAL: Occasion(HTTPStatus.INTERNAL_SERVER_ERROR, "a bug; the log has more"),
        TroubleCode.PLANE_DEAD: Occasion(
            HTTPStatus.SERVICE_UNAVAILABLE, "`/healthz`: the plane's thread has ended"
        ),
        TroubleCode.NOT_READY: Occasion(
            HTTPStatus.SERVICE_UNAVAILABLE, "`/readyz`: the store is unavailable, or the last tick failed"
        ),
        TroubleCode.STORE_UNAVAILABLE: Occasion(HTTPStatus.SERVICE_UNAVAILABLE, "the store does not answer"),
        TroubleCode.STOPPING: Occasion(
            HTTPStatus.SERVICE_UNAVAILABLE, "the service ends; what was asked was not done"
        ),
        TroubleCode.TOO_MANY_LISTENERS: Occasion(
            HTTPStatus.SERVICE_UNAVAILABLE, "`/v1/stream` has as many listeners as it may; see `Retry-After`"
        ),
        TroubleCode.TOO_MANY_READS: Occasion(
            HTTPStatus.SERVICE_UNAVAILABLE, "too many requests read the store already; see `Retry-After`"
        ),
    }
)


def refuse(code: Code | TroubleCode, message: str, hint: str = "") -> Response:
    """A refusal, in the shape that all of them have."""
    body = msgspec.json.encode(ErrorBody(ErrorDetail(code, message, hint)))
    return Response(body, OCCASIONS[code].status, media_type="application/json")

"""How ARM says no: every code, its status, and when it is given.

One table: the answers and the reference page are made from it.
"""

from __future__ import annotations

from http import HTTPStatus
from types import MappingProxyType

import msgspec
from starlette.responses import Response

from forewarn.core.refusal import Code, Refusal
from forewarn.operator.refusals import Occasion
from forewarn.wire.arm.keeping import Json

OCCASIONS = MappingProxyType(
    {
        "MissingApiVersionParameter": Occasion(HTTPStatus.BAD_REQUEST, "there is no `api-version`"),
        "InvalidApiVersionParameter": Occasion(HTTPStatus.BAD_REQUEST, "the `api-version` is no date"),
        "InvalidParameter": Occasion(
            HTTPStatus.BAD_REQUEST,
            "the body is no JSON, or a member or a parameter cannot be what it is, or cannot be changed; "
            "the message names it by its path",
        ),
        "SubscriptionNotFound": Occasion(HTTPStatus.NOT_FOUND, "the subscription is not the one there is"),
        "ResourceGroupNotFound": Occasion(
            HTTPStatus.NOT_FOUND, "nobody declared such a group, and nothing is in it"
        ),
        "ResourceNotFound": Occasion(
            HTTPStatus.NOT_FOUND, "there is no such VM, set, instance or open event in that group"
        ),
        "NotFound": Occasion(HTTPStatus.NOT_FOUND, "there is no such operation, or no such path"),
        "AcknowledgeFailed": Occasion(
            HTTPStatus.BAD_REQUEST,
            "some events of a list cannot be approved: `details` names each by `target`; the others are approved",
        ),
        "Conflict": Occasion(HTTPStatus.CONFLICT, "another operation stands in the way; the message names it"),
        "OperationNotAllowed": Occasion(HTTPStatus.CONFLICT, "a rule forbids it as things are"),
        "OperationFailed": Occasion(
            HTTPStatus.CONFLICT, "the work failed: at its `Location`; a status has it in `error`"
        ),
        "OperationCanceled": Occasion(HTTPStatus.CONFLICT, "the work was called off: told like one that failed"),
    }
)

_CODES = {
    Code.BAD_REQUEST: "InvalidParameter",
    Code.AMBIGUOUS: "InvalidParameter",
    Code.NOT_FOUND: "ResourceNotFound",
    Code.BUSY: "Conflict",
}


def error(code: str, message: str, **more: list[Json]) -> Response:
    """An error in ARM's shape."""
    body: Json = {"error": {"code": code, "message": message, **more}}
    return Response(msgspec.json.encode(body), OCCASIONS[code].status, media_type="application/json")


def say_no(refusal: Refusal) -> Response:
    """A refusal in ARM's shape."""
    is_for_others = refusal.hint.startswith(("forewarn ", "See /openapi.json"))
    hint = f" {refusal.hint}" if refusal.hint and not is_for_others else ""
    return error(_CODES.get(refusal.code, "OperationNotAllowed"), refusal.message + hint)

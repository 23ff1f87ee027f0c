"""How a route is written down: once, for the server and for the OpenAPI page alike.

A handler gets a `Call` and returns a value to be sent, or a `Refusal`, whose status stands in refusals.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from forewarn.board.tally import Tally
from forewarn.control.plane import ControlPlane
from forewarn.control.runner import Runner
from forewarn.control.timekeeper import Timekeeper
from forewarn.core.refusal import Code, Refusal
from forewarn.errors import StoreError
from forewarn.operator.refusals import Trouble, refuse

log = structlog.get_logger()

P = ParamSpec("P")
R = TypeVar("R")

LARGEST_PAGE = 1000
LARGEST_BODY = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Office:
    """What the operators' side works with."""

    plane: ControlPlane
    runner: Runner
    tally: Tally
    timekeeper: Timekeeper | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request: its path, its parameters, and the plane's thread to work on."""

    request: Request
    office: Office

    def path(self, name: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[name])

    def query(self, name: str) -> str | None:
        """A parameter of the query."""
        return self.request.query_params.get(name)

    @property
    def actor(self) -> str:
        """Who is asking."""
        return "operator"

    async def on_plane(self, act: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Let the plane's thread do it."""
        return await self.office.runner.call(act, *args, **kwargs)

    def page(self) -> Page | Refusal:
        """Which part of a list is wanted."""
        text = self.query("limit")
        if text is None:
            return Page(LARGEST_PAGE, self.query("after"))
        if not text.isdecimal() or not 1 <= int(text) <= LARGEST_PAGE:
            return bad_request(f"limit is {text!r}; it can be 1 to {LARGEST_PAGE}.")
        return Page(int(text), self.query("after"))


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list: so many, after that one."""

    limit: int
    after: str | None


def bad_request(message: str, hint: str = "") -> Refusal:
    """The request itself makes no sense."""
    return Refusal(Code.BAD_REQUEST, message, hint)


class Nothing(msgspec.Struct):
    """A body that need not be there."""


Handler = Callable[[Call, Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One route: how it is called, what it takes, what it gives."""

    method: str
    path: str
    handle: Handler
    summary: str
    answer: Any  # the type that is sent, for the OpenAPI page
    status: int = 200
    body: Any = Nothing
    query: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/json"  # of the answer
    body_shown: Any = None  # for the OpenAPI page, where the handler reads the body on its own terms

    @property
    def described_body(self) -> Any:  # noqa: ANN401 - a type
        """The type that the OpenAPI page gives the body."""
        return self.body_shown or self.body


def route(endpoint: Endpoint, office: Office) -> Route:
    """The endpoint as Starlette serves it."""

    async def serve(request: Request) -> Response:
        try:
            body = await _read_body(request, endpoint.body)
            outcome = body if isinstance(body, Refusal) else await endpoint.handle(Call(request, office), body)
        except StoreError as problem:
            return refuse(Trouble.STORE_UNAVAILABLE, problem.message, "Try again.")
        if isinstance(outcome, Response):
            return outcome
        if isinstance(outcome, Refusal):
            return refuse(outcome.code, outcome.message, outcome.hint)
        return Response(msgspec.json.encode(outcome), endpoint.status, media_type="application/json")

    return Route(endpoint.path, serve, methods=[endpoint.method])


async def _read_body(request: Request, expected: Any) -> Any:  # noqa: ANN401 - of the endpoint's type
    raw = b""
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > LARGEST_BODY:
            return bad_request("The body is too large.", f"At most {LARGEST_BODY} bytes are read.")
    if not raw.strip():
        if request.method == "PUT":  # a PUT of nothing would be taken for an empty whole
            return bad_request(f"{request.method} {request.url.path} needs a body.", "See /openapi.json.")
        raw = b"{}"
    try:
        return msgspec.json.decode(raw, type=expected)
    except msgspec.ValidationError as problem:
        return bad_request(f"The body cannot be used: {problem}.", "See /openapi.json for what it may hold.")
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        return bad_request(f"The body is not valid JSON: {problem}.")

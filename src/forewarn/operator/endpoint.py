"""How a route is written down: once, for the server and for the OpenAPI page alike.

A handler gets a `Call` and returns a value to be sent, or a `Refusal`, whose status stands in refusals.py.
"""

from __future__ import annotations

import re
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
from forewarn.operator.guard import caller_of, forbid
from forewarn.operator.refusals import Trouble, refuse
from forewarn.operator.roles import Role, role_for
from forewarn.operator.sign_in.checking import NOBODY, Caller, SignIn
from forewarn.operator.sign_in.register import Register
from forewarn.wire.imds.instance import Site

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
    sign_in: SignIn
    register: Register
    timekeeper: Timekeeper | None = None
    site: Site = field(default_factory=Site)


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
    def caller(self) -> Caller:
        """Who is asking, and what for."""
        return caller_of(self.request.scope) or NOBODY

    @property
    def actor(self) -> str:
        """Who is asking, by the name that the audit is given."""
        return self.caller.name

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


def say_no(refusal: Refusal) -> Response:
    """A refusal as REST sends it."""
    return refuse(refusal.code, refusal.message, refusal.hint)


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
    any_case: bool = False  # whether the path is found in whatever case it is written
    say_no: Callable[[Refusal], Response] = say_no
    role: Role | None = None  # the least that one needs; without it viewer for GET, else operator
    is_public: bool = False  # nobody has to sign in for it
    largest_body: int = LARGEST_BODY
    body_media_type: str = "application/json"

    @property
    def needs(self) -> Role | None:
        """The least role that may call it; None: anybody."""
        return None if self.is_public else self.role or role_for(self.method)

    @property
    def described_body(self) -> Any:  # noqa: ANN401 - a type
        """The type that the OpenAPI page gives the body."""
        return self.body_shown or self.body


def route(endpoint: Endpoint, office: Office) -> Route:
    """The endpoint as Starlette serves it."""

    async def serve(request: Request) -> Response:
        if answer := forbid(request.scope, endpoint.needs):
            return answer
        try:
            body = await _read_body(request, endpoint)
            outcome = body if isinstance(body, Refusal) else await endpoint.handle(Call(request, office), body)
        except StoreError as problem:
            return refuse(Trouble.STORE_UNAVAILABLE, problem.message, "Try again.")
        if isinstance(outcome, Response):
            return outcome
        if isinstance(outcome, Refusal):
            return endpoint.say_no(outcome)
        return Response(msgspec.json.encode(outcome), endpoint.status, media_type="application/json")

    made = Route(endpoint.path, serve, methods=[endpoint.method])
    if endpoint.any_case:
        made.path_regex = re.compile(made.path_regex.pattern, re.IGNORECASE)
    return made


async def _read_body(request: Request, endpoint: Endpoint) -> Any:  # noqa: ANN401 - of the endpoint's type
    raw = b""
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > endpoint.largest_body:
            return bad_request("The body is too large.", f"At most {endpoint.largest_body} bytes are read.")
    if endpoint.body is bytes:  # the handler reads it on its own terms
        return raw
    if not raw.strip():
        if request.method == "PUT":  # a PUT of nothing would be taken for an empty whole
            return bad_request(f"{request.method} {request.url.path} needs a body.", "See /openapi.json.")
        raw = b"{}"
    try:
        return msgspec.json.decode(raw, type=endpoint.body)
    except msgspec.ValidationError as problem:
        return bad_request(f"The body cannot be used: {problem}.", "See /openapi.json for what it may hold.")
    except RecursionError:
        return bad_request("The body is nested too deep.")
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        return bad_request(f"The body is not valid JSON: {problem}.")

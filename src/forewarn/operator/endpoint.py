"""How a route is written down: once, for the server and for the OpenAPI page alike.

A handler gets a `Call` and returns a value to be sent, or a `Refusal`, whose status stands in refusals.py.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec, TypeVar

import msgspec
import sqlalchemy as sa
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from forewarn.board.tally import Tally
from forewarn.control.plane import ControlPlane
from forewarn.control.push.webhooks import Webhooks
from forewarn.control.runner import Runner
from forewarn.control.timekeeper import Timekeeper
from forewarn.core.refusal import Code, Refusal
from forewarn.errors import Stopping, StoreError
from forewarn.operator.connection import await_turn, is_connected
from forewarn.operator.guard import caller_of, forbid
from forewarn.operator.pacing import Pacer, pacer_for_strangers, pacer_for_tokens
from forewarn.operator.preview_queue import PreviewQueue
from forewarn.operator.readers import ClientGone, ReaderPool, TooBusy
from forewarn.operator.refusals import TroubleCode, refuse
from forewarn.operator.roles import Role, role_for
from forewarn.operator.sign_in.checking import NOBODY, Caller, SignIn
from forewarn.operator.sign_in.register import Register
from forewarn.report.observer import GuestObserver
from forewarn.wire.bad_body import explain
from forewarn.wire.choices import did_you_mean, either
from forewarn.wire.imds.instance import Site
from forewarn.wire.rest import ErrorBody

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V")

LARGEST_PAGE = 1000
LARGEST_BODY = 1024 * 1024  # what the loop can decode without anybody noticing
LARGEST_BULKY_BODY = 64 * 1024 * 1024
CSV = "text/csv"
DRY_RUN = "dry_run"
_MOST_BULKY_BODIES = 2  # in memory at once
_RETRY_READ_SECONDS = 5
_READS = {"GET", "HEAD"}
_MOST_DIGITS = 18  # of a number that a store can hold


@dataclass(frozen=True, slots=True)
class OperatorContext:
    """What the operators' side works with."""

    plane: ControlPlane
    runner: Runner
    tally: Tally
    sign_in: SignIn
    register: Register
    webhooks: Webhooks
    timekeeper: Timekeeper | None = None
    site: Site = field(default_factory=Site)
    previews: PreviewQueue = field(default_factory=PreviewQueue)
    readers: ReaderPool = field(default_factory=ReaderPool)
    strangers: Pacer = field(default_factory=pacer_for_strangers)
    tokens: Pacer = field(default_factory=pacer_for_tokens)
    conduct: GuestObserver | None = None  # what guests do, where somebody looks on
    bulky_bodies: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MOST_BULKY_BODIES))


@dataclass(frozen=True, slots=True)
class Call:
    """One request: its path, its parameters, and the plane's thread to work on."""

    request: Request
    context: OperatorContext
    is_dry_run: bool = False

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

    def is_wanted(self) -> bool:
        """Whether the client still waits for the answer; any thread may ask."""
        return is_connected(self.request.scope)

    async def on_plane(self, act: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Let the plane's thread do it; a read only if the client still waits for it then."""
        if self.request.method not in _READS:
            return await self.context.runner.call(act, *args, **kwargs)

        def read() -> R:
            if not self.is_wanted():
                raise ClientGone
            return act(*args, **kwargs)

        return await self.context.runner.call(read)

    async def change(
        self, act: Callable[[ControlPlane], R | Refusal], view: Callable[[ControlPlane, R], V]
    ) -> V | Refusal:
        """Let the plane's thread change something, and view it once what that made due has been decided."""
        plane = self.context.plane

        def view_unless_refused(outcome: R | Refusal) -> V | Refusal:
            return outcome if isinstance(outcome, Refusal) else view(plane, outcome)

        return await self.context.runner.change(partial(act, plane), view_unless_refused)

    async def aside(self, act: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Let a reader's thread do what would take too long on the loop.

        A full queue refuses reads only: reads must not keep others from making changes.
        """
        may_refuse = self.request.method in _READS
        return await self.context.readers.call(
            partial(act, *args, **kwargs), self.is_wanted, may_refuse=may_refuse
        )

    async def in_store(self, read: Callable[[sa.Connection], R], *, is_first: bool = True) -> R:
        """Let a reader's thread read the store; where the store is in memory, the plane's.

        Parts after the first are never refused: the response has begun.
        """
        store = self.context.plane.store

        def act() -> R:
            with store.reading() as connection:
                return read(connection)

        if not store.reads_apart:
            return await self.on_plane(act)
        return await self.context.readers.call(act, self.is_wanted, may_refuse=is_first)

    def page(self) -> PageQuery | Refusal:
        """Which part of a list is wanted."""
        text = self.query("limit")
        limit = LARGEST_PAGE if text is None else whole_number(text)
        if limit is None or not 1 <= limit <= LARGEST_PAGE:
            return bad_request(
                f"limit is {text!r}; it can be 1 to {LARGEST_PAGE}.", f"Leave it out to get up to {LARGEST_PAGE}."
            )
        return PageQuery(limit, self.query("after"))


@dataclass(frozen=True, slots=True)
class PageQuery:
    """A part of a list: so many, after that one."""

    limit: int
    after: str | None


def whole_number(text: str) -> int | None:
    """The number that a parameter names; None for what is no number, or larger than any that is given out."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def bad_request(message: str, hint: str = "") -> Refusal:
    """The request itself makes no sense."""
    return Refusal(Code.BAD_REQUEST, message, hint)


def bad_cursor(after: str | None) -> Refusal:
    """What was sent as `after` is none that was ever given out."""
    return bad_request(
        f"after is {after!r}; it is the value of `next` of the page before.", "Leave it out to get the first page."
    )


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
    also_csv: bool = False  # whether the answer may be had as CSV
    body_shown: Any = None  # for the OpenAPI page, where the handler reads the body on its own terms
    any_case: bool = False  # whether the path is found in whatever case it is written
    say_no: Callable[[Refusal], Response] = say_no
    error: Any = ErrorBody  # the type of the handler's own refusals, for the OpenAPI page
    role: Role | None = None  # the least that one needs; without it viewer for GET, else operator
    is_public: bool = False  # nobody has to sign in for it
    is_paced: bool = False  # begun at the rate of token requests, before its body is read
    most_bytes: int = LARGEST_BODY  # of a body
    body_media_type: str = "application/json"
    dry_answer: Any = None  # the type that a dry run sends; None: the route has no dry run
    is_bulky: bool = False  # body and answer may be as large as a fleet: decoded and encoded off the loop

    @property
    def needs(self) -> Role | None:
        """The least role that may call it; None: anybody."""
        return None if self.is_public else self.role or role_for(self.method)

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the query, each with its meaning."""
        if self.dry_answer is None:
            return self.query
        form = self.dry_answer.__name__
        return self.query | {DRY_RUN: f"true: change nothing, and answer 200 with what would happen ({form})"}

    @property
    def largest_body(self) -> int:
        """How many bytes of a body are read."""
        return LARGEST_BULKY_BODY if self.is_bulky else self.most_bytes

    @property
    def described_body(self) -> Any:  # noqa: ANN401 - a type
        """The type that the OpenAPI page gives the body."""
        return self.body_shown or self.body


def route(endpoint: Endpoint) -> Route:
    """The endpoint as Starlette serves it, in any app that has an `OperatorContext` in its state."""

    async def serve(request: Request) -> Response:
        if answer := forbid(request.scope, endpoint.needs):
            return answer
        try:
            if endpoint.is_paced:
                await await_turn(request.app.state.context.tokens, request.scope)
            is_dry_run = endpoint.dry_answer is not None and request.query_params.get(DRY_RUN) == "true"
            room = request.app.state.context.bulky_bodies if endpoint.is_bulky else nullcontext()
            async with room:
                body = _strange_parameter(request, endpoint) or await _read_body(request, endpoint)
            call = Call(request, request.app.state.context, is_dry_run)
            outcome = body if isinstance(body, Refusal) else await endpoint.handle(call, body)
            return await _answer(call, endpoint, outcome)
        except StoreError as problem:
            return refuse(TroubleCode.STORE_UNAVAILABLE, problem.message, "Try again.")
        except Stopping as problem:
            return refuse(TroubleCode.STOPPING, problem.message, problem.hint)
        except TooBusy as problem:
            answer = refuse(TroubleCode.TOO_MANY_READS, problem.message, problem.hint)
            answer.headers["Retry-After"] = str(_RETRY_READ_SECONDS)
            return answer
        except ClientGone:
            return Response()  # which nobody receives

    made = Route(endpoint.path, serve, methods=[endpoint.method])
    if endpoint.any_case:
        made.path_regex = re.compile(made.path_regex.pattern, re.IGNORECASE)
    return made


async def _answer(call: Call, endpoint: Endpoint, outcome: Any) -> Response:  # noqa: ANN401 - of the endpoint's type
    if isinstance(outcome, Response):
        return outcome
    if isinstance(outcome, Refusal):
        return endpoint.say_no(outcome)
    encoded = await _encode(call.request, endpoint, outcome)
    return Response(encoded, 200 if call.is_dry_run else endpoint.status, media_type="application/json")


async def _encode(request: Request, endpoint: Endpoint, outcome: Any) -> bytes:  # noqa: ANN401 - of the endpoint's type
    if endpoint.is_bulky:
        readers: ReaderPool = request.app.state.context.readers
        with suppress(Stopping):  # what was done is answered, whatever else is going on
            return await readers.call(partial(msgspec.json.encode, outcome), may_refuse=False)
    return msgspec.json.encode(outcome)


def _strange_parameter(request: Request, endpoint: Endpoint) -> Refusal | None:
    """A filter that nobody knows would let everything through: it is a slip of the pen, and refused."""
    if not endpoint.path.startswith("/v1/"):  # ARM and Azure's clients have their own ways
        return None
    known = endpoint.parameters
    name = next((each for each in request.query_params if each not in known), None)
    if name is None:
        return _strange_dry_run(request)
    takes = f"{did_you_mean(name, known)} It takes {either(known)}.".lstrip() if known else "It takes none."
    return bad_request(f"{request.method} {request.url.path} has no parameter {name!r}.", takes)


def _strange_dry_run(request: Request) -> Refusal | None:
    """A value that is neither true nor false must not be taken for false: the request would be carried out."""
    values = request.query_params.getlist(DRY_RUN)
    if not values or values in (["true"], ["false"]):
        return None
    return bad_request(
        f"{DRY_RUN} is {' and '.join(map(repr, values))}; it can be true or false.", f"Send one {DRY_RUN}=true."
    )


async def _read_body(request: Request, endpoint: Endpoint) -> Any:  # noqa: ANN401 - of the endpoint's type
    most = endpoint.largest_body
    announced = whole_number(request.headers.get("content-length", ""))
    if announced is not None and announced > most:
        return _too_large(most)
    raw = bytearray()
    try:
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > most:
                return _too_large(most)
    except ClientDisconnect:
        return bad_request("The body has no end.")  # and nobody is there to be told
    if endpoint.body is bytes:  # the handler reads it on its own terms
        return bytes(raw)
    if not endpoint.is_bulky:
        return _decode(raw, request, endpoint.body)
    return await Call(request, request.app.state.context).aside(_decode, raw, request, endpoint.body)


def _too_large(most: int) -> Refusal:
    return bad_request("The body is too large.", f"At most {most} bytes are read.")


def _decode(raw: bytearray, request: Request, expected: Any) -> Any:  # noqa: ANN401 - a type, and a value of it
    if not raw or raw.isspace():
        if request.method == "PUT":  # a PUT of nothing would be taken for an empty whole
            return bad_request(f"{request.method} {request.url.path} needs a body.", "See /openapi.json.")
        raw = bytearray(b"{}")
    try:
        return msgspec.json.decode(raw, type=expected)
    except msgspec.ValidationError as problem:
        fault = explain(problem, expected)
        return bad_request(f"The body cannot be used: {fault.what}.", fault.remedy)
    except RecursionError:
        return bad_request("The body is nested too deep.", "See /openapi.json for what it may hold.")
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        return bad_request(f"The body is not valid JSON: {problem}.", 'Send an object like {"kind": "Freeze"}.')

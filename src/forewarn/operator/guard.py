"""Who may talk to the operators' listener.

As long as nobody was given a credential it is open to this machine alone: a web page that someone here has open
must not be able to use it, so a foreign Origin and a Host that is not loopback are turned away. Once somebody was,
every route needs a Bearer token, but for those that say of themselves that nobody has to sign in for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address

import msgspec
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from forewarn.operator.connection import await_turn
from forewarn.operator.pacing import Pacer
from forewarn.operator.refusals import OCCASIONS, TroubleCode, refuse
from forewarn.operator.roles import Role
from forewarn.operator.sign_in.checking import ANYBODY, Caller, SignIn, Stranger

_CALLER = "forewarn.caller"
_SIGN_IN_HINT = "Sign in with FOREWARN_TOKEN or --token-file; over REST with Authorization: Bearer TOKEN."
USUAL_PORTS = {"http": ":80", "https": ":443"}

# How Azure's own clients are refused; everybody else is refused as REST refuses.
_AZURE_CODES = {
    TroubleCode.UNAUTHENTICATED: "AuthenticationFailed",
    TroubleCode.ROLE_TOO_SMALL: "AuthorizationFailed",
    TroubleCode.TOO_MANY_GUESSES: "TooManyRequests",
}

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^][@/?#:\s\\]+)(?::\d{1,5})?")


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only be this machine."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def host_of(header: str) -> str:
    """The host in a Host header, without its port; nothing in one that says more than that."""
    match = _HOST.fullmatch(header)
    return match[1] if match else ""


def base_of(scope: Scope) -> str:
    """Where this service is, as the caller calls it: `https://localhost:8255`."""
    scheme = scope["scheme"]
    host = _headers(scope, b"host")[:1] or [":".join(map(str, scope["server"]))]
    return f"{scheme}://{host[0].lower().removesuffix(USUAL_PORTS[scheme])}"


def address_of(scope: Scope) -> str:
    """Where the caller calls from."""
    return str(scope["client"][0]) if scope.get("client") else ""


def caller_of(scope: Scope) -> Caller | None:
    """Who was let in; None where nobody has to sign in and nobody did."""
    found: Caller | None = scope.get(_CALLER)
    return found


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


class Guard:
    """Lets through whom it knows, and lets in nobody else but to the public routes."""

    def __init__(self, app: ASGIApp, sign_in: SignIn, public: Sequence[Route], strangers: Pacer) -> None:
        self._app = app
        self._sign_in = sign_in
        self._public = public
        self._strangers = strangers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge the headers, then hand on."""
        answer = self._judge(scope) if scope["type"] == "http" else None
        if isinstance(answer, Stranger):
            await await_turn(self._strangers, scope)
            await self._sign_in.make_wait(answer)
            answer = turn_away(scope, answer)
        await (answer or self._app)(scope, receive, send)

    def _judge(self, scope: Scope) -> Response | Stranger | None:
        host = "".join(_headers(scope, b"host")[:1])
        if self._sign_in.is_open and not is_loopback(host_of(host)):
            return refuse(
                TroubleCode.FOREIGN_HOST,
                f"The Host {host!r} is not this machine, and nobody has to sign in here.",
                "Call it as localhost or 127.0.0.1.",
            )
        for origin in _headers(scope, b"origin"):
            if not host or origin.partition("://")[2] != host:
                return refuse(
                    TroubleCode.FOREIGN_ORIGIN,
                    f"A page of {origin} may not use this service.",
                    "Use the command line.",
                )
        if self._sign_in.is_open:
            scope[_CALLER] = ANYBODY
            return None
        if self._is_public(scope):  # whatever is sent along is of no interest
            return None
        found = self._sign_in.recognise(_headers(scope, b"authorization"), base_of(scope), address_of(scope))
        if isinstance(found, Caller):
            scope[_CALLER] = found
            return None
        return found

    def _is_public(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is Match.FULL for route in self._public)


def turn_away(scope: Scope, stranger: Stranger) -> Response:
    """Nobody whom we know: 401, or 429 for who guesses."""
    challenge = 'Bearer realm="forewarn"'
    if not stranger.was_silent:
        challenge += f', error="invalid_token", error_description="{_quoted(stranger.reason)}"'
    if stranger.wait_seconds:
        answer = _say(
            scope,
            TroubleCode.TOO_MANY_GUESSES,
            f"{stranger.reason} Too many wrong ones came from {address_of(scope)}.",
            f"Try again in {stranger.wait_seconds} s; a good token is let in at once.",
        )
        answer.headers["Retry-After"] = str(stranger.wait_seconds)
        return answer
    answer = _say(scope, TroubleCode.UNAUTHENTICATED, stranger.reason, _SIGN_IN_HINT)
    answer.headers["WWW-Authenticate"] = challenge
    return answer


def _quoted(text: str) -> str:
    return text.replace("\\", "/").replace('"', "'")


def forbid(scope: Scope, needed: Role | None) -> Response | None:
    """No, if the caller's role is too small for a route that needs this one."""
    caller = caller_of(scope)
    if needed is None:
        return None
    if caller is None:  # the guard lets nobody come this far; whoever does comes no farther
        return turn_away(scope, Stranger("Nobody gets in here without signing in.", was_silent=True))
    if caller.role.allows(needed):
        return None
    return _say(
        scope,
        TroubleCode.ROLE_TOO_SMALL,
        f"{scope['method']} {scope['path']} needs the role {needed}; {caller.name} has the role {caller.role}.",
        f"Ask an admin for a token: forewarn token create --role {needed} --name NAME",
    )


def _say(scope: Scope, code: TroubleCode, message: str, hint: str) -> Response:
    if not _is_azures(scope["path"]):
        return refuse(code, message, hint)
    body = msgspec.json.encode({"error": {"code": _AZURE_CODES[code], "message": message}})
    return Response(body, OCCASIONS[code].status, media_type="application/json")


def _is_azures(path: str) -> bool:
    """Whether a client of Azure's would ask there: ARM's routes, and those that begin with a tenant."""
    first, more, _ = path.lower().lstrip("/").partition("/")
    return first in {"subscriptions", "providers"} or bool(more and first != "v1")

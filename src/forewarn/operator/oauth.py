"""OAuth 2 client credentials, as Azure's own clients ask for them.

Nobody has to sign in for this: it is how one signs in. Errors have the shape of those of Azure's directory.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qsl, unquote_plus, urlsplit

import msgspec
from starlette.responses import Response

from forewarn.operator.endpoint import Call, Endpoint
from forewarn.operator.guard import USUAL_PORTS, address_of, base_of, is_loopback
from forewarn.operator.sign_in.checking import Stranger
from forewarn.operator.sign_in.jwts import LIFETIME, sign
from forewarn.store.credentials import Credential

_LARGEST_FORM = 8 * 1024  # decoding one that is all escapes takes the loop 2 ms
_MOST_FIELDS = 50
_FORM = "application/x-www-form-urlencoded"
_NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}
_DEFAULT = "/.default"
_LIFETIME_SECONDS = int(LIFETIME.total_seconds())


class TokenForm(msgspec.Struct):
    """A form; the client id and the secret may come as HTTP Basic instead."""

    grant_type: Annotated[str, msgspec.Meta(description="client_credentials")]
    client_id: str
    client_secret: str
    scope: Annotated[str, msgspec.Meta(description="this service's address, and `/.default`")] = ""
    resource: Annotated[str, msgspec.Meta(description="in version 1 instead of the scope: the address")] = ""


class AccessToken(msgspec.Struct):
    """A signed token that expires."""

    token_type: str
    expires_in: int
    ext_expires_in: int
    access_token: str


class DirectoryError(msgspec.Struct):
    """Why no token or document is given, in the shape of Azure's directory."""

    error: Annotated[str, msgspec.Meta(description="invalid_request, invalid_client, invalid_scope, ...")]
    error_description: str
    error_codes: list[int]
    timestamp: str
    trace_id: str
    correlation_id: str


class OAuthProblem(NamedTuple):
    """Why no token is given, in the directory's words and numbers."""

    error: str
    number: int
    text: str
    status: HTTPStatus = HTTPStatus.BAD_REQUEST
    headers: Mapping[str, str] = {}


def answer_problem(call: Call, problem: OAuthProblem) -> Response:
    """The problem in the directory's shape."""
    trace, asked = str(uuid.uuid4()), call.request.headers.get("client-request-id", "")
    now = f"{call.context.sign_in.now():%Y-%m-%d %H:%M:%SZ}"
    body = DirectoryError(
        error=problem.error,
        error_description=f"AADSTS{problem.number}: {problem.text} Trace ID: {trace} Timestamp: {now}",
        error_codes=[problem.number],
        timestamp=now,
        trace_id=trace,
        correlation_id=asked or str(uuid.uuid4()),
    )
    return Response(
        msgspec.json.encode(body), problem.status, {**_NO_STORE, **problem.headers}, "application/json"
    )


def judge_tenant(call: Call, error: str = "invalid_request", also: set[str] | None = None) -> OAuthProblem | None:
    """No, if the tenant in the path is none of ours."""
    tenant = call.path("tenant").lower()
    if tenant in {call.context.sign_in.tenant.lower(), *(also or ())}:
        return None
    return OAuthProblem(error, 90002, f"Tenant '{tenant}' not found. It is {call.context.sign_in.tenant}.")


def issuer_of(call: Call) -> str:
    """Who signs."""
    return f"{base_of(call.request.scope)}/{call.context.sign_in.tenant}/v2.0"


def _read_form(call: Call, raw: bytes) -> dict[str, str] | OAuthProblem:
    kind = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        return OAuthProblem("invalid_request", 900561, f"The body has to be a form: Content-Type: {_FORM}.")
    try:
        text = raw.decode()
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=_MOST_FIELDS)
    except ValueError:
        return OAuthProblem("invalid_request", 900023, "The body is not a form that can be read.")
    form = dict(pairs)
    if len(form) != len(pairs):
        return OAuthProblem("invalid_request", 900023, "The body names a parameter twice.")
    return form


def _read_basic(header: str) -> tuple[str, str] | None:
    """The client id and the secret of HTTP Basic."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        client, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError:
        return None
    return (unquote_plus(client), unquote_plus(secret)) if colon else None


def _audience(form: Mapping[str, str], here: str, *, is_v1: bool) -> str | OAuthProblem:
    """The service that the token is to be shown to: this one, or none."""
    name = "resource" if is_v1 else "scope"
    text = form.get(name, "")
    if not text:
        return OAuthProblem(
            "invalid_request", 900144, f"The request body must contain the following parameter: '{name}'."
        )
    if "@" in text:  # and whatever stands before it is not repeated
        return OAuthProblem("invalid_resource", 500011, f"The {name} holds a user's name; it is an address alone.")
    if not is_v1:
        if not text.endswith(_DEFAULT) or " " in text:
            return OAuthProblem(
                "invalid_scope", 1002012, "The scope has to be one address, followed by /.default."
            )
        text = text.removesuffix(_DEFAULT)
    audience = _address_in(text)
    if audience is None:
        return OAuthProblem(
            "invalid_resource", 500011, f"The {name} names no service: it is an address, like https://..."
        )
    if audience != here and not _is_same_machine(audience, here):
        return OAuthProblem(
            "invalid_resource", 500011, f"The {name} {audience} is not this service, which is {here}."
        )
    return audience


def _address_in(text: str) -> str | None:
    """The address of a service as it is compared; None where it is none."""
    try:
        parts = urlsplit(text)
        _ = parts.port  # one that is no number, or too large, is found out only by asking
    except ValueError:
        return None
    if parts.scheme not in USUAL_PORTS or not parts.netloc:
        return None
    host = parts.netloc.lower().removesuffix(USUAL_PORTS[parts.scheme])
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def _is_same_machine(one: str, other: str) -> bool:
    """Whether two addresses are this service under two names of this machine."""
    with suppress(ValueError):  # a Host header may have any port
        first, second = urlsplit(one), urlsplit(other)
        is_local = is_loopback(first.hostname or "") and is_loopback(second.hostname or "")
        return is_local and (first.scheme, first.port, first.path) == (second.scheme, second.port, second.path)
    return False


def _client(call: Call, form: Mapping[str, str]) -> tuple[str, str] | OAuthProblem:
    basic = _read_basic(call.request.headers.get("authorization", ""))
    if basic is not None:
        if "client_secret" in form:
            return OAuthProblem(
                "invalid_request", 900023, "The secret is sent twice, as HTTP Basic and in the body."
            )
        return basic
    for name in ("client_id", "client_secret"):
        if not form.get(name):
            return OAuthProblem(
                "invalid_client" if name == "client_secret" else "invalid_request",
                7000218 if name == "client_secret" else 900144,
                f"The request body must contain the following parameter: '{name}'.",
                HTTPStatus.UNAUTHORIZED if name == "client_secret" else HTTPStatus.BAD_REQUEST,
            )
    return form["client_id"], _one_line(form["client_secret"])


def _one_line(secret: str) -> str:
    """A secret as it was made: a file that one was written to ends its line."""
    return secret.removesuffix("\n").removesuffix("\r")


def _refused(stranger: Stranger) -> OAuthProblem:
    if stranger.wait_seconds:
        return OAuthProblem(
            "temporarily_unavailable",
            50196,
            f"{stranger.reason} Too many wrong ones came from this address; wait {stranger.wait_seconds} s.",
            HTTPStatus.TOO_MANY_REQUESTS,
            {"Retry-After": str(stranger.wait_seconds)},
        )
    return OAuthProblem(
        "invalid_client",
        7000215,
        f"{stranger.reason} A principal is made with: forewarn principal create --role ROLE --name NAME.",
        HTTPStatus.UNAUTHORIZED,
        {"WWW-Authenticate": 'Basic realm="forewarn"'},
    )


def _judge_grant(form: Mapping[str, str]) -> OAuthProblem | None:
    grant = form.get("grant_type")
    if not grant:
        return OAuthProblem(
            "invalid_request", 900144, "The request body must contain the following parameter: 'grant_type'."
        )
    if grant != "client_credentials":
        return OAuthProblem("unsupported_grant_type", 70003, "The only grant type here is 'client_credentials'.")
    return None


def _issue(call: Call, raw: bytes, *, is_v1: bool) -> dict[str, Any] | OAuthProblem | Stranger:
    if problem := judge_tenant(call):
        return problem
    form = _read_form(call, raw)
    if isinstance(form, OAuthProblem):
        return form
    if problem := _judge_grant(form):
        return problem
    audience = _audience(form, base_of(call.request.scope), is_v1=is_v1)
    if isinstance(audience, OAuthProblem):
        return audience
    client = _client(call, form)
    if isinstance(client, OAuthProblem):
        return client
    sign_in = call.context.sign_in
    found = sign_in.recognise_client(*client, address_of(call.request.scope))
    if isinstance(found, Stranger):
        return found
    now = sign_in.now()
    token = _token_for(call, found, audience, now)
    return _told_in_v1(form["resource"], token, now) if is_v1 else _told(token)


def _token_for(call: Call, principal: Credential, audience: str, now: datetime) -> str:
    sign_in = call.context.sign_in
    key = sign_in.keyring.signing_key
    if key is None:
        raise RuntimeError("there is a principal, and no key that signs: they are made in one transaction")
    return sign(
        key,
        client=principal.id,
        role=principal.role,
        audience=audience,
        issuer=issuer_of(call),
        tenant=sign_in.tenant,
        now=now,
    )


def _told(token: str) -> dict[str, Any]:
    return msgspec.to_builtins(AccessToken("Bearer", _LIFETIME_SECONDS, _LIFETIME_SECONDS, token))  # type: ignore[no-any-return]


def _told_in_v1(resource: str, token: str, now: datetime) -> dict[str, Any]:
    """As version 1 answers: numbers are strings."""
    begin = int(now.timestamp())
    return {
        "token_type": "Bearer",
        "expires_in": str(_LIFETIME_SECONDS),
        "ext_expires_in": str(_LIFETIME_SECONDS),
        "expires_on": str(begin + _LIFETIME_SECONDS),
        "not_before": str(begin),
        "resource": resource,
        "access_token": token,
    }


async def give_token(is_v1: bool, call: Call, raw: bytes) -> Response:  # noqa: FBT001 - bound once, below
    """A token for a client id and a secret."""
    outcome = _issue(call, raw, is_v1=is_v1)
    if isinstance(outcome, Stranger):
        await call.context.sign_in.make_wait(outcome)
        outcome = _refused(outcome)
    if isinstance(outcome, OAuthProblem):
        return answer_problem(call, outcome)
    return Response(msgspec.json.encode(outcome), headers=_NO_STORE, media_type="application/json")


def _endpoint(version: str) -> Endpoint:
    return Endpoint(
        "POST",
        f"/{{tenant}}/oauth2{version}/token",
        partial(give_token, not version),
        f"A token for a principal, as Azure's clients ask for it, version {'2' if version else '1'}",
        AccessToken,
        body=bytes,
        body_shown=TokenForm,
        body_media_type=_FORM,
        most_bytes=_LARGEST_FORM,
        is_public=True,
        is_paced=True,
        error=DirectoryError,
    )


ENDPOINTS = [_endpoint("/v2.0"), _endpoint("")]

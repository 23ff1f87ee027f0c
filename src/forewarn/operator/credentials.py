"""Tokens and principals: who may sign in. A secret is in the answer that makes it, and nowhere else."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any, Literal

import msgspec

from forewarn.core.refusal import Refusal
from forewarn.operator.endpoint import Call, Endpoint, Nothing
from forewarn.operator.fleet import PAGE, paged
from forewarn.operator.roles import Role
from forewarn.operator.sign_in.register import CredentialWish
from forewarn.store.codec import micros
from forewarn.store.credentials import Credential, CredentialKind
from forewarn.wire.rest import Instant

State = Literal["active", "expired", "revoked"]


class CredentialBody(msgspec.Struct, forbid_unknown_fields=True):
    """A credential that is asked for."""

    name: Annotated[str, msgspec.Meta(description="who the audit will name")]
    role: Role
    expires_in_seconds: Annotated[
        Annotated[float, msgspec.Meta(ge=-1e10, le=1e10)] | None,
        msgspec.Meta(description="without it, it lasts until it is revoked"),
    ] = None


class CredentialView(msgspec.Struct, kw_only=True):
    """What tokens and principals have in common."""

    name: str
    role: Role
    state: State
    created_at: Instant
    created_by: str
    expires_at: Instant | None
    last_used_at: Annotated[Instant | None, msgspec.Meta(description="to the minute or so")]
    revoked_at: Instant | None
    revoked_by: str | None


class TokenView(CredentialView, kw_only=True):
    """A token, without the token itself."""


class TokenIssued(TokenView, kw_only=True):
    """A token that was just made."""

    token: Annotated[str, msgspec.Meta(description="told once")]


class PrincipalView(CredentialView, kw_only=True):
    """A service principal, without its secret."""

    client_id: str
    tenant: str


class PrincipalIssued(PrincipalView, kw_only=True):
    """A service principal that was just made."""

    client_secret: Annotated[str, msgspec.Meta(description="told once")]


class TokenList(msgspec.Struct):
    """A page of tokens, by name."""

    tokens: list[TokenView]
    next: str | None = None


class PrincipalList(msgspec.Struct):
    """A page of principals, by name."""

    principals: list[PrincipalView]
    next: str | None = None


def fields_of(credential: Credential, now: datetime, tenant: str, used: datetime | None = None) -> dict[str, Any]:
    """What may be told of a credential: all but its digest."""
    told: dict[str, Any] = {
        "name": credential.name,
        "role": Role(credential.role),
        "state": _state(credential, now),
        "created_at": credential.created_at,
        "created_by": credential.created_by,
        "expires_at": credential.expires_at,
        "last_used_at": used or credential.last_used_at,
        "revoked_at": credential.revoked_at,
        "revoked_by": credential.revoked_by,
    }
    if credential.kind is CredentialKind.PRINCIPAL:
        told |= {"client_id": credential.id, "tenant": tenant}
    return told


def _state(credential: Credential, now: datetime) -> State:
    if credential.revoked_at is not None:
        return "revoked"
    return "expired" if credential.has_expired(now) else "active"


def _told(call: Call, credential: Credential) -> dict[str, Any]:
    sign_in = call.context.sign_in
    return fields_of(credential, sign_in.now(), sign_in.tenant, sign_in.uses.last(credential.id))


async def _list(kind: CredentialKind, call: Call, _: Nothing) -> TokenList | PrincipalList | Refusal:
    page = call.page()
    if isinstance(page, Refusal):
        return page
    # A name may be used again; a blank sorts before all that a name may hold.
    named = {
        f"{each.name} {micros(each.created_at):020d} {each.id}": each
        for each in call.context.sign_in.keyring.everyone
        if each.kind is kind
    }
    keys, following = paged(named, page)
    told = [_told(call, named[key]) for key in keys]
    if kind is CredentialKind.TOKEN:
        return TokenList([TokenView(**each) for each in told], following)
    return PrincipalList([PrincipalView(**each) for each in told], following)


async def _create(
    kind: CredentialKind, call: Call, body: CredentialBody
) -> TokenIssued | PrincipalIssued | Refusal:
    lasts = None if body.expires_in_seconds is None else timedelta(seconds=body.expires_in_seconds)
    wanted = CredentialWish(kind, body.name, body.role, lasts)
    issued = await call.on_plane(call.context.register.create, wanted, call.actor)
    if isinstance(issued, Refusal):
        return issued
    told = _told(call, issued.credential)
    if kind is CredentialKind.TOKEN:
        return TokenIssued(**told, token=issued.secret)
    return PrincipalIssued(**told, client_secret=issued.secret)


async def _revoke(kind: CredentialKind, call: Call, _: Nothing) -> TokenView | PrincipalView | Refusal:
    revoked = await call.on_plane(call.context.register.revoke, kind, call.path("name"), call.actor)
    if isinstance(revoked, Refusal):
        return revoked
    told = _told(call, revoked)
    return TokenView(**told) if kind is CredentialKind.TOKEN else PrincipalView(**told)


def _endpoints(kind: CredentialKind, page: Any, one: Any, issued: Any, ends: str) -> list[Endpoint]:  # noqa: ANN401 - types
    path = f"/v1/{kind}s"
    return [
        Endpoint("GET", path, partial(_list, kind), f"All {kind}s, by name", page, query=PAGE, role=Role.ADMIN),
        Endpoint(
            "POST",
            path,
            partial(_create, kind),
            f"Make a {kind}; its secret is told once",
            issued,
            201,
            CredentialBody,
            role=Role.ADMIN,
        ),
        Endpoint(
            "DELETE", f"{path}/{{name}}", partial(_revoke, kind), f"Revoke a {kind}, {ends}", one, role=Role.ADMIN
        ),
    ]


ENDPOINTS = [
    *_endpoints(CredentialKind.TOKEN, TokenList, TokenView, TokenIssued, "at once"),
    *_endpoints(
        CredentialKind.PRINCIPAL,
        PrincipalList,
        PrincipalView,
        PrincipalIssued,
        "at once, and all it signed in with",
    ),
]

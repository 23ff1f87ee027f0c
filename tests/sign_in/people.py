"""Whoever signs in, as tests need them: in a store before its service starts, or at a service that runs."""

from __future__ import annotations

import itertools
import json
from datetime import timedelta
from typing import Any, Self
from urllib.parse import urlencode

from forewarn.clock import SystemClock
from forewarn.core.refusal import Refusal
from forewarn.operator.roles import Role
from forewarn.operator.sign_in.keyring import Keyring
from forewarn.operator.sign_in.register import CredentialWish, Issued, Register
from forewarn.store import credentials
from forewarn.store.credentials import CredentialKind
from forewarn.store.sql import SqlStore
from tests.running import Reply, RunningService, call

TENANT = "00000000-0000-4000-8000-000000000002"
NOW = SystemClock().now
_addresses = (f"127.{64 + n // 65025}.{n // 255 % 255}.{n % 255 + 1}" for n in itertools.count())


def new_address() -> str:
    """A loopback address that nobody has called from: it has guessed nothing yet."""
    return next(_addresses)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


class Book:
    """The credentials of a store whose service is stopped."""

    def __init__(self, address: str) -> None:
        self._store = SqlStore(address)
        self._register = Register(self._store, Keyring(), NOW, NOW)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def token(self, name: str, role: Role = Role.ADMIN) -> str:
        return self.create(CredentialKind.TOKEN, name, role).secret

    def principal(self, name: str, role: Role = Role.ADMIN) -> tuple[str, str]:
        """Its client id and its secret."""
        issued = self.create(CredentialKind.PRINCIPAL, name, role)
        return issued.credential.id, issued.secret

    def create(
        self, kind: CredentialKind, name: str, role: Role = Role.ADMIN, expires_in: timedelta | None = None
    ) -> Issued:
        issued = self._register.create(CredentialWish(kind, name, role, expires_in), "test")
        assert not isinstance(issued, Refusal), issued
        return issued

    def revoke(self, kind: CredentialKind, name: str) -> None:
        assert not isinstance(self._register.revoke(kind, name, "test"), Refusal)

    def expire(self, name: str) -> None:
        """Let its time be over since a minute."""
        past = credentials.micros(NOW() - timedelta(minutes=1))
        table = credentials.credentials
        with self._store.transaction() as transaction:
            transaction.connection.execute(table.update().where(table.c.name == name).values(expires_at=past))

    @property
    def signing_key(self) -> bytes:
        with self._store.transaction() as transaction:
            key = credentials.signing_key(transaction)
        assert key is not None
        return key


def base(service: RunningService) -> str:
    return f"{'http' if service.trust is None else 'https'}://127.0.0.1:{service.service.operator[1]}"


def ask_for_jwt(
    service: RunningService, form: dict[str, str], path: str = "", source: str | None = None, **headers: str
) -> Reply:
    """What the token endpoint answers to a form."""
    return call(
        "127.0.0.1",
        service.service.operator[1],
        "POST",
        path or f"/{TENANT}/oauth2/v2.0/token",
        urlencode(form).encode(),
        {"Content-Type": "application/x-www-form-urlencoded"} | headers,
        source=source or new_address(),
        trust=service.trust,
    )


def jwt_for(service: RunningService, client: str, secret: str, audience: str | None = None) -> str:
    """A token that a principal is given, for this service unless told otherwise."""
    form = {
        "grant_type": "client_credentials",
        "client_id": client,
        "client_secret": secret,
        "scope": f"{audience or base(service)}/.default",
    }
    reply = ask_for_jwt(service, form)
    assert reply.status == 200, reply
    return str(reply.json["access_token"])


def as_(service: RunningService, token: str, method: str, path: str, body: Any = None) -> Reply:
    """One call by who has this token, from an address of its own."""
    data = None if body is None else json.dumps(body).encode()
    port = service.service.operator[1]
    return call("127.0.0.1", port, method, path, data, bearer(token), source=new_address(), trust=service.trust)


def first_admin(service: RunningService, name: str = "root") -> str:
    """The first token of a service that was open until now."""
    return str(service.post("/v1/tokens", {"name": name, "role": "admin"}, expect=201)["token"])

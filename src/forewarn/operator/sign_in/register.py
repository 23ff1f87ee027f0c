"""The book of who may sign in: entries are made and struck out here, for the service and for the command line.

Works on the store, and lets the keyring hold what the store holds; in a service, on the plane's thread. A secret
is made here, returned once, and kept only as a digest.
"""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.control.plane import PLANE
from forewarn.core.refusal import Code, Refusal
from forewarn.core.world import AuditEntry
from forewarn.operator.roles import Role
from forewarn.operator.sign_in.keyring import Keyring, digest_of
from forewarn.store import credentials
from forewarn.store.credentials import Credential, CredentialKind
from forewarn.store.sql import SqlStore, Transaction
from forewarn.wire.times import iso

TOKEN_PREFIX = "fw_"  # noqa: S105 - by which one is known when it turns up where it should not be
_SECRET_BYTES = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_LONGEST = timedelta(days=36525)


@dataclass(frozen=True, slots=True)
class CredentialWish:
    """A credential that is asked for."""

    kind: CredentialKind
    name: str
    role: Role
    expires_in: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Issued:
    """A credential that was made, and its secret, which is told once."""

    credential: Credential
    secret: str


class Register:
    """Makes and revokes credentials."""

    def __init__(
        self, store: SqlStore, keyring: Keyring, now: Callable[[], datetime], audit_now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._keyring = keyring
        self._now = now  # real time, by which credentials expire
        self._audit_now = audit_now  # the time that all other deeds are noted by

    def load(self) -> None:
        """Let the keyring hold what the store holds."""
        with self._store.transaction() as transaction:
            found = _read(transaction)
        self._keyring.hold(*found)

    def create(self, wanted: CredentialWish, actor: str) -> Issued | Refusal:
        """A new credential; in force when this returns."""
        if refusal := _judge(wanted):
            return refusal
        issued = self._make(wanted, actor)
        if wanted.kind is CredentialKind.PRINCIPAL:
            self._store.make_private()  # before the key that signs is in it
        with self._store.transaction() as transaction:
            if refusal := _judge_name(wanted, credentials.read(transaction)):
                return refusal
            if wanted.kind is CredentialKind.PRINCIPAL:
                credentials.make_signing_key(transaction)
            until = issued.credential.expires_at
            detail = f"role {wanted.role}" + (f", until {iso(until)}" if until else "")
            credentials.add(transaction, issued.credential, self._deed("create", issued.credential, actor, detail))
            found = _read(transaction)
        self._keyring.hold(*found)
        return issued

    def _make(self, wanted: CredentialWish, actor: str) -> Issued:
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        if wanted.kind is CredentialKind.TOKEN:
            secret = TOKEN_PREFIX + secret
        now = self._now()
        until = None if wanted.expires_in is None else now + wanted.expires_in
        credential = Credential(
            str(uuid.uuid4()), wanted.kind, wanted.name, wanted.role, digest_of(secret), now, actor, until
        )
        return Issued(credential, secret)

    def revoke(self, kind: CredentialKind, name: str, actor: str) -> Credential | Refusal:
        """Put a credential out of force, for good; it is when this returns. Again, it changes nothing."""
        with self._store.transaction() as transaction:
            named = [each for each in credentials.read(transaction) if each.kind is kind and each.name == name]
            if not named:
                return Refusal(Code.NOT_FOUND, f"There is no {kind} {name}.", f"forewarn {kind} list")
            wanted = next((each for each in named if each.revoked_at is None), named[-1])
            if wanted.revoked_at is None:
                credentials.revoke(transaction, wanted.id, self._now(), self._deed("revoke", wanted, actor))
            found = _read(transaction)
        self._keyring.hold(*found)
        return self._keyring.find(wanted.id) or wanted

    def _deed(self, verb: str, credential: Credential, actor: str, detail: str = "") -> AuditEntry:
        return AuditEntry(
            self._audit_now(), actor, f"{verb} {credential.kind}", subject=credential.name, detail=detail
        )


def _read(transaction: Transaction) -> tuple[list[Credential], bytes | None]:
    return credentials.read(transaction), credentials.signing_key(transaction)


def _judge(wanted: CredentialWish) -> Refusal | None:
    if not _NAME.fullmatch(wanted.name):
        return Refusal(
            Code.BAD_REQUEST,
            f"{wanted.name!r} cannot be the name of a {wanted.kind}.",
            "Use up to 64 letters, digits, dots, dashes, underscores and @, a letter or digit first.",
        )
    if wanted.name == PLANE:
        return Refusal(
            Code.BAD_REQUEST,
            f"{PLANE} is who the audit names for what nobody asked for; a {wanted.kind} cannot be called so.",
            "Choose another name.",
        )
    if wanted.expires_in is not None and not timedelta(0) < wanted.expires_in <= _LONGEST:
        return Refusal(
            Code.BAD_REQUEST,
            f"A {wanted.kind} cannot expire {wanted.expires_in.total_seconds():.0f} s from now.",
            f"Give it between a second and {_LONGEST.days // 365} years, or leave it out.",
        )
    return None


def _judge_name(wanted: CredentialWish, known: list[Credential]) -> Refusal | None:
    """A name is one credential's, of whatever kind, until that is revoked: the audit knows it by its name."""
    for each in known:
        if each.name == wanted.name and each.revoked_at is None:
            return Refusal(
                Code.NOT_ALLOWED,
                f"There is a {each.kind} {each.name} already.",
                f"Choose another name, or first: forewarn {each.kind} revoke {each.name}",
            )
    return None

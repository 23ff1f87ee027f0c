"""Who may sign in, as the store keeps it: names, roles and digests, never a token or a client secret.

Beside the world, not in it: writing here makes no commit of the plane. The one secret that has to be readable, the
key that signs, is made when it is first needed.
"""

from __future__ import annotations

import secrets as randomness
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa

from forewarn.core.world import AuditEntry
from forewarn.store.codec import Codec, micros
from forewarn.store.sql import Transaction
from forewarn.store.tables import credentials, deeds, secrets

_SIGNING_KEY = "signing key"
_KEY_BYTES = 64


class CredentialKind(StrEnum):
    """How one signs in with it."""

    TOKEN = "token"  # noqa: S105 - a word, not a secret
    PRINCIPAL = "principal"


@dataclass(frozen=True, slots=True)
class Credential:
    """Somebody who may sign in, or might once."""

    id: str  # of a principal, its client id
    kind: CredentialKind
    name: str
    role: str
    digest: str  # SHA-256 of the token or of the client secret, in hexadecimal digits
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str | None = None

    def has_expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now

    def is_in_force(self, now: datetime) -> bool:
        """Whether one may sign in with it."""
        return self.revoked_at is None and not self.has_expired(now)


_CREDENTIALS = Codec(Credential)
_DEEDS = Codec(AuditEntry)


def read(transaction: Transaction) -> list[Credential]:
    """All there are and were, by name, the older ones of a name first."""
    order = (credentials.c.name, credentials.c.created_at, credentials.c.id)
    rows = transaction.connection.execute(sa.select(credentials).order_by(*order))
    return [_CREDENTIALS.decode(row) for row in rows]


def add(transaction: Transaction, credential: Credential, deed: AuditEntry) -> None:
    """Keep a new one, and who made it."""
    row = dict(zip(_CREDENTIALS.columns, _CREDENTIALS.encode(credential), strict=True))
    transaction.connection.execute(credentials.insert().values(row))
    _write_deed(transaction, deed)


def revoke(transaction: Transaction, credential: str, at: datetime, deed: AuditEntry) -> None:
    """Put one out of force, and keep who did it."""
    transaction.connection.execute(
        credentials.update()
        .where(credentials.c.id == credential)
        .values(revoked_at=micros(at), revoked_by=deed.actor)
    )
    _write_deed(transaction, deed)


def note_uses(transaction: Transaction, last: Mapping[str, datetime]) -> None:
    """Write down when each of them was last used."""
    for credential, at in last.items():
        transaction.connection.execute(
            credentials.update().where(credentials.c.id == credential).values(last_used_at=micros(at))
        )


def _write_deed(transaction: Transaction, deed: AuditEntry) -> None:
    row = dict(zip(_DEEDS.columns, _DEEDS.encode(deed), strict=True))
    transaction.connection.execute(deeds.insert().values(row))


def signing_key(transaction: Transaction) -> bytes | None:
    """The key that signs, if there was ever need of one."""
    found = transaction.connection.execute(
        sa.select(secrets.c.value).where(secrets.c.name == _SIGNING_KEY)
    ).scalar()
    return None if found is None else bytes.fromhex(found)


def make_signing_key(transaction: Transaction) -> None:
    """See to it that there is a key that signs."""
    if signing_key(transaction) is None:
        value = randomness.token_hex(_KEY_BYTES)
        transaction.connection.execute(secrets.insert().values(name=_SIGNING_KEY, value=value))

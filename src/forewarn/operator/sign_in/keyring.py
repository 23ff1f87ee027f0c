"""All credentials in memory, so that a call is checked without a query.

Read on the listeners' loop, replaced on the plane's thread: what is read is one value that nobody changes.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256

from forewarn.store.credentials import Credential, CredentialKind

_NOBODY = "0" * 64  # compared with where there is nobody, so that this takes as long


def digest_of(secret: str) -> str:
    """What is kept of a token or a client secret: enough to know it again, too little to make it."""
    return sha256(secret.encode()).hexdigest()


def is_digest_of(digest: str, secret: str) -> bool:
    """Whether the secret is the one; takes as long for a near miss as for any other."""
    return hmac.compare_digest(digest, digest_of(secret))


@dataclass(frozen=True, slots=True)
class _Held:
    everyone: tuple[Credential, ...] = ()
    tokens: dict[str, Credential] = field(default_factory=dict)  # by digest
    by_id: dict[str, Credential] = field(default_factory=dict)
    signing_key: bytes | None = None


class Keyring:
    """Who may sign in, and the key that signs."""

    def __init__(self) -> None:
        self._held = _Held()

    def hold(self, credentials: Iterable[Credential], signing_key: bytes | None) -> None:
        """From now on these, and no others."""
        everyone = tuple(credentials)
        self._held = _Held(
            everyone,
            {each.digest: each for each in everyone if each.kind is CredentialKind.TOKEN},
            {each.id: each for each in everyone},
            signing_key,
        )

    @property
    def is_empty(self) -> bool:
        """Whether nobody was ever given a credential; one that was revoked counts."""
        return not self._held.everyone

    @property
    def everyone(self) -> tuple[Credential, ...]:
        """All credentials, those out of force too."""
        return self._held.everyone

    @property
    def signing_key(self) -> bytes | None:
        """The key that signs, if there is one."""
        return self._held.signing_key

    def token(self, text: str) -> Credential | None:
        """Whose token it is, in force or not."""
        found = self._held.tokens.get(digest_of(text))
        return found if is_digest_of(found.digest if found else _NOBODY, text) else None

    def principal(self, client: str) -> Credential | None:
        """The principal with that client id, in force or not."""
        found = self.find(client)
        return found if found and found.kind is CredentialKind.PRINCIPAL else None

    def principal_with(self, client: str, secret: str) -> Credential | None:
        """The principal with that client id, if the secret is its own; in force or not."""
        found = self.principal(client)
        return found if is_digest_of(found.digest if found else _NOBODY, secret) else None

    def find(self, credential: str) -> Credential | None:
        """The credential with that id."""
        return self._held.by_id.get(credential)

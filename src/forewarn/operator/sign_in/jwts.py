"""Signed tokens that expire: what a principal is given for its client id and secret.

The library that signs is imported when the first one is made or shown, and not before.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

LIFETIME = timedelta(hours=1)
_ALGORITHM = "HS256"
_NEEDED = ("aud", "exp", "iat", "iss", "jti", "nbf", "sub", "tid")


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a credential is no good; only what nobody was ever given counts as a guess."""

    reason: str
    is_guess: bool = False


def sign(key: bytes, *, client: str, role: str, audience: str, issuer: str, tenant: str, now: datetime) -> str:
    """A token for this client, to be shown to this audience."""
    import jwt  # noqa: PLC0415 - it brings cryptography along

    issued_at = int(now.timestamp())
    claims = {
        "iss": issuer,
        "aud": audience,
        "sub": client,
        "oid": client,
        "appid": client,
        "tid": tenant,
        "iat": issued_at,
        "nbf": issued_at,
        "exp": issued_at + int(LIFETIME.total_seconds()),
        "roles": [role],
        "jti": str(uuid.uuid4()),
    }
    return jwt.encode(claims, key, algorithm=_ALGORITHM)


def client_of(text: str, key: bytes, *, audience: str, tenant: str) -> str | Unfit:
    """The client that the token was made for, or why it is no good here and now."""
    import jwt  # noqa: PLC0415 - it brings cryptography along

    try:
        claims = jwt.decode(
            text, key, algorithms=[_ALGORITHM], audience=audience, options={"require": list(_NEEDED)}
        )
    except jwt.ExpiredSignatureError:
        return Unfit("The token has expired.")
    except jwt.InvalidAudienceError:
        return Unfit(f"The token is for another service than {audience}.")
    except jwt.PyJWTError:
        return Unfit("The token was not made here, or was changed.", is_guess=True)
    if claims["tid"] != tenant:
        return Unfit(f"The token is for another tenant than {tenant}.")
    return str(claims["sub"])

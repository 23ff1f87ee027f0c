"""How a request to a webhook is signed: with HMAC-SHA256, over the time of the request and its body.

The time is in it so that who has overheard a request cannot send it again later.
"""

from __future__ import annotations

import hashlib
import hmac

HEADER = "Forewarn-Signature"
ID_HEADER = "Forewarn-Id"  # the id in the body, for who wants to drop repeats without reading it


def sign(secret: str, seconds: int, body: bytes) -> str:
    """The value of the header: when it was signed, in seconds since 1970, and what the secret makes of it."""
    signed = b"%d.%s" % (seconds, body)
    return f"t={seconds},v1={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"

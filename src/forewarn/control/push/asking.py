"""What may be asked for as a webhook."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from urllib.parse import urlsplit

from forewarn.core.refusal import Code, Refusal
from forewarn.core.terms import Kind
from forewarn.store.webhooks import Format

LEAST_SECRET = 16
MOST_SECRET = 256
_LONGEST_URL = 2000
_LIKE_THIS = "Write it like https://receiver.example/hook."


@dataclass(frozen=True, slots=True)
class WebhookWish:
    """A webhook that is asked for."""

    url: str
    format: Format = Format.CLOUDEVENTS
    secret: str | None = None  # None: the service makes one
    kinds: tuple[Kind, ...] = ()
    scopes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "<Wanted webhook>"


def judge(wanted: WebhookWish, scopes: Container[str]) -> Refusal | None:
    """Whether there may be such a webhook."""
    unknown = [scope for scope in wanted.scopes if scope not in scopes]
    if unknown:
        return Refusal(Code.NOT_FOUND, f"There is no scope {unknown[0]}.", "forewarn scope list")
    return _judge_url(wanted.url) or _judge_secret(wanted.secret)


def _judge_url(url: str) -> Refusal | None:
    """No word of an address that may hold a password is repeated."""
    if not url or len(url) > _LONGEST_URL or not all("!" <= each <= "~" for each in url):
        return _refuse(f"The address is no address: {_why_no_text(url)}.", _LIKE_THIS)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return _refuse("The address is no address: its host or its port makes no sense.", _LIKE_THIS)
    if "@" in parts.netloc:
        return _refuse(
            f"The address of {host} holds a user's name; a webhook cannot sign in with one.",
            "Leave it out; the receiver knows us by the signature of each request.",
        )
    if parts.scheme not in {"http", "https"}:
        return _refuse("A webhook is told over http or https, and the address begins otherwise.", _LIKE_THIS)
    if not host or port == 0:
        return _refuse("The address names no host, or a port that there is not.", _LIKE_THIS)
    if "#" in url:
        return _refuse(f"The address at {host} ends in a fragment (#...), which is never sent.", "Leave it out.")
    return None


def _why_no_text(url: str) -> str:
    if len(url) > _LONGEST_URL:
        return f"it has {len(url)} characters, and {_LONGEST_URL} are allowed"
    return "it is empty" if not url else "it holds blanks or letters that have to be written as %XX or xn--"


def _judge_secret(secret: str | None) -> Refusal | None:
    if secret is None:
        return None
    if not LEAST_SECRET <= len(secret) <= MOST_SECRET or not all("!" <= each <= "~" for each in secret):
        return _refuse(
            f"The secret cannot be used: it has to be {LEAST_SECRET} to {MOST_SECRET} letters, digits and signs.",
            "Leave it out, and the service makes one.",
        )
    return None


def _refuse(message: str, hint: str) -> Refusal:
    return Refusal(Code.BAD_REQUEST, message, hint)

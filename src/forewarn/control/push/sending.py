"""One request to one webhook, over HTTP, and how it ended."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from forewarn.control.http_call import HttpCall


class WebhookReply(NamedTuple):
    """How it ended: nothing to complain of, or why it did not arrive."""

    problem: str = ""
    retry_seconds: float = 0.0  # how long the receiver wants to be left alone
    status: int | None = None  # that the receiver answered with


class Sender(Protocol):
    """What a worker sends with; one request at a time."""

    def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> WebhookReply:
        """Post the body there."""

    def cut(self) -> None:
        """End a request that is under way, from another thread, and let there be no other."""


class HttpSender:
    """Sends with a connection for each request."""

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout = timeout_seconds
        self._call: HttpCall | None = None
        self._trust: ssl.SSLContext | None = None  # made when it is first needed
        self._is_cut = False

    def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> WebhookReply:
        """Post the body there; every answer but 2xx is a failure."""
        if url.startswith("https:"):
            self._trust = self._trust or ssl.create_default_context()
        try:
            self._call = HttpCall(url, self._timeout, self._trust)
            if self._is_cut:
                return WebhookReply("was not tried: the service is stopping")
            answer = self._call.make("POST", body, headers)
        except TimeoutError:
            return WebhookReply(f"did not answer within {self._timeout:g} s")
        except (OSError, http.client.HTTPException, ValueError) as problem:
            return WebhookReply(_in_words(problem))
        finally:
            self._call = None
        if 200 <= answer.status < 300:  # noqa: PLR2004 - the statuses of success
            return WebhookReply(status=answer.status)
        pause = _retry_seconds(answer.getheader("Retry-After"))
        return WebhookReply(f"answered {answer.status}", pause, answer.status)

    def cut(self) -> None:
        """End a request that is under way, from another thread, and let there be no other."""
        self._is_cut = True
        call = self._call
        if call is not None:
            call.cut()


def _retry_seconds(text: str | None) -> float:
    """What `Retry-After` asks for, where it says it in seconds."""
    return float(text) if text is not None and text.isascii() and text.isdecimal() else 0.0


def _in_words(problem: Exception) -> str:
    """Why nobody was reached; never a word of what was sent."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"has a certificate that cannot be trusted: {problem.verify_message.rstrip('.')}"
    if isinstance(problem, ssl.SSLError):
        return f"does not speak TLS with us: {(problem.reason or 'handshake').replace('_', ' ').lower()}"
    if isinstance(problem, http.client.RemoteDisconnected):
        return "hung up without an answer"
    if isinstance(problem, OSError) and problem.strerror:
        return f"could not be reached: {problem.strerror}"
    return f"gave no answer that is HTTP: {type(problem).__name__}"

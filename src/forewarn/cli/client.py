"""The service as the command line sees it: JSON over HTTP, refusals and silence told apart.

A token comes from the environment or from a file, never from an argument, which everybody on the machine can read;
and it is in no sentence that is printed.
"""

from __future__ import annotations

import codecs
import http.client
import json
import os
import re
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from forewarn.cli.private_file import read_private
from forewarn.errors import ForewarnError

DEFAULT_URL = "http://127.0.0.1:8255"
_TIMEOUT_SECONDS = 600.0  # an advance of the clock answers when all that was due has been done
_CONNECT_SECONDS = 5.0
_PIECE_BYTES = 64 * 1024
_TOKEN = re.compile(r"[!-~]+")


class Refused(ForewarnError):
    """The service said no."""


class Unreachable(ForewarnError):
    """Nobody answers."""


class Client:
    """Calls one service."""

    def __init__(
        self, url: str | None = None, token_file: Path | None = None, ca_file: Path | None = None
    ) -> None:
        given = url or os.environ.get("FOREWARN_URL") or DEFAULT_URL
        self.url = given.rstrip("/")
        self._host, self._port, is_https = _place_of(given)
        self._tls = _trusting(ca_file) if is_https else None
        self._token = _read_token(token_file)

    def get(self, path: str, **query: object) -> Any:  # noqa: ANN401 - whatever JSON holds
        """What is at the path."""
        return self._call("GET", path, None, query)

    def post(self, path: str, body: object = None, **query: object) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Ask for something."""
        return self._call("POST", path, body if body is not None else {}, query)

    def put(self, path: str, body: object, **query: object) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Put something in place."""
        return self._call("PUT", path, body, query)

    def delete(self, path: str) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Take something away."""
        return self._call("DELETE", path, None, {})

    def all(self, path: str, name: str, **query: object) -> list[Any]:
        """All pages of a list."""
        found: list[Any] = []
        after: str | None = None
        while True:
            page = self.get(path, **query, after=after)
            found += page[name]
            after = page["next"]
            if after is None:
                return found

    def text(self, path: str, **query: object) -> Iterator[str]:
        """What is at the path and is no JSON, as it comes."""
        connection, answer = self._send("GET", _with_query(path, query), None)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while piece := answer.read1(_PIECE_BYTES):
                yield decoder.decode(piece)
            answer.read()  # raises where the rest is missing
            yield decoder.decode(b"", final=True)
        except (OSError, http.client.HTTPException, UnicodeDecodeError):
            raise Unreachable(f"The service at {self.url} broke off half way.", "Try again.") from None
        finally:
            connection.close()

    def gone_away(self, again: str) -> Unreachable:
        """What to raise when a service that was followed is there no more; `again` is how to go on."""
        return Unreachable(f"The service at {self.url} has ended the stream.", f"Once it is back: {again}")

    def stream(self) -> Iterator[tuple[str, Any]]:
        """Everything that changes: `listening` once nothing can be missed, then names and objects, to the end.

        A `heartbeat` now and then says that nothing has.
        """
        connection, answer = self._send("GET", "/v1/stream", None)
        try:
            yield "listening", None
            name, data = "", ""
            for raw in answer:
                line = raw.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    data = line.removeprefix("data: ")
                elif not line and name:
                    yield name, json.loads(data)
                    name = ""
                elif line.startswith(":"):
                    yield "heartbeat", None
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()

    def _call(self, method: str, path: str, body: object, query: dict[str, object]) -> Any:  # noqa: ANN401 - JSON
        connection, answer = self._send(method, _with_query(path, query), body)
        try:
            raw = answer.read()
        except (OSError, http.client.HTTPException) as problem:
            raise self._unreachable(problem) from None
        finally:
            connection.close()
        try:
            return json.loads(raw)
        except ValueError:
            raise _no_forewarn(self.url, "its answer is not JSON") from None

    def _send(
        self, method: str, path: str, body: object
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = self._connection()
        data = None if body is None else json.dumps(body).encode()
        headers = {} if data is None else {"Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            connection.connect()
            connection.sock.settimeout(_TIMEOUT_SECONDS)
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException, UnicodeError) as problem:
            connection.close()
            raise self._unreachable(problem) from None
        if answer.status >= 300:
            raw = answer.read()
            connection.close()
            raise _refusal(answer.status, raw, self.url)
        return connection, answer

    def _connection(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=_CONNECT_SECONDS)
        return http.client.HTTPSConnection(self._host, self._port, timeout=_CONNECT_SECONDS, context=self._tls)

    def _unreachable(self, problem: Exception) -> Unreachable:
        if isinstance(problem, ssl.SSLCertVerificationError):
            return Unreachable(
                f"The certificate of {self.url} cannot be trusted: {problem.verify_message.rstrip('.')}.",
                "Name the authority that vouches for it with --ca-file or FOREWARN_CA_FILE "
                "(ca.pem of forewarn tls init).",
            )
        if isinstance(problem, ssl.SSLError):
            why = (problem.reason or "the handshake failed").replace("_", " ").lower()
            return Unreachable(
                f"What answers at {self.url} does not speak TLS with us: {why}.", "Check --url: is it http://?"
            )
        reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        hint = "Start one with forewarn serve, or name another with --url or FOREWARN_URL."
        if self._tls is None and isinstance(problem, ConnectionResetError):  # what a listener with TLS does
            hint = "If it speaks TLS, call it as https://; otherwise see its log."
        return Unreachable(f"No service answers at {self.url}: {reason}.", hint)


def _refusal(status: int, raw: bytes, url: str) -> ForewarnError:
    try:
        error = json.loads(raw)["error"]
        return Refused(error["message"], error.get("hint", ""))
    except (ValueError, KeyError, TypeError):
        return _no_forewarn(url, f"status {status}")


def _no_forewarn(url: str, why: str) -> Unreachable:
    return Unreachable(f"What answers at {url} is no forewarn service: {why}.", "Check --url and FOREWARN_URL.")


def _place_of(url: str) -> tuple[str, int, bool]:
    """The host and the port in an address, and whether TLS is spoken there."""
    if "@" in url:  # and whatever stands there is not repeated
        raise ForewarnError(
            "The address of the service holds a user's name.", "Sign in with FOREWARN_TOKEN or --token-file."
        )
    with suppress(ValueError):  # a port that is no number, a bracket that is left open
        parts = urlsplit(url)
        if parts.scheme in {"http", "https"} and parts.hostname:
            is_https = parts.scheme == "https"
            return parts.hostname, parts.port or (443 if is_https else 80), is_https
    raise ForewarnError(f"{url!r} is no address of a service.", f"Write it like {DEFAULT_URL}.")


def _trusting(ca_file: Path | None) -> ssl.SSLContext:
    """Trust in this authority alone; without one, in those that the system or SSL_CERT_FILE names."""
    file = ca_file or os.environ.get("FOREWARN_CA_FILE") or None
    try:
        return ssl.create_default_context(cafile=file)
    except ssl.SSLError:
        raise ForewarnError(f"{file} holds no certificate in PEM.", "Name ca.pem of forewarn tls init.") from None
    except OSError as problem:
        raise ForewarnError(
            f"{file} cannot be read: {problem.strerror}.", "Name another with --ca-file."
        ) from None


def _read_token(file: Path | None) -> str | None:
    """The token to sign in with, if there is one."""
    if file is None:
        return _checked(os.environ.get("FOREWARN_TOKEN", ""), "FOREWARN_TOKEN", is_needed=False)
    text = read_private(file, what="a token", option="--token-file")
    return _checked("not a token" if text is None else text, str(file), is_needed=True)


def _checked(text: str, where: str, *, is_needed: bool) -> str | None:
    token = text.strip()
    if not token and not is_needed:
        return None
    if not _TOKEN.fullmatch(token):
        raise ForewarnError(f"{where} holds no token.", "It is one word, as forewarn token create printed it.")
    return token


def _with_query(path: str, query: dict[str, object]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given, errors='surrogateescape')}" if given else path


def in_path(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="/", errors="surrogateescape")

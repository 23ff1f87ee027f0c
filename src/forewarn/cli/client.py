"""The service as the command line sees it: JSON over HTTP, refusals and silence told apart."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from forewarn.errors import ForewarnError

DEFAULT_URL = "http://127.0.0.1:8255"
_TIMEOUT_SECONDS = 600.0  # an advance of the clock answers when all that was due has been done
_CONNECT_SECONDS = 5.0


class Refused(ForewarnError):
    """The service said no."""


class Unreachable(ForewarnError):
    """Nobody answers."""


class Client:
    """Calls one service."""

    def __init__(self, url: str | None = None) -> None:
        given = url or os.environ.get("FOREWARN_URL") or DEFAULT_URL
        self.url = given.rstrip("/")
        self._host, self._port = _place_of(given)

    def get(self, path: str, **query: object) -> Any:  # noqa: ANN401 - whatever JSON holds
        """What is at the path."""
        return self._call("GET", path, None, query)

    def post(self, path: str, body: object = None) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Ask for something."""
        return self._call("POST", path, body if body is not None else {}, {})

    def put(self, path: str, body: object) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Put something in place."""
        return self._call("PUT", path, body, {})

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

    def stream(self) -> Iterator[tuple[str, Any]]:
        """Everything that changes: `listening` once nothing can be missed, then names and objects, to the end."""
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
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()

    def _call(self, method: str, path: str, body: object, query: dict[str, object]) -> Any:  # noqa: ANN401 - JSON
        given = {name: value for name, value in query.items() if value is not None}
        if given:
            path += "?" + urlencode(given, errors="surrogateescape")
        connection, answer = self._send(method, path, body)
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
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_CONNECT_SECONDS)
        data = None if body is None else json.dumps(body).encode()
        headers = {} if data is None else {"Content-Type": "application/json"}
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

    def _unreachable(self, problem: Exception) -> Unreachable:
        reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        return Unreachable(
            f"No service answers at {self.url}: {reason}.",
            "Start one with forewarn serve, or name another with --url or FOREWARN_URL.",
        )


def _refusal(status: int, raw: bytes, url: str) -> ForewarnError:
    try:
        error = json.loads(raw)["error"]
        return Refused(error["message"], error.get("hint", ""))
    except (ValueError, KeyError, TypeError):
        return _no_forewarn(url, f"status {status}")


def _no_forewarn(url: str, why: str) -> Unreachable:
    return Unreachable(f"What answers at {url} is no forewarn service: {why}.", "Check --url and FOREWARN_URL.")


def _place_of(url: str) -> tuple[str, int]:
    """The host and the port in an address."""
    with suppress(ValueError):  # a port that is no number, a bracket that is left open
        parts = urlsplit(url)
        if parts.scheme == "http" and parts.hostname:
            return parts.hostname, parts.port or 80
    raise ForewarnError(f"{url!r} is no address of a service.", f"Write it like {DEFAULT_URL}.")


def in_path(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="/", errors="surrogateescape")

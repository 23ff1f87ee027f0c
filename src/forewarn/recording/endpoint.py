"""Read the document of an endpoint: its bytes, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn import __version__
from forewarn.agent.endpoints import Root, read_root
from forewarn.agent.events import Unreadable, read_document
from forewarn.agent.http1 import Connection, ExchangeFailed, Request, Response
from forewarn.errors import UsageProblem
from forewarn.wire.imds.request import EVENTS_PATH, INSTANCE_PATH
from forewarn.wire.imds.versions import EVENTS_VERSIONS

_HEADERS = {"Metadata": "true", "User-Agent": f"forewarn-record/{__version__}", "Accept": "application/json"}
_INSTANCE_VERSION = "2017-08-01"
_FIRST_SECONDS = 130.0  # the first call may take two minutes
_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
_LONGEST_NAME = 128
_OK = 200


@dataclass(frozen=True, slots=True)
class EndpointFailure:
    """Why there is no document."""

    error: str  # unreachable, timeout, unreadable, or the status
    message: str
    status: int | None = None


class RecordedEndpoint:
    """The endpoint to record, in one api-version."""

    def __init__(self, endpoint: str, api_version: str) -> None:
        if api_version not in EVENTS_VERSIONS:
            raise UsageProblem(
                f"There is no api-version {api_version}.", f"Use one of {', '.join(EVENTS_VERSIONS)}."
            )
        self.api_version = api_version
        self._root = _root(endpoint)
        self._connection = Connection(self._root.address, connect_seconds=_CONNECT_SECONDS)
        self._has_answered = False

    @property
    def endpoint(self) -> str:
        """The URL of the endpoint."""
        return self._root.text

    def get(self) -> bytes | EndpointFailure:
        """The bytes of the document, or why there are none."""
        answer = self._ask(
            f"{EVENTS_PATH}?api-version={self.api_version}", _SECONDS if self._has_answered else _FIRST_SECONDS
        )
        if isinstance(answer, EndpointFailure):
            return answer
        self._has_answered = True
        if answer.status != _OK:
            return EndpointFailure(f"status {answer.status}", _beginning(answer.body), answer.status)
        try:
            answer.body.decode("utf-8")
            read_document(answer.body)
        except (Unreadable, UnicodeDecodeError) as problem:
            return EndpointFailure("unreadable", str(problem), answer.status)
        return answer.body

    def name(self) -> str:
        """The name of this VM; empty if the endpoint has none."""
        target = f"{INSTANCE_PATH}/compute/name?api-version={_INSTANCE_VERSION}&format=text"
        answer = self._ask(target, _SECONDS)
        if isinstance(answer, EndpointFailure) or answer.status != _OK or len(answer.body) > _LONGEST_NAME:
            return ""
        name = answer.body.decode("utf-8", "replace").strip()
        return name if name.isprintable() else ""

    def _ask(self, target: str, seconds: float) -> Response | EndpointFailure:
        try:
            return self._connection.exchange(Request("GET", self._root.prefix + target, _HEADERS), seconds)
        except ExchangeFailed as problem:
            return EndpointFailure(problem.kind, problem.message)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _root(endpoint: str) -> Root:
    try:
        return read_root(endpoint)
    except ValueError as problem:
        raise UsageProblem(str(problem), "Write it like http://169.254.169.254.") from None


def _beginning(body: bytes) -> str:
    return " ".join(body[:200].decode("utf-8", "replace").split())

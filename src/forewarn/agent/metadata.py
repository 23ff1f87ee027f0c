"""Asking the endpoint: the document, an approval, this VM's name.

The one rule: whatever is not an answer is an `EndpointError`, never an empty document.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from forewarn import __version__
from forewarn.agent.compat import dataclass
from forewarn.agent.endpoints import Endpoints, Root
from forewarn.agent.events import Document, Unreadable, read_document, read_instant
from forewarn.agent.http1 import Connection, ExchangeFailed, Request, Response, Waiter, exchange
from forewarn.agent.settings import Settings
from forewarn.agent.sites import Site, Sites

_EVENTS = "/metadata/scheduledevents"
_COMPUTE_NAME = "/metadata/instance/compute/name"
_INSTANCE_VERSIONS = ("2021-02-01", "2019-08-01", "2017-08-01")
_NAME = re.compile(r"[\w.()-]{1,128}")
_HEADERS = {"Metadata": "true", "User-Agent": f"forewarn-agent/{__version__}", "Accept": "application/json"}
_FIRST_AGAIN_SECONDS = 2.0  # how long an endpoint that was left may take: meanwhile nobody else is asked
_SAME = 304
_BAD_REQUEST = 400
_KINDS = {
    400: "bad_request",
    401: "forbidden",
    403: "forbidden",
    404: "not_found",
    405: "not_allowed",
    408: "timeout",
    410: "gone",
    429: "throttled",
}


class EndpointError(Exception):
    """No answer that could be used.

    The kind is one of bad_request, forbidden, not_found, not_allowed, gone, throttled, server_error, redirected,
    timeout, unreachable, unreadable and unexpected; the message is a sentence.
    """

    def __init__(
        self, kind: str, status: int | None, message: str, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.message = message
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question for the document."""

    document: Document | None  # None: the same as last time
    server_date: datetime | None
    has_tag: bool = False  # whether the next question may be "is there something else now?"
    endpoint: str = ""
    api_version: str = ""


class Metadata:
    """The endpoint. `get` is for one thread, the others for any."""

    def __init__(
        self, endpoints: Endpoints, settings: Settings, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._sites = Sites(endpoints, settings, timer)

    @property
    def endpoint(self) -> str:
        """The endpoint that is asked now."""
        return self._sites.current.root.text

    @property
    def endpoints(self) -> tuple[str, ...]:
        """All endpoints that are asked in turn."""
        return self._sites.texts

    @property
    def api_version(self) -> str:
        """The version in which it is asked."""
        return self._sites.current.version

    def get(self, wait_seconds: float = 0, *, is_conditional: bool = True, waiter: Waiter | None = None) -> Answer:
        """The document; or that it is the same, if that may be the answer, for which the endpoint may wait."""
        if (answer := self._ask_first_again(waiter)) is not None:
            return answer
        site = self._sites.current
        site.look_for_newer()
        try:
            response, was_conditional = self._ask_for_events(
                site, wait_seconds, is_conditional=is_conditional, waiter=waiter
            )
            answer = _answer(site, response, was_conditional=was_conditional)
        except EndpointError:
            site.forget_tag()
            self._sites.note_failure()
            raise
        self._sites.note_success()
        return answer

    def _ask_first_again(self, waiter: Waiter | None) -> Answer | None:
        """What the first endpoint says, where another is asked in its place and it is time to see; or nothing."""
        site = self._sites.first_again()
        if site is None:
            return None
        try:
            response, _ = self._ask_for_events(
                site, 0, is_conditional=False, waiter=waiter, patience=_FIRST_AGAIN_SECONDS
            )
            answer = _answer(site, response, was_conditional=False)
        except EndpointError:
            site.connection.close()
            return None
        self._sites.go_back_to(site)
        return answer

    def approve(self, event_id: str) -> None:
        """Say that the event may start; returns when the endpoint has taken it."""
        site = self._sites.last_good
        body = json.dumps({"StartRequests": [{"EventId": event_id}]}).encode()
        headers = _HEADERS | {"Content-Type": "application/json"}
        request = Request("POST", _target(site.root, _EVENTS, site.version), headers, body)
        response = self._exchange(site.root, request)
        if response.status not in range(200, 300):
            raise _refusal(site.root, response)
        if response.body.lstrip().startswith(b"<"):
            message = f"{site.root.text} answered an approval with a page: a proxy or a portal stands in between."
            raise EndpointError("unreadable", response.status, message)

    def compute_name(self) -> str:
        """The name of this VM, as events write it."""
        root = self._sites.last_good.root
        response = Response(_BAD_REQUEST, {}, b"")
        for version in _INSTANCE_VERSIONS:
            target = _target(root, _COMPUTE_NAME, version) + "&format=text"
            response = self._exchange(root, Request("GET", target, _HEADERS))
            if response.status != _BAD_REQUEST:
                break
        if response.status != 200:  # noqa: PLR2004 - that it is there
            raise _refusal(root, response)
        name = response.body.decode("utf-8", "replace").strip().strip('"')
        if not _NAME.fullmatch(name):
            raise EndpointError("unreadable", 200, f"{root.text} says {name[:80]!r}, which is no name of a VM.")
        return name

    def close(self) -> None:
        """Let go of the connections."""
        self._sites.close()

    def _ask_for_events(
        self,
        site: Site,
        wait_seconds: float,
        *,
        is_conditional: bool,
        waiter: Waiter | None,
        patience: float | None = None,
    ) -> tuple[Response, bool]:
        """The answer in the newest version that the endpoint takes, and whether "the same" may be the answer."""
        while True:  # each turn steps down by a version, of which there are seven
            headers = dict(_HEADERS)
            seconds = site.patience() if patience is None else patience
            if is_conditional and site.tag:
                headers["If-None-Match"] = site.tag
                if wait_seconds >= 1:
                    headers["Prefer"] = f"wait={int(wait_seconds)}"
                    seconds += wait_seconds
            request = Request("GET", _target(site.root, _EVENTS, site.version), headers)
            response = self._exchange(site.root, request, site.connection, seconds, waiter)
            if response.status != _BAD_REQUEST or not site.steps_down():
                return response, "If-None-Match" in headers

    def _exchange(
        self,
        root: Root,
        request: Request,
        connection: Connection | None = None,
        seconds: float | None = None,
        waiter: Waiter | None = None,
    ) -> Response:
        seconds = self._settings.timeout_seconds if seconds is None else seconds
        try:
            if connection is None:
                return exchange(root.address, request, seconds)
            return connection.exchange(request, seconds, waiter=waiter)
        except ExchangeFailed as problem:
            message = f"{root.text} gave no answer to {request.method} {request.path}. {problem.message}"
            raise EndpointError(problem.kind, None, message) from problem


def _target(root: Root, path: str, version: str) -> str:
    return f"{root.prefix}{path}?api-version={version}"


def _answer(site: Site, response: Response, *, was_conditional: bool) -> Answer:
    document = None
    if response.status == _SAME and was_conditional:
        pass
    elif response.status != 200:  # noqa: PLR2004 - that there is a document
        raise _refusal(site.root, response)
    else:
        try:
            document = read_document(response.body)
        except Unreadable as problem:
            message = f"{site.root.text} answered 200 without a document. {problem}"
            raise EndpointError("unreadable", 200, message) from problem
        site.note_document(response.headers.get("etag", ""), has_events=bool(document.events))
    date = read_instant(response.headers.get("date", ""))
    return Answer(document, date, bool(site.tag), site.root.text, site.version)


def _refusal(root: Root, response: Response) -> EndpointError:
    """What a status other than success means."""
    status = response.status
    said = _beginning(response.body)
    message = f"{root.text} answered {status}" + (f": {said}" if said else "") + "."
    if 300 <= status < 400 and status != _SAME:  # noqa: PLR2004 - the class of statuses
        where = response.headers.get("location", "elsewhere")[:200]
        message = f"{root.text} redirects to {where}. That is not followed: a proxy or a portal stands in between."
        return EndpointError("redirected", status, message)
    kind = _KINDS.get(status, "server_error" if status >= 500 else "unexpected")  # noqa: PLR2004 - the same
    return EndpointError(kind, status, message, _retry_after(response))


def _retry_after(response: Response) -> float | None:
    said = response.headers.get("retry-after", "")
    return float(said) if said.isascii() and said.isdecimal() and len(said) < 6 else None  # noqa: PLR2004 - a day


def _beginning(body: bytes) -> str:
    """The sentence of an error, or how the body begins."""
    text = body.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        said = json.loads(body)
        text = str(said["error"]) if isinstance(said, dict) and "error" in said else text
    text = " ".join(text.split()).rstrip(".")
    return text[:120] + ("…" if len(text) > 120 else "")  # noqa: PLR2004 - a line's worth

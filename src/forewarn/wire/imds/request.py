"""What a guest's request asks for, and what is wrong with it.

The order of judgement is fixed, and only the first objection is answered: Origin, Host, X-Forwarded-For, path,
header, duplicate parameters, api-version, method, body. Who is calling, and how often, has been judged before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

import msgspec

from forewarn.wire.http import Answer
from forewarn.wire.imds import errors
from forewarn.wire.imds.compute import FIRST_VERSION
from forewarn.wire.imds.hosts import LocalHosts
from forewarn.wire.imds.versions import (
    EVENTS_VERSIONS,
    NEWEST_EVENTS_VERSIONS,
    NEWEST_INSTANCE_VERSIONS,
    EventsVersion,
    is_instance_version,
)

EVENTS_PATH = "/metadata/scheduledevents"
INSTANCE_PATH = "/metadata/instance"
VERSIONS_PATH = "/metadata/versions"
TOKEN_PATH = "/metadata/identity/oauth2/token"  # noqa: S105 - a path
LONGEST_WAIT_SECONDS = 120
_WITHOUT_HOST = frozenset({"0.9", "1.0"})  # versions of HTTP
_PATHS = frozenset({EVENTS_PATH, INSTANCE_PATH, VERSIONS_PATH, TOKEN_PATH})


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request: header names in lower case, as they came otherwise."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    http_version: str = "1.1"

    def header(self, name: str) -> str | None:
        """The value of a header; several of one name are joined as HTTP says."""
        values = [value for key, value in self.headers if key == name]
        return ", ".join(values) if values else None


@dataclass(frozen=True, slots=True)
class ReadEvents:
    """A GET of the document."""

    version: EventsVersion
    if_none_match: str | None = None
    wait_seconds: int = 0


@dataclass(frozen=True, slots=True)
class ApproveEvents:
    """A POST of StartRequests."""

    event_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadInstance:
    """A GET of the instance's metadata, or of a part of it."""

    path: tuple[str, ...]
    as_text: bool
    version: str
    is_extended: bool = False  # the part that only provisioning agents ask for, too


@dataclass(frozen=True, slots=True)
class ReadVersions:
    """A GET of the list of api-versions."""


Wish = ReadEvents | ApproveEvents | ReadInstance | ReadVersions


def judge(request: Request, hosts: LocalHosts | None = None) -> Wish | Answer:
    """What the request asks for, or the answer that refuses it; with `hosts`, only they may be in its Host."""
    if refusal := _refuse_sender(request, hosts):
        return refusal
    path, parameters = _split(request.target)
    if path not in _PATHS and not path.startswith(INSTANCE_PATH + "/"):
        return errors.NOT_FOUND
    query = {name.lower(): value for name, value in parameters}
    version = query.get("api-version", "")
    if not _has_metadata_header(request, path, version):
        return errors.NO_IDENTITY_HEADER if path == TOKEN_PATH else errors.NO_HEADER
    if len(query) != len(parameters):
        return errors.DUPLICATE_PARAMETER
    if path == EVENTS_PATH:
        return _judge_events(request, version)
    if path.startswith(INSTANCE_PATH) and not is_instance_version(version):
        return errors.bad_version(NEWEST_INSTANCE_VERSIONS)
    if request.method != "GET":
        return errors.wrong_method("GET")
    if path == VERSIONS_PATH:
        return ReadVersions()
    if path == TOKEN_PATH:
        return errors.NO_IDENTITY
    leaf = tuple(part for part in path.removeprefix(INSTANCE_PATH).split("/") if part)
    return ReadInstance(
        leaf,
        as_text=query.get("format", "").lower() == "text",
        version=max(version, FIRST_VERSION),
        is_extended=query.get("extended", "").lower() == "true",
    )


def _refuse_sender(request: Request, hosts: LocalHosts | None) -> Answer | None:
    """A refusal of web pages and of proxies."""
    if request.header("origin") is not None:  # browsers send it with every POST
        return errors.ORIGIN
    if hosts is not None and not _names_only(request, hosts):
        return errors.HOST
    return None if request.header("x-forwarded-for") is None else errors.FORWARDED


def asks_for_events(request: Request) -> bool:
    """Whether it is a GET of the document, be it as it should be or not."""
    return request.method == "GET" and _split(request.target)[0].endswith("/scheduledevents")


def _names_only(request: Request, hosts: LocalHosts) -> bool:
    """Whether every host that the request names is one of these. HTTP before 1.1 has no Host header."""
    named = [value for name, value in request.headers if name == "host"]
    if not named and request.http_version not in _WITHOUT_HOST:
        return False
    if not request.target.startswith("/") and "://" in request.target:
        # The absolute form, which proxies send.
        named.append(re.split(r"[/?#]", request.target.partition("://")[2], maxsplit=1)[0])
    return all(map(hosts.allows, named))


def _split(target: str) -> tuple[str, list[tuple[str, str]]]:
    """The path, in lower case and without a closing slash, and the parameters in their order."""
    if not target.startswith("/"):  # the absolute form, which proxies send
        target = "/" + target.partition("://")[2].partition("/")[2]
    path, _, query = target.partition("?")
    path = unquote(path).lower()
    return path.rstrip("/") or "/", parse_qsl(query, keep_blank_values=True)


def _has_metadata_header(request: Request, path: str, version: str) -> bool:
    given = request.header("metadata")
    if given is not None:
        return given.strip().lower() == "true"
    known = EVENTS_VERSIONS.get(version) if path == EVENTS_PATH else None
    return known is not None and not known.needs_header


def _judge_events(request: Request, version: str) -> Wish | Answer:
    known = EVENTS_VERSIONS.get(version)
    if known is None:
        return errors.bad_version(NEWEST_EVENTS_VERSIONS)
    if request.method == "GET":
        if_none_match = request.header("if-none-match")
        return ReadEvents(known, if_none_match, _wait(request) if if_none_match is not None else 0)
    if request.method == "POST":
        return parse_start_requests(request.body)
    return errors.wrong_method("GET, POST")


_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,9})\"?\s*(?=$|[,;])", re.IGNORECASE)


def _wait(request: Request) -> int:
    """How long the guest would wait for a change (RFC 7240)."""
    match = _WAIT.search(request.header("prefer") or "")
    return min(int(match[1]), LONGEST_WAIT_SECONDS) if match else 0


def matches(if_none_match: str, tag: str) -> bool:
    """Whether a condition names the tag: a list, weak tags and `*` included."""
    if if_none_match.strip() == "*":
        return True
    return any(each.strip().removeprefix("W/") == tag for each in if_none_match.split(","))


class _StartRequest(msgspec.Struct):
    EventId: str


class _Payload(msgspec.Struct):
    StartRequests: list[_StartRequest]


def parse_start_requests(body: bytes) -> ApproveEvents | Answer:
    """The events that a POST approves, in capitals and each once; whatever else it says is ignored."""
    try:
        payload = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"), type=_Payload)
    except msgspec.ValidationError as problem:
        return errors.bad_payload(f"The payload is malformed: {problem}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return errors.bad_payload("The payload is not valid JSON")
    if not payload.StartRequests:
        return errors.bad_payload("The payload is malformed: StartRequests is empty")
    return ApproveEvents(tuple(dict.fromkeys(each.EventId.strip().upper() for each in payload.StartRequests)))

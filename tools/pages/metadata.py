"""The guests' endpoint, from the tables that it answers by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta

from forewarn.core.document import Document
from forewarn.core.event import Event
from forewarn.core.notice import DESCRIPTIONS, LEAST_NOTICE
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause, Kind, Source
from forewarn.edge.limits import IN_WORDS, GuestLimits
from forewarn.wire.http import Answer
from forewarn.wire.imds import document
from forewarn.wire.imds.compute import FIRST_VERSION, KNOWN_OTHERWISE, SETTABLE, SINCE, Part, Tree
from forewarn.wire.imds.errors import OCCASIONS
from forewarn.wire.imds.request import (
    EVENTS_PATH,
    INSTANCE_PATH,
    LONGEST_WAIT_SECONDS,
    TOKEN_PATH,
    VERSIONS_PATH,
)
from forewarn.wire.imds.versions import EVENTS_VERSIONS, INSTANCE_VERSIONS, EventsVersion
from tools.markdown import block, code, page, table

_INTRODUCTION = """\
What guests ask, over plain HTTP on the guests' listener. Paths and names of parameters may be written in any case.
What is promised here, statement by statement, and the tests that show it: [Conformance](conformance.md)."""
_ROUTES = (
    (f"GET {EVENTS_PATH}", "the document: what is going to happen to the VMs of the caller's scope"),
    (f"POST {EVENTS_PATH}", 'approval: `{"StartRequests": [{"EventId": "..."}]}`, answered 200 without a body'),
    (f"GET {INSTANCE_PATH}", "the caller itself; a longer path asks for a part, `format=text` for plain text"),
    (f"GET {VERSIONS_PATH}", "the api-versions of the instance; needs no api-version itself"),
    (f"GET {TOKEN_PATH}", "400, as on a VM without a managed identity"),
)
_HOST_RULE = (
    "on a loopback address: `localhost`, an address of 127.0.0.0/8, `[::1]`, `169.254.169.254` or one of "
    "[`metadata_host_names`](settings.md), with any port; elsewhere anything"
)
_WAITS = f"answered when the document changes, or 304 after N seconds, at most {LONGEST_WAIT_SECONDS}"
_HEADERS = (
    ("Metadata: true", "has to be there, but for the document at the first api-version"),
    ("Origin", "must not be there"),
    ("Host", _HOST_RULE),
    ("X-Forwarded-For", "must not be there"),
    ("If-None-Match", "the `ETag` of the last answer, several, or `*`: 304 without a body while it is the same"),
    ("Prefer: wait=N", f"with `If-None-Match`: {_WAITS}"),
    ("Expect: 100-continue", "is answered before the body is read"),
)
_COMPUTE = f"""\
`{INSTANCE_PATH}/compute` describes the caller. A version has the members that it or an earlier one introduced.
Every value is a text, and empty where it does not apply. `compute` in the [fleet file](fleet-file.md) sets members
under the same names. Where the fleet file sets nothing, the service uses what a client of ARM wrote about the VM.
A client of ARM can always change the size, also one that the fleet file set."""
_NETWORK = """\
`network.interface` has one interface:

- `ipv4.ipAddress` and `ipv6.ipAddress` list the VM's `addresses`, or else the address that it calls from.
- `ipv4.subnet` has the `address` and `prefix` of the fleet file's `subnet`, or else of the first address's /24.
- `macAddress` is 12 capital hexadecimal digits: the fleet file's `mac`, or else one derived from the VM that never
  changes.

With `extended=true`, versions from 2021-03-01 on also have `extended.compute`, which provisioning agents read."""
_DERIVED = {
    "osProfile.disablePasswordAuthentication": "`true` where there are keys",
    "publicKeys.*.path": "the admin's `authorized_keys`",
    "storageProfile.imageReference.offer": "as `offer`",
    "storageProfile.imageReference.publisher": "as `publisher`",
    "storageProfile.imageReference.sku": "as `sku`",
    "storageProfile.osDisk.managedDisk.id": "from the name",
    "storageProfile.osDisk.name": "from the name",
    "storageProfile.osDisk.osType": "as `osType`",
}
_ROUTINE = (
    ("Content-Type", "`application/json; charset=utf-8`, where there is a body"),
    ("ETag", "of the document: another one whenever the document is another"),
    ("Date", "the service's clock, the virtual one included"),
    ("Retry-After", "with 429 and 503: in how many seconds to ask again"),
    ("Allow", "with 405: what the path takes"),
)


def write() -> str:
    """The page."""
    example = _example(list(EVENTS_VERSIONS.values())[-1])
    return page(
        "Metadata endpoint",
        _INTRODUCTION,
        table(("route", "what it gives"), [(code(route), text) for route, text in _ROUTES]),
        "## Versions of the document",
        "`api-version` has to be one of these. A caller sees nothing that a later version introduced.",
        _versions(),
        "## Members",
        _members(example),
        "An event at the newest version:",
        block("json", example.decode()),
        "## Versions of the instance",
        f"Any date from {INSTANCE_VERSIONS[0]} on. `{VERSIONS_PATH}` names: {', '.join(INSTANCE_VERSIONS)}.",
        "## Members of compute",
        _COMPUTE,
        table(("member", "since", "default", "set with"), list(_compute(""))),
        "## Network",
        _NETWORK,
        "## Headers of a request",
        table(("header", "what it does"), [(code(name), text) for name, text in _HEADERS]),
        "## Headers of an answer",
        table(("header", "what it says"), [(code(name), text) for name, text in _ROUTINE]),
        "## Errors",
        "In the order of judgement: only the first objection is answered.",
        table(("status", "body", "headers", "when"), [_error(each, when) for each, when in OCCASIONS]),
        "## Limits",
        table(("at most", "of what, and what comes then"), _limits()),
    )


def _versions() -> str:
    def row(version: EventsVersion) -> tuple[str, ...]:
        kinds = " ".join(kind for kind in Kind if kind in version.kinds)
        header = "needed" if version.needs_header else "not needed"
        names = "`_` before the names of VMs" if version.prefixes_names else "as they are"
        return version.name, " ".join(version.members), kinds, header, names

    head = ("version", "members beyond the first six", "kinds", "`Metadata: true`", "resources")
    return table(head, [row(version) for version in EVENTS_VERSIONS.values()])


def _members(example: bytes) -> str:
    words = " or ".join
    texts = {
        "EventId": "the event, in capitals; the same as long as it lives",
        "EventStatus": words(f"`{phase}`" for phase in Phase if phase.is_open),
        "EventType": words(f"`{kind}`" for kind in Kind),
        "ResourceType": "`VirtualMachine`",
        "Resources": "the names of the VMs that it happens to",
        "NotBefore": "`Mon, 19 Sep 2016 18:29:47 GMT`: before this it starts only if approved; empty once started",
        "Description": "a sentence, or nothing",
        "EventSource": words(f"`{source}`" for source in Source),
        "DurationInSeconds": "how long the VM will be away; -1: unknown, 0: not at all",
    }
    members = json.loads(example)["Events"][0]
    return table(("member", "what it is"), [(code(name), texts[name]) for name in members])


def _example(version: EventsVersion) -> bytes:
    now = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
    notice: timedelta = LEAST_NOTICE[Kind.REBOOT]
    event = Event(
        id="4F1C9A02-6B0E-4C53-9A1D-0C5B7E21D9AA",
        number=1,
        operation="",
        scope="",
        update_domain=None,
        resources=("web-3",),
        kind=Kind.REBOOT,
        source=Source.USER,
        description=DESCRIPTIONS[Cause.RESTART],
        duration_seconds=-1,
        phase=Phase.SCHEDULED,
        created_at=now,
        notice=notice,
        not_before=now + notice,
        promised_at=now + notice,
    )
    return document.render(Document(1, 2, (event,)), version)


def _compute(path: str, part: Tree = SETTABLE, since: str = FIRST_VERSION) -> Iterator[tuple[str, ...]]:
    """A row for every leaf, those that are known otherwise among them."""
    known = {
        name.rpartition(".")[2]: hint for name, hint in KNOWN_OTHERWISE.items() if name.rpartition(".")[0] == path
    }
    names: dict[str, Part] = {**part, **known}
    for name in sorted(names, key=str.lower):
        below = f"{path}.{name}" if path else name
        value, introduced = names[name], SINCE.get(below, since)
        if isinstance(value, dict):
            yield from _compute(below, value, introduced)
        elif isinstance(value, list):
            yield from _compute(f"{below}.*", value[0], introduced)
        elif name in known:
            yield code(below), introduced, "", value
        else:
            default = _DERIVED.get(below) or (code(value) if value else "")
            yield code(below), introduced, default, "`compute`"


def _error(answer: Answer, when: str) -> tuple[str, ...]:
    lines = answer.head.decode("latin-1").splitlines()[1:]
    headers = [line for line in lines if not line.startswith("Content-")]
    return str(answer.status), code(answer.body.decode()), " ".join(map(code, headers)), when


def _limits() -> list[tuple[str, str]]:
    standard = GuestLimits()
    return [(str(getattr(standard, each.name)), IN_WORDS[each.name]) for each in fields(GuestLimits)]

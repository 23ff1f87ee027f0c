"""What guests are sent, compared byte by byte with files that were checked by eye.

After a change that is meant, write them anew with FOREWARN_WRITE_GOLDEN=1 and read the difference.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from forewarn.core.document import Document
from forewarn.core.event import Event
from forewarn.core.fleet import ScaleSet, Vm
from forewarn.core.notice import DESCRIPTIONS, HOST_MAINTENANCE, LIVE_MIGRATION
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause, EvictionPolicy, Kind, Priority, Source
from forewarn.wire.http import Answer
from forewarn.wire.imds import errors
from forewarn.wire.imds.compute import FIRST_VERSION, SINCE
from forewarn.wire.imds.document import not_modified, page, render
from forewarn.wire.imds.instance import Site, Subject, read, tree
from forewarn.wire.imds.request import parse_start_requests
from forewarn.wire.imds.versions import EVENTS_VERSIONS, NEWEST_EVENTS_VERSIONS, NEWEST_INSTANCE_VERSIONS

GOLDEN = Path(__file__).parent / "golden"
IS_WRITING = os.environ.get("FOREWARN_WRITE_GOLDEN") == "1"
SEEN = datetime(2026, 8, 9, 16, 52, 32, tzinfo=UTC)

PHASES = (Phase.SCHEDULED, Phase.STARTED)
# Kind, source, description, duration, notice.
KINDS = [
    (Kind.FREEZE, Source.PLATFORM, HOST_MAINTENANCE, 6, timedelta(minutes=15)),
    (Kind.FREEZE, Source.PLATFORM, LIVE_MIGRATION, 0, timedelta(days=2)),
    (Kind.REBOOT, Source.USER, DESCRIPTIONS[Cause.RESTART], -1, timedelta(minutes=15)),
    (Kind.REDEPLOY, Source.USER, DESCRIPTIONS[Cause.REDEPLOY], -1, timedelta(minutes=10)),
    (Kind.PREEMPT, Source.PLATFORM, DESCRIPTIONS[Cause.EVICT], -1, timedelta(seconds=30)),
    (Kind.TERMINATE, Source.USER, DESCRIPTIONS[Cause.DELETE], -1, timedelta(minutes=5)),
]
IAAS_NAMES = ["web-0", "aks-nodes-12345678-vmss_2768", "pool_0", "db.eu_1"]
ROLE_NAMES = ["FrontEnd_IN_0", "BackEnd_IN_1"]


def events(names: list[str]) -> tuple[Event, ...]:
    """One event of each kind and phase, in creation order; the first of them names every VM."""
    made = []
    for index, (phase, terms) in enumerate((phase, terms) for terms in KINDS for phase in PHASES):
        kind, source, description, duration_seconds, notice = terms
        made.append(
            Event(
                id=f"{0xC0FFEE00 + index:08X}-4B1D-5E7A-9A0F-0123456789AB",
                number=index,
                operation="operation",
                scope="scope",
                update_domain=None,
                resources=tuple(names) if index == 0 else (names[index % len(names)],),
                kind=kind,
                source=source,
                description=description,
                duration_seconds=duration_seconds,
                phase=phase,
                created_at=SEEN,
                notice=notice,
                not_before=SEEN + notice,
                promised_at=SEEN + notice,
                started_at=SEEN if phase is Phase.STARTED else None,
            )
        )
    return tuple(made)


DOCUMENTS = {
    "empty": Document(1, 1),
    "events": Document(1, 192, events(IAAS_NAMES)),
    "roles": Document(1, 9, events(ROLE_NAMES), names_role_instances=True),
}

ANSWERS = {
    **{name.lower(): value for name, value in vars(errors).items() if isinstance(value, Answer)},
    "bad_version_of_events": errors.bad_version(NEWEST_EVENTS_VERSIONS),
    "bad_version_of_instance": errors.bad_version(NEWEST_INSTANCE_VERSIONS),
    "wrong_method_for_events": errors.wrong_method("GET, POST"),
    "wrong_method_for_instance": errors.wrong_method("GET"),
    "payload_not_json": parse_start_requests(b"{"),
    "payload_without_start_requests": parse_start_requests(b"{}"),
    "payload_without_event_id": parse_start_requests(b'{"StartRequests":[{}]}'),
    "payload_without_requests": parse_start_requests(b'{"StartRequests":[]}'),
    "payload_with_unknown_event": errors.bad_payload(
        "An EventId is not that of an open event of this virtual machine"
    ),
    "page": page(DOCUMENTS["empty"], EVENTS_VERSIONS["2020-07-01"]),
    "not_modified": not_modified(DOCUMENTS["empty"], EVENTS_VERSIONS["2020-07-01"]),
}

INSTANCE = Vm(
    name="pool_1",
    vm_id="5f0b2d3c-8a41-4b7e-9c55-1d2e3f405162",
    host="host-4",
    home="host-4",
    scope="pool",
    resource_group="production",
    set_name="pool",
    instance=1,
    placement_group=0,
    update_domain=1,
    fault_domain=2,
    zone="3",
    addresses=("10.0.0.5", "fd00::4"),
    computer_name="pool000001",
    priority=Priority.SPOT,
    eviction_policy=EvictionPolicy.DELETE,
    tags={"team": "blue", "env": "test"},
)
POOL = ScaleSet(
    "pool", "production", compute={"publicKeys": [{"keyData": "ssh-ed25519 AAAA pool", "path": "/etc/ssh/pool"}]}
)
# Those that introduced members, and the newest.
INSTANCE_VERSIONS = sorted({FIRST_VERSION, *SINCE.values(), NEWEST_INSTANCE_VERSIONS[0]})


def compare(name: str, body: bytes) -> None:
    """The bytes are those of the file, or become them when files are being written."""
    file = GOLDEN / name
    if IS_WRITING:
        file.write_bytes(body)
    assert body == file.read_bytes()


@pytest.mark.parametrize("version", EVENTS_VERSIONS)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_document_of_a_version_is_byte_for_byte_what_it_was(document: str, version: str):
    body = render(DOCUMENTS[document], EVENTS_VERSIONS[version])

    compare(f"{document}-{version}.json", body)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_byte_for_byte_what_it_was(name: str):
    answer = ANSWERS[name]

    assert isinstance(answer, Answer)
    compare(f"answer-{name.replace('_', '-')}.http", answer.encode())


@pytest.mark.parametrize("version", INSTANCE_VERSIONS)
def test_instance_metadata_at_a_version_are_byte_for_byte_what_they_were(version: str):
    answer = read(tree(Subject(INSTANCE, POOL), Site(), version), (), as_text=False)

    compare(f"instance-{version}.json", answer.body)


def test_no_golden_file_is_left_over():
    expected = {f"{document}-{version}.json" for document in DOCUMENTS for version in EVENTS_VERSIONS}
    expected |= {f"answer-{name.replace('_', '-')}.http" for name in ANSWERS}
    expected |= {f"instance-{version}.json" for version in INSTANCE_VERSIONS} | {".gitattributes"}

    assert {file.name for file in GOLDEN.iterdir()} == expected

"""Documents that are not what they should be, and the events that have the mark of it."""

from __future__ import annotations

import http.client
import json
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from tests.faults.conftest import Add, ask
from tests.running import RunningService


def marks(service: RunningService, event: str) -> str:
    return service.get(f"/v1/events/{event}")["fault"]


@pytest.mark.parametrize("said", [{}, {"keep": 10}, {"keep": 0}])
def test_a_truncated_document_breaks_off(service: RunningService, add: Add, event: str, said: Any):
    plain = ask(service)[2]
    add("truncated", **said)

    status, headers, body = ask(service)

    assert (status, "etag" in headers) == (200, False)
    assert body == plain[: said.get("keep", len(plain) // 2)]
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(body)


def test_a_truncated_document_may_end_before_its_length_does(service: RunningService, add: Add, event: str):
    plain = ask(service)[2]
    add("truncated", keep=20, hangs_up=True)
    connection = http.client.HTTPConnection(
        "127.0.0.1", service.metadata_port, timeout=10, source_address=("127.0.2.1", 0)
    )
    connection.request("GET", "/metadata/scheduledevents?api-version=2020-07-01", headers={"Metadata": "true"})

    with pytest.raises(http.client.IncompleteRead) as broken:
        connection.getresponse().read()

    assert (broken.value.partial, broken.value.expected) == (plain[:20], len(plain) - 20)
    connection.close()


def test_a_document_that_is_shorter_than_what_is_kept_of_it_is_not_struck(
    service: RunningService, add: Add, struck
):
    service.guest("solo").document()
    add("truncated", keep=100_000)

    json.loads(ask(service)[2])

    assert struck() == {"truncated": 0}


def test_events_are_null(service: RunningService, add: Add, event: str):
    incarnation = json.loads(ask(service)[2])["DocumentIncarnation"]
    add("null_events")

    _, headers, body = ask(service)

    assert body == b'{"DocumentIncarnation":%d,"Events":null}' % incarnation
    assert "etag" not in headers
    assert marks(service, event) == "null_events"


@pytest.mark.parametrize(
    ("members", "of_document", "of_event"),
    [
        (["Events"], {"DocumentIncarnation"}, None),
        (["DocumentIncarnation", "NotBefore", "EventId"], {"Events"}, {"NotBefore", "EventId"}),
    ],
)
def test_members_are_missing(
    service: RunningService,
    add: Add,
    event: str,
    members: list[str],
    of_document: set[str],
    of_event: set[str] | None,
):
    whole = set(json.loads(ask(service)[2])["Events"][0])
    add("missing_members", members=members)

    document = json.loads(ask(service)[2])

    assert set(document) == of_document
    if of_event is not None:
        assert set(document["Events"][0]) == whole - of_event
    assert marks(service, event) == "missing_members"


def test_an_event_is_there_twice(service: RunningService, add: Add, event: str):
    add("duplicated", count=1)

    struck, after = json.loads(ask(service)[2]), json.loads(ask(service)[2])

    assert [each["EventId"] for each in struck["Events"]] == [event, event]
    assert struck["DocumentIncarnation"] == after["DocumentIncarnation"]
    assert len(after["Events"]) == 1
    assert marks(service, event) == "duplicated"


def test_an_event_is_lost_for_one_guest_and_back_when_the_fault_is_over(service: RunningService, add: Add):
    for name in ("web-0", "web-1"):
        service.guest(name).document()
    event = service.post("/v1/vms/web-0/restart")["event"]["id"]
    tag = service.guest("web-0").call().headers["etag"]
    rule = add("lost", vm="web-0")

    lost = service.guest("web-0").call(headers={"If-None-Match": tag})
    seen = service.guest("web-1").events()
    service.operator("DELETE", f"/v1/faults/{rule}")
    after = service.guest("web-0").call(headers={"If-None-Match": tag})

    assert (lost.status, lost.json["Events"]) == (200, [])  # whatever tag it names
    assert [each["EventId"] for each in seen] == [event]
    assert after.status == 304
    assert marks(service, event) == "lost"


def test_which_of_several_events_is_lost_is_drawn(service: RunningService, add: Add):
    guest = service.guest("web-0")
    guest.document()
    for name in ("web-0", "web-1", "web-2"):
        service.post(f"/v1/vms/{name}/restart")
    whole = [each["EventId"] for each in guest.events()]
    add("lost", seed=3)

    lost = [next(iter({*whole} - {each["EventId"] for each in guest.events()})) for _ in range(12)]

    assert set(lost) == set(whole)


def test_a_stale_document_is_the_one_before_with_its_own_tag(service: RunningService, add: Add):
    before = ask(service)
    event = service.post("/v1/vms/solo/restart")["event"]["id"]
    add("stale", count=1)

    stale, after = ask(service), json.loads(ask(service)[2])

    assert (stale[1]["etag"], stale[2]) == (before[1]["etag"], before[2])
    assert [each["EventId"] for each in after["Events"]] == [event]
    assert marks(service, event) == "stale"


def test_a_clock_that_is_ahead_shows_in_date_and_not_before(service: RunningService, add: Add, event: str):
    _, headers, body = ask(service)
    rule = add("clock_skew", seconds=300)
    _, ahead_headers, ahead = ask(service)
    service.operator("DELETE", f"/v1/faults/{rule}")
    add("clock_skew", seconds=-60)
    _, behind_headers, behind = ask(service)

    def at(text: bytes) -> Any:
        return parsedate_to_datetime(json.loads(text)["Events"][0]["NotBefore"])

    def date(of: dict[str, str]) -> Any:
        return parsedate_to_datetime(of["date"])

    assert at(ahead) - at(body) == date(ahead_headers) - date(headers) == timedelta(minutes=5)
    assert at(behind) - at(body) == date(behind_headers) - date(headers) == timedelta(minutes=-1)
    assert marks(service, event) == "clock_skew"

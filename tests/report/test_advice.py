"""The report on clients of the oldest api-version, and on clients that approve for others, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fleets import SMALL
from tests.running import RunningService, running

_OLDEST = "/metadata/scheduledevents?api-version=2017-03-01"


@pytest.fixture
def service() -> Iterator[RunningService]:
    """A fresh service that watches its guests."""
    with running(SMALL, watch_guests=None) as started:
        yield started


def report_on(service: RunningService, vm: str) -> dict[str, Any]:
    (found,) = [guest for guest in service.get("/v1/report")["guests"] if guest["vm"] == vm]
    return found


@pytest.mark.parametrize(
    ("header_on_get", "header_on_post", "is_mentioned"),
    [(True, True, False), (True, False, True), (False, True, True), (False, False, True)],
    ids=["always sent", "not with approvals", "not with polls", "never sent"],
)
def test_advice_to_use_a_newer_version_mentions_the_header_only_to_who_does_not_send_it(
    service: RunningService,
    header_on_get: bool,  # noqa: FBT001 - a row of the table
    header_on_post: bool,  # noqa: FBT001 - the same
    is_mentioned: bool,  # noqa: FBT001 - the same
):
    guest = service.guest("solo")
    guest.call(path=_OLDEST, with_header=header_on_get)
    service.post("/v1/vms/solo/restart")
    (event,) = guest.call(path=_OLDEST, with_header=header_on_get).json["Events"]
    body = json.dumps({"StartRequests": [{"EventId": event["EventId"]}]})

    assert guest.call("POST", _OLDEST, body, with_header=header_on_post).status == 200

    (found,) = report_on(service, "solo")["findings"]
    assert found["code"] == "old_version"
    assert "2020-07-01" in found["sentence"]
    assert ("Metadata: true" in found["sentence"]) == is_mentioned


def test_advice_on_an_event_that_the_version_hides_mentions_the_header(service: RunningService):
    guest = service.guest("frugal")
    guest.call(path=_OLDEST, with_header=False)
    service.post("/v1/vms/frugal/evict")
    service.advance(seconds=31)
    guest.call(path=_OLDEST, with_header=False)

    findings = {found["code"]: found["sentence"] for found in report_on(service, "frugal")["findings"]}

    assert "Metadata: true" in findings["unread_event"]


def test_a_vm_of_the_scope_that_approves_for_another_is_a_good_client(service: RunningService):
    guest = service.guest("web-1")
    guest.document()
    service.post("/v1/vms/web-0/restart")
    (event,) = guest.events()

    assert guest.approve(event["EventId"]).status == 200

    report = report_on(service, "web-1")
    assert [(found["code"], found["is_fault"]) for found in report["findings"]] == [("approved_others", False)]
    assert report["is_good"]


def test_an_event_of_another_scope_cannot_be_approved(service: RunningService):
    service.guest("web-0").document()
    guest = service.guest("solo")
    guest.document()
    service.post("/v1/vms/web-0/restart")
    (event,) = service.guest("web-0").events()

    assert guest.approve(event["EventId"]).status == 400

    assert report_on(service, "solo")["findings"] == []
    assert [each["EventStatus"] for each in service.guest("web-0").events()] == ["Scheduled"]

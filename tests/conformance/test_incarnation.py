"""Statements 48 to 57: the document's incarnation."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from tests.conformance.wire import FREEZE, VERSIONS, announce_every_kind, life, only, url
from tests.running import Guest, RunningService


def incarnation(guest: Guest) -> int:
    return guest.document()["DocumentIncarnation"]


@pytest.mark.conformance(48)
@pytest.mark.parametrize("version", VERSIONS)
def test_an_unchanged_document_is_the_same_to_the_byte(mixed: RunningService, version: str):
    guest = announce_every_kind(mixed)

    first = guest.call(path=url(version))
    second = guest.call(path=url(version))
    mixed.advance(seconds=29)
    third = guest.call(path=url(version))

    assert first.body == second.body == third.body
    assert first.headers["etag"] == second.headers["etag"] == third.headers["etag"]


@pytest.mark.conformance(49)
@pytest.mark.parametrize(
    ("path", "body"),
    [("/v1/vms/solo/restart", None), ("/v1/hosts/host-0/maintain", FREEZE), ("/v1/hosts/host-0/fail", None)],
    ids=["by a user", "by the platform", "by a failure"],
)
def test_a_new_event_makes_a_new_incarnation(service: RunningService, path: str, body: dict[str, str] | None):
    solo = service.guest("solo")
    before = incarnation(solo)

    service.post(path, body)

    assert len(solo.events()) == 1
    assert incarnation(solo) > before


@pytest.mark.conformance(50)
@pytest.mark.parametrize("by", ["approval", "time"])
def test_a_start_makes_a_new_incarnation(service: RunningService, by: str):
    solo = service.guest("solo")
    solo.document()
    service.post("/v1/vms/solo/restart")
    event = only(solo.events())["EventId"]
    before = incarnation(solo)

    if by == "approval":
        solo.approve(event)
    else:
        service.advance(minutes=15)

    assert only(solo.events())["EventStatus"] == "Started"
    assert incarnation(solo) > before


@pytest.mark.conformance(51)
def test_a_completion_makes_a_new_incarnation(service: RunningService):
    solo = service.guest("solo")
    solo.document()
    service.post("/v1/vms/solo/restart")
    solo.approve(only(solo.events())["EventId"])
    before = incarnation(solo)

    service.advance(minutes=2)

    assert solo.events() == []
    assert incarnation(solo) > before


@pytest.mark.conformance(52)
def test_a_cancellation_makes_a_new_incarnation(service: RunningService):
    solo = service.guest("solo")
    solo.document()
    service.post("/v1/vms/solo/restart")
    event = only(solo.events())["EventId"]
    before = incarnation(solo)

    service.post(f"/v1/events/{event}/cancel")

    assert solo.events() == []
    assert incarnation(solo) > before


@pytest.mark.conformance(53)
def test_the_incarnation_never_falls_and_moves_with_every_change(mixed: RunningService):
    guest = announce_every_kind(mixed)

    documents = list(life(mixed, guest))
    documents.append(guest.document())

    counts = [document["DocumentIncarnation"] for document in documents]
    assert counts == sorted(counts)
    assert len(set(counts)) > 5
    for before, after in pairwise(documents):
        same_events = json.dumps(before["Events"]) == json.dumps(after["Events"])
        assert same_events == (before["DocumentIncarnation"] == after["DocumentIncarnation"])


@pytest.mark.conformance(54)
def test_one_freeze_counts_one_two_three_four(service: RunningService):
    solo = service.guest("solo")

    seen = [(solo.document()["DocumentIncarnation"], None)]
    service.post("/v1/hosts/host-0/maintain", FREEZE)
    for _ in range(2):
        document = solo.document()
        seen.append((document["DocumentIncarnation"], only(document["Events"])["EventStatus"]))
        service.advance(minutes=15)
    document = solo.document()
    seen.append((document["DocumentIncarnation"], None))

    assert document["Events"] == []
    assert seen == [(1, None), (2, "Scheduled"), (3, "Started"), (4, None)]


@pytest.mark.conformance(55)
def test_two_events_added_make_the_incarnation_strictly_larger(service: RunningService):
    web = service.guest("web-0")
    before = incarnation(web)

    service.post("/v1/vms/web-0/restart")
    between = incarnation(web)
    service.post("/v1/vms/web-1/restart")

    assert len(web.events()) == 2
    assert before < between < incarnation(web)


@pytest.mark.conformance(55)
def test_two_events_added_at_once_make_the_incarnation_strictly_larger(crowded: RunningService):
    guest = crowded.guest("db-0")
    before = incarnation(guest)

    crowded.post("/v1/hosts/host-0/maintain", FREEZE)

    assert len(guest.events()) == 2
    assert incarnation(guest) > before


@pytest.mark.conformance(56)
@pytest.mark.parametrize("version", VERSIONS)
def test_an_approval_that_starts_nothing_yet_changes_nothing_that_guests_see(
    service: RunningService, version: str
):
    solo, web = service.guest("solo"), service.guest("web-0")
    web.document()
    solo.document()
    service.post("/v1/hosts/host-0/maintain", FREEZE)
    before = [guest.call(path=url(version)) for guest in (solo, web)]

    approval = solo.approve(only(solo.events())["EventId"])

    after = [guest.call(path=url(version)) for guest in (solo, web)]
    assert approval.status == 200
    assert [reply.body for reply in after] == [reply.body for reply in before]
    assert [reply.headers["etag"] for reply in after] == [reply.headers["etag"] for reply in before]


@pytest.mark.conformance(57)
@pytest.mark.parametrize("version", VERSIONS)
def test_all_members_of_a_set_read_the_same_document_at_every_stage(service: RunningService, version: str):
    members = [service.guest(f"web-{n}") for n in range(3)]

    def bodies() -> set[bytes]:
        return {member.call(path=url(version)).body for member in members}

    stages = [bodies()]
    service.post("/v1/vms/web-1/restart")
    stages.append(bodies())
    members[2].approve(only(members[0].events())["EventId"])
    stages.append(bodies())
    service.advance(minutes=2)
    stages.append(bodies())

    assert [len(stage) for stage in stages] == [1, 1, 1, 1]
    assert len(set.union(*stages)) == 4

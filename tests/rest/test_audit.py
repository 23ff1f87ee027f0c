"""The audit over REST: who did what, by actor, time and what it was about; who may sign in, for admins only."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest

from forewarn.operator import audit
from tests.fleets import SMALL
from tests.running import RunningService, running


@pytest.fixture(scope="module")
def past() -> Iterator[RunningService]:
    """A service in which several have done something."""
    with running(SMALL) as service:
        service.guest("solo").document()
        event = service.post("/v1/vms/solo/restart")["event"]["id"]
        service.guest("solo").approve(event)
        service.advance(hours=1)
        maintained = service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})
        service.post(f"/v1/events/{maintained['events'][0]['id']}/approve")
        service.advance(hours=1)
        yield service


def deeds(service: RunningService, query: str = "") -> list[tuple[str, str, str]]:
    return [(each["actor"], each["verb"], each["subject"]) for each in service.get(f"/v1/audit?{query}")["audit"]]


def ids_of(service: RunningService, vm: str, kind: str) -> tuple[str, str]:
    (row,) = service.get(f"/v1/history?vm={vm}&kind={kind}")["history"]
    return row["event"], row["operation"]


def test_the_audit_tells_who_did_what_newest_first(past: RunningService):
    assert deeds(past) == [
        ("forewarn", "complete", "Freeze of host-0"),
        ("forewarn", "start", "Freeze of host-0"),
        ("operator", "approve", "operator"),
        ("operator", "maintain", "host-0"),
        ("forewarn", "complete", "Reboot of solo"),
        ("forewarn", "start", "Reboot of solo"),
        ("solo", "approve", "solo"),
        ("operator", "restart", "solo"),
        ("solo", "turn on", "solo"),
        ("test", "apply fleet", ""),
    ]


def test_the_audit_of_one_actor_and_of_one_span(past: RunningService):
    assert {actor for actor, *_ in deeds(past, "actor=solo")} == {"solo"}
    assert [verb for _, verb, _ in deeds(past, "actor=operator&until=2026-03-02T13:00:00Z")] == ["restart"]
    assert len(deeds(past, "since=2026-03-02T13:00:00Z")) == 4


def test_the_audit_of_an_event_leaves_out_what_concerned_its_siblings_alone(past: RunningService):
    approved, operation = ids_of(past, "web-0", "Freeze")
    sibling, _ = ids_of(past, "solo", "Freeze")

    verbs = [[verb for _, verb, _ in deeds(past, f"event={event[:13].lower()}")] for event in (approved, sibling)]

    assert verbs == [["complete", "start", "approve", "maintain"], ["complete", "start", "maintain"]]
    assert deeds(past, f"operation={operation.upper()}") == deeds(past, f"event={approved}")
    assert deeds(past, f"operation={operation}&event={approved}") == deeds(past, f"event={approved}")


def test_pages_of_the_audit_meet(past: RunningService):
    told, after = [], ""
    while True:
        page = past.get(f"/v1/audit?limit=3{after}")
        told += page["audit"]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"

    assert told == past.get("/v1/audit")["audit"]


def test_the_audit_is_had_as_csv(past: RunningService, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(audit, "LARGEST_PAGE", 3)

    reply = past.operator("GET", "/v1/audit", headers={"Accept": "text/csv"})

    rows = list(csv.DictReader(io.StringIO(reply.body.decode(), newline="")))
    assert [(row["actor"], row["verb"], row["subject"]) for row in rows] == deeds(past)


def test_an_operation_that_is_not_the_events_is_refused(past: RunningService):
    event, operation = ids_of(past, "solo", "Reboot")
    _, other = ids_of(past, "web-0", "Freeze")

    reply = past.operator("GET", f"/v1/audit?event={event}&operation={other}")

    assert reply.status == 400
    assert f"belongs to operation {operation}, not to {other}." in reply.json["error"]["message"]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("since=never", 400, "since is 'never', which is no instant."),
        ("since=2026-03-03&until=2026-03-02", 400, "nothing lies between."),
        ("format=xml", 400, "'xml' is no format."),
        ("after=x", 400, "after is 'x'; it is the value of `next` of the page before."),
        ("actor=", 400, "actor is '', which names nothing."),
        ("limit=1001", 400, "limit is '1001'; it can be 1 to 1000."),
        ("event=f020ba2e", 404, "There is no event f020ba2e."),
        ("operation=nonsense", 404, "There is no operation nonsense."),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(past: RunningService, query: str, status: int, words: str):
    reply = past.operator("GET", f"/v1/audit?{query}")

    assert reply.status == status
    assert words in reply.json["error"]["message"]


def test_only_an_admin_is_told_who_may_sign_in():
    with running(SMALL) as service:
        made = service.post("/v1/tokens", {"name": "boss", "role": "admin"})["token"]
        service.headers = {"Authorization": f"Bearer {made}"}
        seen = service.post("/v1/tokens", {"name": "guest-book", "role": "viewer"})["token"]
        as_admin = deeds(service)
        service.headers = {"Authorization": f"Bearer {seen}"}
        as_viewer = deeds(service)

    assert ("boss", "create token", "guest-book") in as_admin
    assert as_viewer == [("test", "apply fleet", "")]

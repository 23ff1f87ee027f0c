"""Health, metrics, the clock and the OpenAPI page."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from forewarn.errors import StoreUnavailable
from forewarn.operator.app import ENDPOINTS
from tests.fleets import SMALL
from tests.running import RunningService, running, wait_until


def test_a_service_that_answers_is_healthy_and_ready(service: RunningService):
    assert service.get("/healthz") == {"status": "ok"}
    assert service.get("/readyz") == {"status": "ready"}


def test_a_service_whose_store_does_not_answer_is_not_ready_though_nothing_is_due(service: RunningService):
    with patch.object(service.service.plane.store, "transaction", side_effect=StoreUnavailable("It is away.")):
        away = service.operator("GET", "/readyz")
        alive = service.operator("GET", "/healthz")

    assert (away.status, alive.status) == (503, 200)
    assert "It is away." in away.json["error"]["message"]
    wait_until(lambda: service.operator("GET", "/readyz").status == 200, "a probe to find the store again")


def test_metrics_count_what_guests_and_operations_do(service: RunningService):
    guest = service.guest("solo")
    guest.document()
    guest.call(path="/nonsense")
    event = service.post("/v1/vms/solo/restart")["event"]["id"]
    guest.approve(event)
    service.post("/v1/hosts/host-1/maintain", {"kind": "Freeze"})
    service.advance(seconds=70)

    text = service.operator("GET", "/metrics").body.decode()

    figures = {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"
    }
    assert figures["forewarn_vms"] == 14
    assert figures["forewarn_scopes_on"] == 1
    assert figures["forewarn_polls_total"] == 2
    assert figures["forewarn_approvals_total"] == 1
    assert figures['forewarn_refused_total{status="404"}'] == 1
    assert figures['forewarn_events{kind="Freeze",phase="Scheduled"}'] == 2
    assert figures['forewarn_operations_ended_total{outcome="Completed"}'] == 1


def test_every_endpoint_is_on_the_openapi_page_with_its_body_and_answer(service: RunningService):
    page = service.get("/openapi.json")

    assert page["openapi"].startswith("3.1")
    for endpoint in ENDPOINTS:
        path = endpoint.path.replace(":path", "")
        operation = page["paths"][path][endpoint.method.lower()]
        assert str(endpoint.status) in operation["responses"], path
        assert operation["summary"] == endpoint.summary
    maintain = page["paths"]["/v1/hosts/{name}/maintain"]["post"]["requestBody"]["content"]["application/json"]
    schema = page["components"]["schemas"][maintain["schema"]["$ref"].rpartition("/")[2]]
    assert schema["properties"]["kind"]["enum"] == ["Freeze", "Reboot", "Redeploy"]


def test_every_reference_on_the_openapi_page_leads_somewhere(service: RunningService):
    page = service.get("/openapi.json")

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [value["$ref"]] if "$ref" in value else [r for each in value.values() for r in references(each)]
        return [r for each in value for r in references(each)] if isinstance(value, list) else []

    names = {reference.rpartition("/")[2] for reference in references(page)}
    assert names
    assert names <= set(page["components"]["schemas"])


# The clock.


def test_the_virtual_clock_stands_still_until_it_is_moved(service: RunningService):
    before = service.get("/v1/clock")
    moved = service.post("/v1/clock", {"advance_seconds": 90.5}, expect=200)

    assert (before["now"], before["mode"]) == ("2026-03-02T12:00:00Z", "virtual")
    assert moved["now"] == "2026-03-02T12:01:30.500000Z"
    assert service.get("/v1/clock")["now"] == moved["now"]


def test_an_advance_answers_when_all_that_was_due_has_been_done(service: RunningService):
    service.guest("solo").document()
    event = service.post("/v1/vms/solo/restart")["event"]["id"]

    service.advance(hours=2)

    found = service.get(f"/v1/events/{event}")
    assert (found["phase"], found["started_at"]) == ("Completed", "2026-03-02T12:15:00Z")
    assert found["ended_at"] == "2026-03-02T12:16:05Z"


def test_until_next_goes_to_the_next_thing_that_happens(service: RunningService):
    service.guest("solo").document()
    service.post("/v1/vms/solo/restart")

    stops = [service.post("/v1/clock", {"until": "next"})["now"] for _ in range(3)]

    assert stops == ["2026-03-02T12:15:00Z", "2026-03-02T12:15:05Z", "2026-03-02T12:16:05Z"]


def test_until_next_with_nothing_to_come_stays_where_it_is(service: RunningService):
    assert service.post("/v1/clock", {"until": "next"})["now"] == "2026-03-02T12:00:00Z"


def test_a_clock_that_plays_runs_by_itself_and_pauses(service: RunningService):
    service.guest("solo").document()
    event = service.post("/v1/vms/solo/restart")["event"]["id"]

    service.post("/v1/clock", {"rate": 100_000})
    wait_until(lambda: service.get(f"/v1/events/{event}")["phase"] == "Completed", "the restart to be over")
    paused = service.post("/v1/clock", {"rate": 0})

    assert paused["rate"] == 0
    assert service.get("/v1/clock")["now"] == paused["now"]
    assert service.get(f"/v1/events/{event}")["started_at"] == "2026-03-02T12:15:00Z"


def test_the_system_clock_cannot_be_moved():
    with running(SMALL, clock="system", clock_start=None) as service:
        reply = service.operator("POST", "/v1/clock", {"advance_seconds": 1})

        assert reply.status == 409
        assert "--clock virtual" in reply.json["error"]["hint"]
        assert service.get("/v1/clock")["mode"] == "system"


def test_the_virtual_instant_survives_a_restart(tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    with running(SMALL, store=store) as service:
        service.advance(hours=3)

    with running(SMALL, store=store) as service:
        assert service.get("/v1/clock")["now"] == "2026-03-02T15:00:00Z"


@pytest.mark.parametrize("path", ["/", "/healthz", "/openapi.json", "/v1/clock"])
def test_pages_are_json(service: RunningService, path: str):
    assert service.operator("GET", path).headers["content-type"] == "application/json"

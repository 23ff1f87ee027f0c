"""Fault rules over REST: added, listed with how often they struck, cleared; and what is refused."""

from __future__ import annotations

import pytest

from forewarn.drivers.simulated import SimulatedDriver
from tests.fleets import SMALL
from tests.running import RunningService, running


def refused(service: RunningService, method: str, path: str, body: object = None) -> tuple[int, str, str]:
    reply = service.operator(method, path, body)
    error = reply.json["error"]
    return reply.status, error["message"], error["hint"]


def test_a_rule_is_told_as_it_was_taken(service: RunningService):
    made = service.post("/v1/faults", {"name": "status", "vm": "solo", "every": 3, "seed": 7}, expect=201)

    assert made == {
        "id": "status-1",
        "name": "status",
        "vm": "solo",
        "rate": None,
        "count": None,
        "every": 3,
        "seed": 7,
        "options": {"code": 503, "retry_after": None, "on": "any"},
        "pace": "request 3, 6, ...",
        "target": "request",
        "asked": 0,
        "struck": 0,
    }


def test_rules_are_listed_with_how_often_each_was_asked_and_has_struck(service: RunningService):
    service.guest("solo").document()
    service.post("/v1/faults", {"name": "status", "vm": "solo", "every": 3})
    service.post("/v1/faults", {"name": "early_start"})
    service.post("/v1/faults", {"name": "lost", "vm": "twin"})
    for _ in range(7):
        service.guest("solo").call()
    service.post("/v1/vms/solo/restart")

    found = service.get("/v1/faults")

    assert [(each["id"], each["asked"], each["struck"]) for each in found["faults"]] == [
        ("status-1", 7, 2),
        ("early_start-2", 1, 1),
        ("lost-3", 0, 0),
    ]
    assert found["next"] is None


def test_one_rule_is_cleared_or_all_are(service: RunningService):
    for name in ("status", "delay", "early_start"):
        service.post("/v1/faults", {"name": name})

    one = service.operator("DELETE", "/v1/faults/delay-2")
    left = [each["id"] for each in service.get("/v1/faults")["faults"]]
    rest = service.operator("DELETE", "/v1/faults")

    assert (one.status, one.json["id"]) == (200, "delay-2")
    assert left == ["status-1", "early_start-3"]
    assert (rest.status, [each["id"] for each in rest.json["faults"]]) == (200, left)
    assert service.get("/v1/faults")["faults"] == []
    assert service.guest("solo").call().status == 200
    assert service.operator("DELETE", "/v1/faults").json["faults"] == []


def test_a_number_is_never_given_twice(service: RunningService):
    service.post("/v1/faults", {"name": "status"})
    service.operator("DELETE", "/v1/faults")

    assert service.post("/v1/faults", {"name": "status"})["id"] == "status-2"


def test_what_is_refused_says_what_and_what_to_do(service: RunningService):
    assert refused(service, "POST", "/v1/faults", {"name": "dely"})[:2] == (
        400,
        "There is no fault 'dely'. Did you mean delay?",
    )
    assert refused(service, "POST", "/v1/faults")[:2] == (400, "A fault needs a name.")
    assert refused(service, "POST", "/v1/faults", [1])[0] == 400
    assert refused(service, "POST", "/v1/faults", {"name": "lost", "vm": "sol"}) == (
        404,
        "There is no VM sol. Did you mean solo?",
        "forewarn vm list",
    )
    assert refused(service, "DELETE", "/v1/faults/lost-1") == (
        404,
        "There is no fault rule lost-1.",
        "There are none.",
    )
    service.post("/v1/faults", {"name": "lost"})
    assert refused(service, "DELETE", "/v1/faults/lost-7") == (
        404,
        "There is no fault rule lost-7.",
        "Did you mean lost-1? There is lost-1.",
    )


def test_there_is_a_limit_on_rules(service: RunningService):
    for _ in range(100):
        service.post("/v1/faults", {"name": "lost"})

    assert refused(service, "POST", "/v1/faults", {"name": "lost"}) == (
        409,
        "There are 100 fault rules already.",
        "Clear some: forewarn fault clear ID",
    )


@pytest.mark.parametrize("name", ["early_start", "shortened_notice", "lost", "status"])
def test_a_service_that_acts_on_real_machines_refuses_every_fault(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(SimulatedDriver.__init__, "__defaults__", _with_real_machines())
    with running(SMALL) as service:
        assert refused(service, "POST", "/v1/faults", {"name": name}) == (
            409,
            "This service acts on real machines; faults are put in only where the machines are simulated.",
            "Test against a service of its own: forewarn serve --store sqlite:// --clock virtual --fleet FILE",
        )
        assert refused(service, "DELETE", "/v1/faults")[0] == 409
        assert service.get("/v1/faults") == {"faults": [], "next": None}
        assert service.guest("solo").call().status == 200


def _with_real_machines() -> tuple[object, ...]:
    """The last default of the simulated driver is that it is simulated."""
    *rest, is_simulated = SimulatedDriver.__init__.__defaults__ or ()
    assert is_simulated is True
    return (*rest, False)

"""`POST /v1/webhooks/{id}/test`: one marked message now, its outcome, and no trace among the deliveries."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.push.receiver import Receiver, receiving
from tests.push.test_service import add, one, rows
from tests.rest.test_rest import refused
from tests.running import RunningService, free_port, running

_UNCOUNTED = {"delivered_since_start": 0, "waiting": 0, "dead": 0, "problem": ""}


def sent(service: RunningService, webhook: str) -> Any:
    return service.post(f"/v1/webhooks/{webhook}/test", expect=200)


def counts(service: RunningService) -> dict[str, Any]:
    return {name: one(service)[name] for name in _UNCOUNTED}


def test_a_test_message_is_a_signed_cloudevent_of_a_type_of_its_own(service: RunningService):
    with receiving() as receiver:
        made = add(service, receiver)
        outcome = sent(service, made["id"])
        (got,) = receiver.got

    assert got.is_signed_with(made["secret"])
    assert got.headers["content-type"] == "application/cloudevents+json"
    assert got.headers["forewarn-id"] == got.id == outcome["message"]
    assert got.json == {
        "specversion": "1.0",
        "id": outcome["message"],
        "source": f"/forewarn/webhooks/{made['id']}",
        "type": "forewarn.webhook.test",
        "subject": made["id"],
        "time": "2026-03-02T12:00:00Z",
        "datacontenttype": "application/json",
        "data": {
            "test": True,
            "webhook": made["id"],
            "sent_by": "operator",
            "message": "This is a test message. No event has changed.",
        },
    }


def test_a_test_message_in_the_schema_of_event_grid_has_an_event_type_of_its_own(service: RunningService):
    with receiving() as receiver:
        made = add(service, receiver, format="eventgrid")
        outcome = sent(service, made["id"])
        (got,) = receiver.got

    assert isinstance(json.loads(got.body), list)
    assert got.headers["aeg-event-type"] == "Notification"
    assert got.json.keys() == {
        "id",
        "topic",
        "subject",
        "data",
        "eventType",
        "dataVersion",
        "metadataVersion",
        "eventTime",
    }
    assert (got.json["eventType"], got.id) == ("Forewarn.Webhook.Test", outcome["message"])
    assert got.json["data"]["test"] is True


def test_the_outcome_tells_status_and_latency(service: RunningService):
    with receiving() as receiver:
        receiver.answers = [204]
        made = add(service, receiver)
        outcome = sent(service, made["id"])

    assert (outcome["has_arrived"], outcome["status"], outcome["problem"]) == (True, 204, "")
    assert (outcome["webhook"], outcome["url"]) == (made["id"], receiver.url)
    assert 0 < outcome["latency_ms"] < 60_000


def test_a_receiver_that_answers_with_an_error_fails_the_test_and_nothing_is_counted_or_tried_again(
    service: RunningService,
):
    with receiving() as receiver:
        receiver.answers = [500]
        made = add(service, receiver)
        outcome = sent(service, made["id"])

        assert (outcome["has_arrived"], outcome["status"], outcome["problem"]) == (False, 500, "answered 500")
        assert (counts(service), rows(service)) == (_UNCOUNTED, 0)
        assert service.get("/v1/webhooks/dead")["dead"] == []
        assert sent(service, made["id"])["has_arrived"] is True
        assert len(receiver.got) == 2
        assert counts(service) == _UNCOUNTED


def test_a_receiver_that_cannot_be_reached_fails_the_test_without_a_status(service: RunningService):
    made = add(service, Receiver(port=free_port()))

    outcome = sent(service, made["id"])

    assert (outcome["has_arrived"], outcome["status"]) == (False, None)
    assert outcome["problem"].startswith("could not be reached: ")
    assert counts(service) == _UNCOUNTED


def test_a_receiver_that_does_not_answer_fails_the_test_in_time():
    with running({}, webhook_timeout=0.2) as service, receiving() as receiver:
        receiver.answer = lambda _: None
        outcome = sent(service, add(service, receiver)["id"])

    assert (outcome["has_arrived"], outcome["problem"]) == (False, "did not answer within 0.2 s")


def test_a_test_does_not_wait_for_deliveries_that_are_stuck(service: RunningService):
    with receiving() as receiver:
        receiver.answer = lambda got: 200 if got.json["type"] == "forewarn.webhook.test" else None
        made = add(service, receiver)
        service.guest("solo").document()
        service.post("/v1/vms/solo/restart")
        receiver.wait_for(1)

        assert sent(service, made["id"])["has_arrived"] is True
        assert counts(service) == _UNCOUNTED | {"waiting": 1}


def test_only_one_test_of_a_webhook_runs_at_a_time(service: RunningService):
    first: list[Any] = []
    with receiving() as receiver:
        may_answer = threading.Event()
        receiver.answer = lambda _: 200 if may_answer.wait(60) else None
        made = add(service, receiver)
        running_test = threading.Thread(target=lambda: first.append(sent(service, made["id"])))
        running_test.start()
        receiver.wait_for(1)

        status, error = refused(service, "POST", f"/v1/webhooks/{made['id']}/test")

        may_answer.set()
        running_test.join(60)
        assert (status, error["code"]) == (409, "Busy")
        assert [outcome["has_arrived"] for outcome in first] == [True]
        assert sent(service, made["id"])["has_arrived"] is True


def test_a_service_that_stops_ends_a_test_that_is_under_way():
    outcomes: list[Any] = []
    with receiving() as receiver:
        receiver.answer = lambda _: None
        with running({}, webhook_timeout=600) as service:
            made = add(service, receiver)
            outcome = service.service.runner.submit(service.service.webhooks.test, made["id"], "test").result(10)
            receiver.wait_for(1)
        outcomes.append(outcome.outcome.result(10))

    assert outcomes[0].reply.problem != ""


@pytest.mark.parametrize("webhook", ["nobody", "%00"])
def test_a_webhook_that_is_not_known_cannot_be_tested(service: RunningService, webhook: str):
    status, error = refused(service, "POST", f"/v1/webhooks/{webhook}/test")

    assert (status, error["code"]) == (404, "NotFound")

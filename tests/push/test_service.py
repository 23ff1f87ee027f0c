"""Webhooks of a whole service, over REST: from the request that adds one to the delivery that arrives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from forewarn.control.push import webhooks as webhooks_module
from forewarn.store.tables import deliveries
from tests.fleets import SMALL
from tests.push.receiver import Receiver, receiving
from tests.push.samples import SECRET
from tests.running import RunningService, free_port, running, wait_until


def add(service: RunningService, receiver: Receiver, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = service.post("/v1/webhooks", {"url": receiver.url, **more}, expect=201)
    return made


def restart(service: RunningService, vm: str = "solo") -> str:
    """An event from its announcement to its end; its id."""
    service.guest(vm).document()
    event: str = service.post(f"/v1/vms/{vm}/restart")["event"]["id"]
    service.advance(hours=1)
    return event


def one(service: RunningService) -> dict[str, Any]:
    (found,) = service.get("/v1/webhooks")["webhooks"]
    return dict(found)


def rows(service: RunningService) -> int:
    """How much the outbox holds."""
    count = sa.select(sa.func.count()).select_from(deliveries)

    def read() -> int:
        with service.service.store.transaction() as transaction:
            return int(transaction.connection.execute(count).scalar() or 0)

    return service.service.runner.submit(read).result(60)


def test_an_event_is_told_from_its_announcement_to_its_end_and_guests_never_see_the_end(service: RunningService):
    with receiving() as receiver:
        made = add(service, receiver)
        event = restart(service)
        got = receiver.wait_for(3)

    assert [each.phase for each in got] == ["Scheduled", "Started", "Completed"]
    assert {each.json["subject"] for each in got} == {event}
    assert all(each.is_signed_with(made["secret"]) for each in got)
    assert service.guest("solo").events() == []


def test_both_forms_are_told_of_the_same_things_under_the_same_ids(service: RunningService):
    with receiving() as plain, receiving() as azure:
        add(service, plain)
        add(service, azure, format="eventgrid")
        restart(service)
        cloud, grid = plain.wait_for(3), azure.wait_for(3)

    assert [each.id for each in cloud] == [each.id for each in grid]
    assert [each.json["data"]["resourceInfo"]["properties"]["EventStatus"] for each in grid] == [
        "Scheduled",
        "Started",
        "Completed",
    ]
    assert all(isinstance(json.loads(each.body), list) for each in grid)


def test_a_cancelled_event_is_told_in_the_words_of_each_form(service: RunningService):
    with receiving() as plain, receiving() as azure:
        add(service, plain)
        add(service, azure, format="eventgrid")
        service.guest("solo").document()
        event = service.post("/v1/vms/solo/restart")["event"]["id"]
        service.post(f"/v1/events/{event}/cancel")
        cloud, grid = plain.wait_for(2)[1], azure.wait_for(2)[1]

    assert cloud.json["type"] == "forewarn.event.cancelled"
    assert grid.json["data"]["resourceInfo"]["properties"]["EventStatus"] == "Canceled"


def test_what_has_arrived_is_in_the_outbox_no_more(service: RunningService):
    with receiving() as receiver:
        add(service, receiver)
        restart(service)
        receiver.wait_for(3)

        wait_until(lambda: rows(service) == 0, "the outbox to be empty")

    told = one(service)
    assert (told["delivered_since_start"], told["waiting"], told["dead"], told["problem"]) == (3, 0, 0, "")


def test_a_secret_is_told_once_and_one_that_was_given_never(service: RunningService):
    with receiving() as receiver:
        made = add(service, receiver)
        given = add(service, receiver, secret=SECRET.replace(" ", "-"))
        restart(service)
        got = receiver.wait_for(6)
        listed = [
            service.operator("GET", path).body.decode()
            for path in ("/v1/webhooks", f"/v1/webhooks/{made['id']}", "/v1/webhooks/dead", "/metrics")
        ]

    assert made["secret"].startswith("fwh_")
    assert given["secret"] is None
    assert sum(each.is_signed_with(made["secret"]) for each in got) == 3
    assert sum(each.is_signed_with(SECRET.replace(" ", "-")) for each in got) == 3
    assert not [text for text in listed if made["secret"] in text or SECRET.replace(" ", "-") in text]


def test_a_store_that_holds_a_secret_is_its_owners_alone(tmp_path: Path):
    file = tmp_path / "store.db"
    with running(SMALL, store=f"sqlite:///{file}") as service, receiving() as receiver:
        file.chmod(0o644)
        add(service, receiver)

        assert file.stat().st_mode & 0o777 == 0o600


def test_a_key_in_the_query_of_an_address_is_sent_and_not_shown(service: RunningService):
    with receiving() as receiver:
        receiver_url = f"{receiver.url}?code=k3y"
        made = service.post("/v1/webhooks", {"url": receiver_url})
        restart(service)
        (first, *_) = receiver.wait_for(3)

    assert first.path == "/hook?code=k3y"
    assert made["url"] == one(service)["url"] == f"{receiver.url}?..."


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"url": "ftp://a.example/"}, 400, "over http or https"),
        ({"url": "a.example/hook"}, 400, "over http or https"),
        ({"url": ""}, 400, "it is empty"),
        ({"url": "http://"}, 400, "names no host"),
        ({"url": "http://a.example:99999/"}, 400, "its host or its port makes no sense"),
        ({"url": "http://a.example:0/"}, 400, "a port that there is not"),
        ({"url": "http://[::1/"}, 400, "its host or its port makes no sense"),
        ({"url": "http://a.example/x y"}, 400, "blanks"),
        ({"url": "http://bücher.example/"}, 400, "xn--"),
        ({"url": "http://a.example/\r\nX: y"}, 400, "blanks"),
        ({"url": "http://a.example/#top"}, 400, "fragment"),
        ({"url": f"http://a.example/{'x' * 2000}"}, 400, "2000 are allowed"),
        ({"url": "https://eve:pa55@a.example/"}, 400, "holds a user's name"),
        ({"url": "http://a.example/", "secret": "short"}, 400, "The secret cannot be used"),
        ({"url": "http://a.example/", "secret": "with blanks in between"}, 400, "The secret cannot be used"),
        ({"url": "http://a.example/", "format": "xml"}, 400, "xml"),
        ({"url": "http://a.example/", "kinds": ["Holiday"]}, 400, "Holiday"),
        ({"url": "http://a.example/", "scopes": ["nowhere"]}, 404, "There is no scope nowhere."),
        ({}, 400, "url"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_a_webhook_that_makes_no_sense_is_refused_with_a_sentence(
    service: RunningService, body: dict[str, Any], status: int, says: str
):
    reply = service.operator("POST", "/v1/webhooks", body)

    assert (reply.status, says in reply.json["error"]["message"]) == (status, True), reply
    assert reply.json["error"]["hint"]
    assert "pa55" not in reply.body.decode()
    assert service.get("/v1/webhooks")["webhooks"] == []


def test_there_are_only_so_many_webhooks(service: RunningService, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(webhooks_module, "MOST_WEBHOOKS", 1)
    with receiving() as receiver:
        add(service, receiver)

        reply = service.operator("POST", "/v1/webhooks", {"url": receiver.url})

    assert (reply.status, reply.json["error"]["code"]) == (409, "LimitReached")


def test_filters_choose_what_is_told(service: RunningService):
    with receiving() as of_solo, receiving() as of_all:
        add(service, of_solo, kinds=["Reboot"], scopes=["solo"])
        add(service, of_all)
        service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})
        restart(service)
        of_all.wait_for(9)

    assert [each.phase for each in of_solo.wait_for(3)] == ["Scheduled", "Started", "Completed"]
    assert len(of_solo.got) == 3


def test_one_that_is_removed_is_told_nothing_more_and_leaves_nothing(service: RunningService):
    with receiving() as receiver, receiving() as other:
        made = add(service, receiver)
        add(service, other)
        gone = service.operator("DELETE", f"/v1/webhooks/{made['id']}")
        restart(service)
        other.wait_for(3)

    assert gone.json["id"] == made["id"]
    assert receiver.got == []
    assert one(service)["id"] != made["id"]
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/resend")):
        reply = service.operator(method, f"/v1/webhooks/{made['id']}{path}")
        assert (reply.status, reply.json["error"]["message"]) == (404, f"There is no webhook {made['id']}.")


def test_what_is_given_up_is_listed_and_can_be_sent_again():
    with running(SMALL, webhook_tries=1) as service, receiving() as receiver:
        receiver.answers = [500, 500, 500]
        made = add(service, receiver)
        event = restart(service)
        wait_until(lambda: one(service)["dead"] == 3, "three dead letters")
        letters = service.get("/v1/webhooks/dead")["dead"]
        page = service.get("/v1/webhooks/dead?limit=2")
        rest = service.get(f"/v1/webhooks/dead?after={page['next']}&webhook={made['id']}")

        first = service.post(f"/v1/webhooks/{made['id']}/resend", {"letters": [letters[1]["id"]]})
        again = receiver.wait_for(4)[3]
        others = service.post(f"/v1/webhooks/{made['id']}/resend")
        receiver.wait_for(6)
        wait_until(lambda: rows(service) == 0, "the outbox to be empty")

    assert [letter["phase"] for letter in letters] == ["Scheduled", "Started", "Completed"]
    assert {(letter["event"], letter["tries"], letter["problem"]) for letter in letters} == {
        (event, 1, "answered 500")
    }
    assert [len(page["dead"]), len(rest["dead"]), rest["next"]] == [2, 1, None]
    assert (first["resent"], others["resent"]) == (1, 2)
    assert again.id == letters[1]["message"] == receiver.got[1].id
    assert {got.id for got in receiver.got[:3]} == {got.id for got in receiver.got[3:]}


@pytest.mark.parametrize(
    ("letters", "status", "says"),
    [(["1"], 404, "has no dead letter 1."), (["x"], 400, "is a number")],
    ids=["unknown", "no number"],
)
def test_only_dead_letters_that_there_are_can_be_sent_again(
    service: RunningService, letters: list[str], status: int, says: str
):
    with receiving() as receiver:
        made = add(service, receiver)

        reply = service.operator("POST", f"/v1/webhooks/{made['id']}/resend", {"letters": letters})

    assert (reply.status, says in reply.json["error"]["message"]) == (status, True), reply


def test_dead_letters_of_a_webhook_that_there_is_not_are_a_slip_and_no_empty_list(service: RunningService):
    unknown = service.operator("GET", "/v1/webhooks/dead?webhook=nobody")
    odd = service.operator("GET", "/v1/webhooks/dead?after=x")

    assert (unknown.status, odd.status) == (404, 400)
    assert service.get("/v1/webhooks/dead") == {"dead": [], "next": None}


def test_a_receiver_that_never_answers_delays_no_other_and_no_guest_and_no_stop():
    with receiving() as silent, receiving() as quick, running(SMALL, webhook_timeout=3600) as service:
        silent.answer = lambda _: None
        made = add(service, silent)
        add(service, quick)
        for vm in ("solo", "twin", "web-0"):
            restart(service, vm)

        quick.wait_for(9)

        assert service.get(f"/v1/webhooks/{made['id']}")["waiting"] == 9
        assert service.guest("solo").events() == []
    assert len(silent.got) == 1


def test_figures_of_deliveries_are_there_for_prometheus():
    with running(SMALL, webhook_tries=1) as service, receiving() as receiver:
        receiver.answers = [200, 500]
        made = add(service, receiver)
        restart(service)
        wait_until(lambda: one(service)["dead"] == 1 and one(service)["waiting"] == 0, "all to be settled")

        exposed = service.operator("GET", "/metrics").body.decode()

    lines = [line for line in exposed.splitlines() if made["id"] in line]
    assert lines == [
        f'forewarn_webhook_delivered_total{{webhook="{made["id"]}"}} 2.0',
        f'forewarn_webhook_failed_total{{webhook="{made["id"]}"}} 1.0',
        f'forewarn_webhook_waiting{{webhook="{made["id"]}"}} 0.0',
        f'forewarn_webhook_dead{{webhook="{made["id"]}"}} 1.0',
    ]


def test_who_added_and_removed_a_webhook_is_in_the_audit(service: RunningService):
    with receiving() as receiver:
        made = add(service, receiver, secret="a-secret-of-my-own")
        service.operator("DELETE", f"/v1/webhooks/{made['id']}")

    def read() -> list[tuple[str, ...]]:
        with service.service.store.transaction() as transaction:
            query = "SELECT actor, verb, detail FROM deeds WHERE verb LIKE '% webhook' ORDER BY id"
            return [tuple(row) for row in transaction.connection.exec_driver_sql(query)]

    assert service.service.runner.submit(read).result(60) == [
        ("operator", "add webhook", f"cloudevents to {receiver.url}"),
        ("operator", "remove webhook", "0 waiting, 0 dead"),
    ]


def test_a_store_that_is_away_for_a_while_loses_no_delivery(service: RunningService):
    from forewarn.errors import StoreUnavailable  # noqa: PLC0415 - beside its only use

    book = service.service.webhooks
    with receiving() as receiver, pytest.MonkeyPatch.context() as patch:
        add(service, receiver)
        failures = iter([True, True])
        real = webhooks_module.webhooks.waiting

        def away(*arguments: Any) -> Any:
            if next(failures, False):
                raise StoreUnavailable("The store did not answer.")
            return real(*arguments)

        patch.setattr(webhooks_module.webhooks, "waiting", away)
        service.guest("solo").document()
        service.post("/v1/vms/solo/restart")
        got = receiver.wait_for(1)

    assert [each.phase for each in got] == ["Scheduled"]
    assert not book._is_behind


def test_nobody_is_there_at_first_and_all_arrives_in_order_once_somebody_is(service: RunningService):
    port = free_port()
    service.post("/v1/webhooks", {"url": f"http://127.0.0.1:{port}/hook"})
    restart(service)
    wait_until(lambda: bool(one(service)["problem"]), "a try to fail")

    with receiving(port) as receiver:
        got = receiver.wait_for(3)

    assert [each.phase for each in got] == ["Scheduled", "Started", "Completed"]
    assert one(service)["problem"] == ""

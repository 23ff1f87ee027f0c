"""Deliveries over real sockets: retries, order, patience, and receivers that behave badly."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forewarn.control.push import courier as courier_module
from forewarn.control.push.courier import Courier, Means, Settled
from forewarn.control.push.delivery_queue import RetryPolicy
from forewarn.control.push.sending import HttpSender
from forewarn.store.webhooks import Format
from tests.push.receiver import dripping, receiving
from tests.push.samples import SECRET, delivery, hook
from tests.running import free_port, wait_until
from tests.sign_in.certificates import make_certificate

SIGNED_AT = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)


@contextmanager
def delivering(tries: int = 5, timeout: float = 10.0) -> Iterator[Courier]:
    """A courier in a hurry."""
    means = Means(
        RetryPolicy(first_seconds=0.01, most_seconds=0.02, tries=tries),
        make_sender=lambda: HttpSender(timeout),
        now=lambda: SIGNED_AT,
        chance=lambda: 1.0,
    )
    made = Courier(means)
    try:
        yield made
    finally:
        made.stop()


def settled(courier: Courier, *, arrived: int = 0, dead: int = 0) -> Settled:
    """The books once so many have arrived or are given up."""
    books = Settled()

    def is_done() -> bool:
        more = courier.take_settled()
        books.arrived.update(more.arrived)
        books.tried.update(more.tried)
        gone = [each for each in books.tried.values() if each.dead_at is not None]
        return len(books.arrived) >= arrived and len(gone) >= dead

    wait_until(is_done, f"{arrived} to arrive and {dead} to be given up; there is {books}")
    return books


def test_a_delivery_is_posted_with_its_type_its_id_and_a_signature():
    with receiving() as receiver, delivering() as courier:
        courier.serve(hook(url=f"{receiver.url}?code=1"))
        courier.take([delivery(1)])

        (got,) = receiver.wait_for(1)

    assert got.path == "/hook?code=1"
    assert got.body == delivery(1).body.encode()
    assert got.headers["content-type"] == "application/cloudevents+json"
    assert got.headers["forewarn-id"] == "message-1"
    assert got.headers["forewarn-signature"].startswith(f"t={int(SIGNED_AT.timestamp())},v1=")
    assert got.headers["user-agent"].startswith("forewarn/")
    assert got.is_signed_with(SECRET)
    assert not got.is_signed_with("another secret than this one")


def test_event_grid_is_posted_as_azure_posts_it():
    with receiving() as receiver, delivering() as courier:
        courier.serve(hook(url=receiver.url, form=Format.EVENTGRID))
        courier.take([delivery(1)])

        (got,) = receiver.wait_for(1)

    assert got.headers["content-type"] == "application/json; charset=utf-8"
    assert got.headers["aeg-event-type"] == "Notification"


def test_a_delivery_that_is_refused_is_repeated_under_the_same_id_until_it_is_taken():
    with receiving() as receiver, delivering() as courier:
        receiver.answers = [500, 404, 302]
        receiver.headers = {"Location": "/elsewhere"}
        courier.serve(hook(url=receiver.url))
        courier.take([delivery(1)])

        books = settled(courier, arrived=1)

    assert [got.path for got in receiver.got] == ["/hook"] * 4  # a redirect is not followed
    assert len({(got.id, got.body, got.headers["forewarn-id"]) for got in receiver.got}) == 1
    assert (list(books.arrived), courier.standing("hook")[1]) == ([1], 0)


def test_order_is_kept_for_each_event_and_one_that_fails_holds_up_no_other_event():
    with receiving() as receiver, delivering(tries=10**6) as courier:
        is_mended = threading.Event()
        receiver.answer = lambda got: 200 if got.json["subject"] != "A" or is_mended.is_set() else 503
        courier.serve(hook(url=receiver.url))
        courier.take([delivery(1, "A"), delivery(2, "B"), delivery(3, "A"), delivery(4, "B")])
        settled(courier, arrived=2)
        before = [got.id for got in receiver.of("A")]
        is_mended.set()
        settled(courier, arrived=2)

    taken = list(dict.fromkeys(got.id for got in receiver.got))
    assert set(before) == {"message-1"}
    assert [got.id for got in receiver.of("B")] == ["message-2", "message-4"]
    assert taken.index("message-1") < taken.index("message-3")


def test_a_receiver_that_never_answers_costs_another_nothing():
    with receiving() as silent, receiving() as quick, delivering(timeout=30.0) as courier:
        silent.answer = lambda _: None
        courier.serve(hook("silent", silent.url))
        courier.serve(hook("quick", quick.url))
        for number in range(1, 101):
            courier.take([delivery(2 * number, f"E{number}", "silent")])
            courier.take([delivery(2 * number + 1, f"E{number}", "quick")])

        quick.wait_for(100)

        assert len(silent.got) == 1
        assert courier.standing("silent")[1] == 100


def test_a_receiver_that_dribbles_is_given_up_in_time():
    with dripping(b"HTTP/1.1 200 OK\r\nX: ") as port, delivering(tries=1, timeout=0.3) as courier:
        courier.serve(hook(url=f"http://127.0.0.1:{port}/"))
        courier.take([delivery(1)])

        books = settled(courier, dead=1)

    assert books.tried[1].problem == "did not answer within 0.3 s"


def test_what_is_tried_too_often_is_given_up_and_the_next_of_its_event_is_told():
    with receiving() as receiver, delivering(tries=3) as courier:
        receiver.answer = lambda got: 500 if got.id == "message-1" else 200
        courier.serve(hook(url=receiver.url))
        courier.take([delivery(1), delivery(2)])

        books = settled(courier, arrived=1, dead=1)

    dead = books.tried[1]
    assert [got.id for got in receiver.got] == ["message-1"] * 3 + ["message-2"]
    assert (dead.tries, dead.problem, dead.dead_at) == (3, "answered 500", SIGNED_AT)


def test_a_receiver_that_asks_for_time_is_given_it():
    pauses: list[float] = []

    class Watch(courier_module.DeliveryQueue):
        def put_back(self, delivery, at: float) -> None:
            pauses.append(at)
            super().put_back(delivery, at)

    means = Means(RetryPolicy(first_seconds=1.0, most_seconds=600.0), monotonic=lambda: 1000.0, chance=lambda: 1.0)
    courier = Courier(means)
    with receiving() as receiver, pytest.MonkeyPatch.context() as patch:
        patch.setattr(courier_module, "DeliveryQueue", Watch)
        receiver.answers, receiver.headers = [503], {"Retry-After": "30"}
        courier.serve(hook(url=receiver.url))
        courier.take([delivery(1)])
        wait_until(lambda: bool(pauses), "the delivery to be put off")
        courier.stop()

    assert pauses == [1030.0]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://127.0.0.1:{port}/", "could not be reached: Connection refused"),
        ("http://name.invalid/", "could not be reached: "),
    ],
    ids=["nobody there", "no such name"],
)
def test_a_receiver_that_is_not_there_is_told_of_in_words(url: str, problem: str):
    with delivering(tries=1) as courier:
        courier.serve(hook(url=url.format(port=free_port())))
        courier.take([delivery(1)])

        books = settled(courier, dead=1)

    assert books.tried[1].problem.startswith(problem)


def test_a_certificate_that_nobody_vouches_for_is_not_trusted_and_one_that_somebody_does_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    authority = make_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")

    with receiving(tls=context) as receiver, delivering(tries=1) as courier:
        courier.serve(hook(url=receiver.url))
        courier.take([delivery(1)])
        books = settled(courier, dead=1)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        courier.serve(hook("trusting", receiver.url))
        courier.take([delivery(2, webhook="trusting")])
        settled(courier, arrived=1)

    assert books.tried[1].problem.startswith("has a certificate that cannot be trusted: ")
    assert [got.id for got in receiver.got] == ["message-2"]


def test_a_webhook_with_too_much_waiting_is_given_no_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(courier_module, "MOST_WAITING", 2)
    with receiving() as silent, delivering(timeout=30.0) as courier:
        silent.answer = lambda _: None
        courier.serve(hook(url=silent.url))
        courier.take([delivery(number) for number in (1, 2, 3)])

        books = settled(courier, dead=1)

        assert courier.standing("hook")[1] == 2
    assert books.tried[3].problem == "2 deliveries were waiting before it"


def test_stopping_waits_for_nobody_and_what_was_cut_off_was_no_try():
    with receiving() as silent:
        silent.answer = lambda _: None
        with delivering(timeout=3600.0) as courier:
            courier.serve(hook(url=silent.url))
            courier.take([delivery(1)])
            silent.wait_for(1)

        assert not courier.take_settled()


def test_one_that_is_dismissed_is_told_nothing_more():
    with receiving() as receiver, delivering() as courier:
        courier.serve(hook(url=receiver.url))
        courier.serve(hook("other", receiver.url))
        courier.dismiss("hook")

        courier.take([delivery(1), delivery(2, webhook="other")])
        settled(courier, arrived=1)

    assert [got.id for got in receiver.got] == ["message-2"]


def test_no_proxy_is_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    with receiving() as receiver, delivering(tries=1) as courier:
        courier.serve(hook(url=receiver.url))
        courier.take([delivery(1)])

        books = settled(courier, arrived=1)

    assert list(books.arrived) == [1]


def test_books_that_could_not_be_written_are_kept_unless_there_is_newer_word():
    courier = Courier()
    courier._note(delivery(1, tries=1), has_arrived=False)
    courier._note(delivery(2, tries=1), has_arrived=False)
    taken = courier.take_settled()
    courier._note(delivery(1, tries=1), has_arrived=True)
    courier._note(delivery(2, tries=2), has_arrived=False)

    courier.put_back(taken)

    books = courier.take_settled()
    assert list(books.arrived) == [1]
    assert {number: each.tries for number, each in books.tried.items()} == {2: 2}


def test_a_worker_survives_a_bug():
    class Broken(HttpSender):
        def send(self, url: str, body: bytes, headers: object) -> object:
            raise ZeroDivisionError

    courier = Courier(Means(RetryPolicy(first_seconds=0.01, tries=2), make_sender=lambda: Broken(1.0)))
    courier.serve(hook())
    courier.take([delivery(1)])

    books = settled(courier, dead=1)

    courier.stop()
    assert books.tried[1].problem == "failed through a bug: ZeroDivisionError"

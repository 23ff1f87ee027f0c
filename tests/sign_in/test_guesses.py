"""Guessing is slow, and only for who guesses."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forewarn.operator.roles import Role
from forewarn.operator.sign_in import guesses
from forewarn.operator.sign_in.checking import Caller, SignIn, Stranger
from forewarn.operator.sign_in.guesses import Guesses
from forewarn.operator.sign_in.keyring import digest_of
from forewarn.store.credentials import Credential, CredentialKind
from tests.fleets import SMALL
from tests.running import Reply, RunningService, call, running
from tests.sign_in.people import Book, ask_for_jwt, base, bearer, new_address


class Hand:
    """The hand of a clock that a test turns."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def tries(service: RunningService, token: str, source: str, path: str = "/v1/vms") -> Reply:
    return call("127.0.0.1", service.service.operator[1], "GET", path, None, bearer(token), source)


@pytest.fixture
def hand() -> Hand:
    return Hand()


def test_ten_wrong_guesses_are_free_and_then_each_waits_longer_up_to_a_limit(hand: Hand):
    counted = Guesses(hand)

    waits = [counted.wrong("10.0.0.1") for _ in range(20)]

    assert waits == [0] * 10 + [2, 4, 8, 16, 32, 64, 64, 64, 64, 64]


def test_what_lies_a_minute_back_counts_no_more(hand: Hand):
    counted = Guesses(hand)
    for _ in range(15):
        counted.wrong("10.0.0.1")
    hand.seconds += 61

    assert counted.wrong("10.0.0.1") == 0


def test_one_guess_every_seven_seconds_is_free_for_ever(hand: Hand):
    counted = Guesses(hand)

    for _ in range(100):
        hand.seconds += 7
        assert counted.wrong("10.0.0.1") == 0


def test_each_address_is_counted_by_itself(hand: Hand):
    counted = Guesses(hand)
    for _ in range(15):
        counted.wrong("10.0.0.1")

    assert counted.wrong("10.0.0.2") == 0


def test_all_of_an_ipv6_network_counts_as_one(hand: Hand):
    counted = Guesses(hand)
    for n in range(10):
        counted.wrong(f"2001:db8:1:2::{n:x}")

    assert counted.wrong("2001:db8:1:2:ffff::1") == 2
    assert counted.wrong("2001:db8:1:3::1") == 0


def test_ipv4_callers_of_a_listener_on_ipv6_are_counted_each_by_itself(hand: Hand):
    counted = Guesses(hand)
    for _ in range(15):
        counted.wrong("::ffff:10.0.0.1")

    assert counted.wrong("::ffff:10.0.0.2") == 0
    assert counted.is_slowed("10.0.0.1")


def test_the_table_is_bounded_and_forgets_who_guessed_longest_ago(hand: Hand):
    counted = Guesses(hand)
    for _ in range(10):
        counted.wrong("first")
        counted.wrong("second")
    counted.wrong("first")

    for n in range(guesses._MOST_ADDRESSES - 1):
        counted.wrong(f"later {n}")

    assert len(counted._by_address) == guesses._MOST_ADDRESSES
    assert counted.wrong("first") == 4
    assert counted.wrong("second") == 0


def note_waits(service: RunningService) -> list[float]:
    """How long guessers are kept waiting, without the waiting."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    service.service.sign_in.sleep = sleep
    return waits


# Over sockets.


def test_the_eleventh_wrong_token_in_a_minute_is_told_to_wait_and_a_good_one_is_let_in(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    with Book(store) as book:
        good = book.token("root")
    here = new_address()

    with running(SMALL, store=store) as service:
        waits = note_waits(service)
        wrong = [tries(service, f"fw_{n}", here) for n in range(13)]
        right = tries(service, good, here)
        silent = call("127.0.0.1", service.service.operator[1], "GET", "/v1/vms", source=here)
        arm = tries(service, "a.b.c", here, "/subscriptions?api-version=2022-12-01")
        elsewhere = tries(service, "fw_x", new_address())

    assert [reply.status for reply in wrong] == [401] * 10 + [429] * 3
    assert [reply.headers["retry-after"] for reply in wrong[10:]] == ["2", "4", "8"]
    assert waits == [2, 4, 5, 5]  # each was kept waiting for its answer, and the good one was not
    assert wrong[10].json["error"]["code"] == "TooManyGuesses"
    assert wrong[10].json["error"]["hint"] == "Try again in 2 s; a good token is let in at once."
    assert right.status == 200
    assert (silent.status, elsewhere.status) == (401, 401)
    assert (arm.status, arm.json["error"]["code"]) == (429, "TooManyRequests")


def test_a_token_that_was_good_once_is_no_guess_however_often_it_comes(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    with Book(store) as book:
        token = book.token("old")
        book.expire("old")
    here = new_address()

    with running(SMALL, store=store) as service:
        replies = [tries(service, token, here) for _ in range(20)]

    assert {reply.status for reply in replies} == {401}
    assert replies[-1].json["error"]["message"] == "The token old has expired."


def test_client_secrets_cannot_be_guessed_fast_either(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    with Book(store) as book:
        client, secret = book.principal("az")
    here = new_address()

    with running(SMALL, store=store) as service:
        form = {"grant_type": "client_credentials", "client_id": client, "scope": f"{base(service)}/.default"}
        waits = note_waits(service)
        wrong = [ask_for_jwt(service, {**form, "client_secret": f"s{n}"}, source=here) for n in range(12)]
        right = ask_for_jwt(service, {**form, "client_secret": secret}, source=here)

    assert [reply.status for reply in wrong] == [401] * 10 + [429] * 2
    assert wrong[-1].headers["retry-after"] == "4"
    assert waits == [2, 4]
    assert wrong[-1].json["error"] == "temporarily_unavailable"
    assert right.status == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_a_guesser_cannot_claim_to_call_from_elsewhere(tmp_path: Path, header: str):
    store = f"sqlite:///{tmp_path}/store.db"
    with Book(store) as book:
        book.token("root")

    with running(SMALL, store=store) as service:
        note_waits(service)
        statuses = [
            service.operator("GET", "/v1/vms", headers={header: f"10.0.0.{n}", **bearer(f"fw_{n}")}).status
            for n in range(12)
        ]

    assert statuses[-1] == 429


def test_what_comes_with_a_public_route_is_no_guess(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    with Book(store) as book:
        client, secret = book.principal("az")
    here = new_address()
    basic = base64.b64encode(f"{client}:{secret}".encode()).decode()

    with running(SMALL, store=store) as service:
        form = {"grant_type": "client_credentials", "scope": f"{base(service)}/.default"}
        given = [ask_for_jwt(service, form, source=here, Authorization=f"Basic {basic}") for _ in range(12)]
        healthy = [tries(service, "fw_stale", here, "/healthz") for _ in range(12)]
        mistyped = tries(service, "fw_x", here)

    assert {reply.status for reply in (*given, *healthy)} == {200}
    assert mistyped.status == 401


def test_a_flood_of_guesses_is_told_no_more_and_a_good_token_from_there_is_let_in(hand: Hand):
    sign_in = SignIn("tenant", lambda: datetime(2026, 3, 1, tzinfo=UTC), guesses=Guesses(hand))
    good = Credential("1", CredentialKind.TOKEN, "root", "admin", digest_of("good"), sign_in.now(), "test")
    principal = replace(good, id="2", kind=CredentialKind.PRINCIPAL, name="az")
    sign_in.keyring.hold([good, principal], b"key")

    def tried(token: str, address: str) -> Caller | Stranger:
        return sign_in.recognise([f"Bearer {token}"], "http://here", address)

    async def flood() -> list[object]:
        held = asyncio.Event()
        sign_in.sleep = lambda _: held.wait()
        waiting = [asyncio.create_task(sign_in.make_wait(tried("x", "10.0.0.1"))) for _ in range(300)]
        await asyncio.wait(waiting, timeout=0.1)
        answers = [
            tried("x", "10.0.0.1"),
            sign_in.recognise_client("2", "x", "10.0.0.1"),
            tried("x", "10.0.0.2"),
            tried("good", "10.0.0.1"),
            sign_in.recognise_client("2", "good", "10.0.0.1"),
        ]
        held.set()
        await asyncio.gather(*waiting)
        return answers

    answers = asyncio.run(flood())

    too_many = Stranger("Too many guesses are under way.", wait_seconds=5)
    assert answers == [
        too_many,
        too_many,
        Stranger("The token is not known here."),
        Caller("root", Role.ADMIN, "1"),
        principal,
    ]
    assert sign_in.held == 0

"""Words between agents: signed, fresh, once, and good for a while only."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from forewarn.agent.clock import Clock
from forewarn.agent.company import as_seen
from forewarn.agent.http1 import Request
from forewarn.agent.peers import Board
from forewarn.agent.settings import Peers
from forewarn.agent.telling import sign
from tests.agent.little_world import NOW, an_event

SECRET = "all for one"
E1 = an_event("E1", resources=("web-0", "web-1"))


class Hands:
    """The hands of a clock, to be put by a test."""

    def __init__(self) -> None:
        self.now = NOW
        self.steady = 1000.0

    def clock(self) -> Clock:
        return Clock(lambda: self.now, lambda: self.steady)

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.steady += seconds


def peers(**members: str) -> Peers:
    return Peers(("127.0.0.1", 0), SECRET, members, expiry_seconds=10)


def word(
    at: float,
    *,
    event: str = "E1",
    vm: str = "web-1",
    seconds: float = 10,
    seen_as: str | None = as_seen(E1),
    secret: str = SECRET,
) -> Request:
    said = {"event": event, "vm": vm, "for_seconds": seconds} | ({} if seen_as is None else {"seen_as": seen_as})
    body = json.dumps(said).encode()
    stamp = f"{at:.6f}"
    headers = {
        "forewarn-time": stamp,
        "forewarn-signature": sign(secret, stamp, body),
    }
    return Request("POST", "/ready", headers, body)


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def board(hands: Hands) -> Board:
    board = Board(peers(), hands.clock(), lambda: None)
    hands.pass_by(100)
    return board


def now_of(hands: Hands) -> float:
    return hands.now.timestamp()


def status(answer: bytes) -> int:
    return int(answer.split()[1])


def test_a_word_counts_until_it_expires(board: Board, hands: Hands):
    assert status(board.answer(word(now_of(hands)))) == 200

    ready = board.ready_for(E1)
    hands.pass_by(10.1)

    assert ready == {"web-1"}
    assert board.ready_for(E1) == set()


def test_a_word_counts_for_its_event_only(board: Board, hands: Hands):
    board.answer(word(now_of(hands)))

    assert board.ready_for(replace(E1, id="E2")) == set()


@pytest.mark.parametrize(
    "change",
    [
        {"type": "Redeploy"},
        {"resources": ("web-0", "web-1", "web-2")},
        {"not_before": NOW + timedelta(seconds=1)},
        {"not_before": None},
        {"source": "User"},
        {"duration_seconds": 900},
        {"description": "in other words"},
    ],
    ids=[
        "another type",
        "one more VM",
        "another time",
        "no time",
        "another source",
        "longer",
        "described otherwise",
    ],
)
def test_a_word_counts_only_for_the_event_as_the_leader_sees_it(
    board: Board, hands: Hands, change: dict, caplog: pytest.LogCaptureFixture
):
    board.answer(word(now_of(hands)))
    changed = replace(E1, **change)

    assert [board.ready_for(changed) for _ in range(2)] == [set(), set()]
    assert caplog.text.count("sees the event as another") == 1, "said once"
    board.answer(word(now_of(hands) + 1, seen_as=as_seen(changed)))
    assert board.ready_for(changed) == {"web-1"}


def test_a_word_counts_however_the_leader_spells_and_orders_the_same(board: Board, hands: Hands):
    board.answer(word(now_of(hands)))
    same = replace(E1, resources=("WEB-1", "web-0"), type=E1.type.upper())

    assert board.ready_for(same) == {"web-1"}


def test_an_older_agent_that_does_not_say_for_what_it_is_ready_is_not_counted_but_may_take_its_word_back(
    board: Board, hands: Hands
):
    refused = board.answer(word(now_of(hands), seen_as=None))
    unready = board.answer(word(now_of(hands), seen_as=None, seconds=0))

    assert (status(refused), status(unready)) == (403, 200)
    assert b"older" in refused
    assert board.ready_for(E1) == set()


def test_a_word_is_renewed_by_the_next_and_withdrawn_by_one_of_no_time(board: Board, hands: Hands):
    board.answer(word(now_of(hands)))
    hands.pass_by(8)
    board.answer(word(now_of(hands)))
    hands.pass_by(8)
    renewed = board.ready_for(E1)

    board.answer(word(now_of(hands), seconds=0))

    assert renewed == {"web-1"}
    assert board.ready_for(E1) == set()


def test_a_word_does_not_outlive_a_sleep_of_the_leaders_machine(board: Board, hands: Hands):
    board.answer(word(now_of(hands)))

    hands.now += timedelta(minutes=5)  # and its steady clock stood still

    assert board.ready_for(E1) == set()


@pytest.mark.parametrize("behind", [-50, 50])
def test_the_word_of_a_peer_whose_clock_differs_counts_as_long_as_any(board: Board, hands: Hands, behind: int):
    hands.pass_by(100)
    board.answer(word(now_of(hands) - behind))

    hands.pass_by(9.9)
    ready = board.ready_for(E1)
    hands.pass_by(0.2)

    assert ready == {"web-1"}
    assert board.ready_for(E1) == set()


def test_nobody_can_be_ready_for_longer_than_the_leader_thinks_fit(board: Board, hands: Hands):
    board.answer(word(now_of(hands), seconds=1e9))

    hands.pass_by(10.1)

    assert board.ready_for(E1) == set()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"secret": "none for all"}, "signature"),
        ({"at": -61}, "clocks"),
        ({"at": 61}, "clocks"),
        ({"at": float("nan")}, "clocks"),
    ],
    ids=["another secret", "too old", "from the future", "no time"],
)
def test_a_word_that_cannot_be_trusted_does_not_count(board: Board, hands: Hands, change: dict, why: str):
    answer = board.answer(word(**{**change, "at": now_of(hands) + change.get("at", 0)}))

    assert status(answer) == 403
    assert why in answer.decode()
    assert board.ready_for(E1) == set()


def test_what_was_signed_cannot_be_changed(board: Board, hands: Hands):
    said = word(now_of(hands))
    forged = Request("POST", "/ready", said.headers, said.body.replace(b"web-1", b"web-2"))

    assert status(board.answer(forged)) == 403
    assert board.ready_for(E1) == set()


def test_a_word_that_is_repeated_by_a_stranger_does_not_count(board: Board, hands: Hands):
    first = word(now_of(hands))
    board.answer(first)
    hands.pass_by(1)
    board.answer(word(now_of(hands), seconds=0))

    replayed = board.answer(first)

    assert status(replayed) == 403
    assert board.ready_for(E1) == set()


def test_a_word_that_arrives_after_a_later_one_does_not_count(board: Board, hands: Hands):
    early = word(now_of(hands))
    hands.pass_by(1)
    board.answer(word(now_of(hands), seconds=0))

    overtaken = board.answer(early)

    assert status(overtaken) == 403
    assert board.ready_for(E1) == set()


def test_a_word_from_before_the_leader_lived_does_not_count(hands: Hands):
    said = word(now_of(hands))
    hands.pass_by(20)
    newborn = Board(peers(), hands.clock(), lambda: None)

    answer = newborn.answer(said)

    assert status(answer) == 403
    assert newborn.ready_for(E1) == set()


def test_a_word_that_may_be_from_before_the_leader_lived_does_not_count(hands: Hands):
    newborn = Board(peers(), hands.clock(), lambda: None)
    hands.pass_by(4)  # clocks may differ by so much
    early = newborn.answer(word(now_of(hands)))
    hands.pass_by(2)
    later = newborn.answer(word(now_of(hands)))

    assert (status(early), status(later)) == (403, 200)
    assert newborn.ready_for(E1) == {"web-1"}


def test_clocks_that_are_put_back_do_not_silence_anybody(board: Board, hands: Hands):
    board.answer(word(now_of(hands)))

    hands.now -= timedelta(hours=1)

    assert status(board.answer(word(now_of(hands)))) == 200


def test_a_flood_of_words_is_bounded(board: Board, hands: Hands):
    statuses = {status(board.answer(word(now_of(hands), event=f"E{n}"))) for n in range(10_002)}
    unready = [status(board.answer(word(now_of(hands) + 1, event=each, seconds=0))) for each in ("E1", "E10001")]

    assert statuses == {200, 403}
    assert len(board._words) <= 10_000
    assert unready == [200, 200], "a word is taken back all the same"
    assert board.ready_for(E1) == set()


def test_a_hundred_agents_that_say_again_and_again_that_they_are_ready_are_all_heard(board: Board, hands: Hands):
    refused = 0
    for _ in range(60):
        hands.pass_by(10 / 3)  # as often as they are to be renewed
        for number in range(100):
            for event in ("E1", "E2", "E3"):
                said = word(now_of(hands), event=event, vm=f"web-{number}")
                refused += status(board.answer(said)) != 200

    assert refused == 0
    assert len(board.ready_for(E1)) == 100


@pytest.mark.parametrize(
    "request_",
    [Request("GET", "/ready"), Request("POST", "/"), Request("POST", "/ready", {}, b"[]")],
    ids=["another method", "another path", "no word"],
)
def test_what_is_no_word_is_refused(board: Board, request_: Request):
    assert status(board.answer(request_)) in {403, 404}

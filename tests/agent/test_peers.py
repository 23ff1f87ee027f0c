"""Words between agents: signed, fresh, once, and good for a while only."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from forewarn.agent.clock import Clock
from forewarn.agent.company import Promise, TakenBack
from forewarn.agent.http1 import Request
from forewarn.agent.listening import Listener
from forewarn.agent.peers import Board, Teller, _member, sign
from forewarn.agent.settings import Peers
from tests.agent.little_world import NOW
from tests.running import wait_until

SECRET = "all for one"


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
    nonce: str = "n1",
    secret: str = SECRET,
) -> Request:
    body = json.dumps({"event": event, "vm": vm, "for_seconds": seconds}).encode()
    stamp = f"{at:.6f}"
    headers = {
        "forewarn-time": stamp,
        "forewarn-nonce": nonce,
        "forewarn-signature": sign(secret, stamp, nonce, body),
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

    ready = board.ready_for("E1")
    hands.pass_by(10.1)

    assert ready == {"web-1"}
    assert board.ready_for("E1") == set()


def test_a_word_counts_for_its_event_only(board: Board, hands: Hands):
    board.answer(word(now_of(hands)))

    assert board.ready_for("E2") == set()


def test_a_word_is_renewed_by_the_next_and_withdrawn_by_one_of_no_time(board: Board, hands: Hands):
    board.answer(word(now_of(hands)))
    hands.pass_by(8)
    board.answer(word(now_of(hands), nonce="n2"))
    hands.pass_by(8)
    renewed = board.ready_for("E1")

    board.answer(word(now_of(hands), nonce="n3", seconds=0))

    assert renewed == {"web-1"}
    assert board.ready_for("E1") == set()


def test_nobody_can_be_ready_for_longer_than_the_leader_thinks_fit(board: Board, hands: Hands):
    board.answer(word(now_of(hands), seconds=1e9))

    hands.pass_by(10.1)

    assert board.ready_for("E1") == set()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"secret": "none for all"}, "signature"),
        ({"at": -61}, "clocks"),
        ({"at": 61}, "clocks"),
        ({"nonce": ""}, "said before"),
        ({"at": float("nan")}, "clocks"),
    ],
    ids=["another secret", "too old", "from the future", "no nonce", "no time"],
)
def test_a_word_that_cannot_be_trusted_does_not_count(board: Board, hands: Hands, change: dict, why: str):
    answer = board.answer(word(**{**change, "at": now_of(hands) + change.get("at", 0)}))

    assert status(answer) == 403
    assert why in answer.decode()
    assert board.ready_for("E1") == set()


def test_what_was_signed_cannot_be_changed(board: Board, hands: Hands):
    said = word(now_of(hands))
    forged = Request("POST", "/ready", said.headers, said.body.replace(b"web-1", b"web-2"))

    assert status(board.answer(forged)) == 403
    assert board.ready_for("E1") == set()


def test_a_word_that_is_repeated_by_a_stranger_does_not_count(board: Board, hands: Hands):
    first = word(now_of(hands))
    board.answer(first)
    hands.pass_by(1)
    board.answer(word(now_of(hands), nonce="n2", seconds=0))

    replayed = board.answer(first)

    assert status(replayed) == 403
    assert board.ready_for("E1") == set()


def test_a_word_that_arrives_after_a_later_one_does_not_count(board: Board, hands: Hands):
    early = word(now_of(hands), nonce="n1")
    hands.pass_by(1)
    board.answer(word(now_of(hands), nonce="n2", seconds=0))

    overtaken = board.answer(early)

    assert status(overtaken) == 403
    assert board.ready_for("E1") == set()


def test_a_word_from_before_the_leader_lived_does_not_count(hands: Hands):
    said = word(now_of(hands))
    hands.pass_by(20)
    newborn = Board(peers(), hands.clock(), lambda: None)

    answer = newborn.answer(said)

    assert status(answer) == 403
    assert newborn.ready_for("E1") == set()


def test_clocks_that_are_put_back_do_not_silence_anybody(board: Board, hands: Hands):
    board.answer(word(now_of(hands)))

    hands.now -= timedelta(hours=1)

    assert status(board.answer(word(now_of(hands), nonce="n2"))) == 200


def test_a_flood_of_words_is_bounded(board: Board, hands: Hands):
    statuses = {status(board.answer(word(now_of(hands), event=f"E{n}", nonce=str(n)))) for n in range(10_002)}

    assert statuses == {200, 403}
    assert len(board._words) <= 10_000


@pytest.mark.parametrize(
    "request_",
    [Request("GET", "/ready"), Request("POST", "/"), Request("POST", "/ready", {}, b"[]")],
    ids=["another method", "another path", "no word"],
)
def test_what_is_no_word_is_refused(board: Board, request_: Request):
    assert status(board.answer(request_)) in {403, 404}


@contextmanager
def leader() -> Iterator[tuple[Board, Peers]]:
    clock = Clock()
    board = Board(peers(), clock, lambda: None)
    listener = Listener(("127.0.0.1", 0), board.answer, "leader")
    try:
        yield board, Peers(("127.0.0.1", 0), SECRET, {"Web-0": f"127.0.0.1:{listener.port}"}, expiry_seconds=0.6)
    finally:
        listener.close()


def test_a_promise_is_told_renewed_and_taken_back():
    with leader() as (board, known):
        teller = Teller(known, Clock())
        promise = Promise("E1", "web-1", "web-0")

        teller.tell(frozenset({promise}))
        wait_until(lambda: board.ready_for("E1") == {"web-1"}, "the word", 10)
        first = board._words["E1", "web-1"]
        wait_until(lambda: board._words["E1", "web-1"] != first, "the word again", 10)
        teller.tell(frozenset())
        wait_until(lambda: board.ready_for("E1") == set(), "the word to be taken back", 10)

        teller.close()
        assert board.ready_for("E1") == set()


def test_an_agent_that_ends_takes_its_word_back():
    with leader() as (board, known):
        teller = Teller(known, Clock())
        teller.tell(frozenset({Promise("E1", "web-1", "web-0")}))
        wait_until(lambda: board.ready_for("E1") == {"web-1"}, "the word", 10)

        teller.close()

        assert board.ready_for("E1") == set()


@pytest.mark.parametrize("members", [{}, {"web-0": "127.0.0.1:1"}], ids=["not a member", "not there"])
def test_a_leader_that_cannot_be_told_is_said_once(members: dict[str, str], caplog: pytest.LogCaptureFixture):
    teller = Teller(Peers(("127.0.0.1", 0), SECRET, members, expiry_seconds=0.03), Clock())

    teller.tell(frozenset({Promise("E1", "web-1", "web-0")}))
    wait_until(lambda: "the leader was not told" in caplog.text, "a warning", 10)
    teller.close()

    assert caplog.text.count("the leader was not told") == 1


class Deaf:
    """A leader that hears nothing for a while."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self.is_deaf = threading.Event()
        self.missed = 0

    def answer(self, request: Request) -> bytes:
        if not self.is_deaf.is_set():
            return self._board.answer(request)
        self.missed += 1
        return b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"


@contextmanager
def deaf_leader(expiry_seconds: float) -> Iterator[tuple[Board, Deaf, Teller]]:
    """A leader, and a follower who has given it its word for E1."""
    board = Board(peers(), Clock(), lambda: None)
    ears = Deaf(board)
    listener = Listener(("127.0.0.1", 0), ears.answer, "leader")
    known = Peers(("127.0.0.1", 0), SECRET, {"web-0": f"127.0.0.1:{listener.port}"}, expiry_seconds=expiry_seconds)
    teller = Teller(known, Clock())
    try:
        teller.tell(frozenset({Promise("E1", "web-1", "web-0")}))
        wait_until(lambda: board.ready_for("E1") == {"web-1"}, "the word", 10)
        yield board, ears, teller
    finally:
        teller.close()
        listener.close()


def test_a_word_is_taken_back_again_and_again_until_the_leader_has_heard_it():
    with deaf_leader(expiry_seconds=10) as (board, ears, teller):
        ears.is_deaf.set()
        teller.tell(frozenset())
        wait_until(lambda: ears.missed >= 2, "two tries", 10)
        meanwhile = board.ready_for("E1")
        ears.is_deaf.clear()
        wait_until(lambda: board.ready_for("E1") == set(), "the word to be taken back", 8)

    assert meanwhile == {"web-1"}


def test_whoever_takes_a_word_back_learns_whether_the_leader_knows():
    with deaf_leader(expiry_seconds=10) as (board, ears, teller):
        ears.is_deaf.set()
        not_yet = teller.take_back("E1", 0.05)
        ears.is_deaf.clear()
        known = teller.take_back("E1", 10)

        assert board.ready_for("E1") == set()
        assert teller.take_back("E1", 10) is None
        assert teller.take_back("E2", 10) is None
    assert not_yet is not None
    assert (not_yet.leader, not_yet.is_known) == ("web-0", False)
    assert 8 < not_yet.seconds <= 13
    assert "web-0, who approves for all, could not be told yet" in not_yet.in_words()
    assert known == TakenBack("web-0", is_known=True)


def test_a_word_that_has_expired_need_not_be_taken_back_any_more():
    with deaf_leader(expiry_seconds=0.3) as (board, ears, teller):
        ears.is_deaf.set()
        taken = teller.take_back("E1", 10)

        assert board.ready_for("E1") == set()
    assert taken == TakenBack("web-0", is_known=True)


@pytest.mark.parametrize(
    "leader", ["WEB_36", "_web_36", "web000010"], ids=["any case", "the early form", "its computer"]
)
def test_a_member_is_found_by_every_form_of_its_name(leader: str):
    assert _member({"web_36": "10.0.0.4:8257", "web_1": "10.0.0.5:8257"}, leader) == "10.0.0.4:8257"
    assert _member({"web_1": "10.0.0.5:8257"}, leader) == ""

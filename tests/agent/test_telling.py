"""How leaders are told: while it holds, no later, and one without waiting for the other."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from forewarn.agent.clock import Clock
from forewarn.agent.company import Fate, Promise, TakenBack, as_seen
from forewarn.agent.http1 import Request
from forewarn.agent.listening import Listener
from forewarn.agent.peers import Board
from forewarn.agent.settings import Peers
from forewarn.agent.telling import Teller, _member
from tests.agent.little_world import an_event
from tests.agent.looking import STEADY
from tests.waiting import wait_until

SECRET = "all for one"
E1 = an_event("E1", resources=("web-0", "web-1"))
PROMISE = Promise("E1", "web-1", "web-0", as_seen(E1))


def peers(**members: str) -> Peers:
    return Peers(("127.0.0.1", 0), SECRET, members, expiry_seconds=10)


@contextmanager
def leader() -> Iterator[tuple[Board, Peers]]:
    clock = Clock()
    board = Board(peers(), clock, lambda: None)
    board._born_at -= 60  # it has lived for a while
    listener = Listener(("127.0.0.1", 0), board.answer, "leader")
    try:
        yield board, Peers(("127.0.0.1", 0), SECRET, {"Web-0": f"127.0.0.1:{listener.port}"}, expiry_seconds=0.6)
    finally:
        listener.close()


def test_a_promise_is_told_renewed_and_taken_back():
    with leader() as (board, known):
        teller = Teller(known, Clock())

        teller.tell(frozenset({PROMISE}))
        wait_until(lambda: board.ready_for(E1) == {"web-1"}, "the word", 60)
        first = board._words["E1", "web-1"]
        wait_until(lambda: board._words["E1", "web-1"] != first, "the word again", 60)
        teller.tell(frozenset())
        wait_until(lambda: board.ready_for(E1) == set(), "the word to be taken back", 60)

        teller.close()
        assert board.ready_for(E1) == set()


def test_an_agent_that_ends_takes_its_word_back():
    with leader() as (board, known):
        teller = Teller(known, Clock())
        teller.tell(frozenset({PROMISE}))
        wait_until(lambda: board.ready_for(E1) == {"web-1"}, "the word", 60)

        teller.close()

        assert board.ready_for(E1) == set()


@pytest.mark.parametrize("members", [{}, {"web-0": "127.0.0.1:1"}], ids=["not a member", "not there"])
def test_a_leader_that_cannot_be_told_is_said_once(members: dict[str, str], caplog: pytest.LogCaptureFixture):
    teller = Teller(Peers(("127.0.0.1", 0), SECRET, members, expiry_seconds=0.03), Clock())

    teller.tell(frozenset({PROMISE}))
    wait_until(lambda: "the leader was not told" in caplog.text, "a warning", 60)
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
def deaf_leader(
    expiry_seconds: float, *, has_approved: bool | None = False
) -> Iterator[tuple[Board, Deaf, Teller]]:
    """A leader, and a follower who has given it its word for E1."""
    board = Board(peers(), Clock(), lambda: None, lambda _: has_approved)
    board._born_at -= 60  # it has lived for a while
    ears = Deaf(board)
    listener = Listener(("127.0.0.1", 0), ears.answer, "leader")
    known = Peers(("127.0.0.1", 0), SECRET, {"web-0": f"127.0.0.1:{listener.port}"}, expiry_seconds=expiry_seconds)
    teller = Teller(known, Clock())
    try:
        teller.tell(frozenset({PROMISE}))
        wait_until(lambda: board.ready_for(E1) == {"web-1"}, "the word", 60)
        yield board, ears, teller
    finally:
        teller.close()
        listener.close()


def test_a_word_is_taken_back_again_and_again_until_the_leader_has_heard_it():
    with deaf_leader(expiry_seconds=10) as (board, ears, teller):
        ears.is_deaf.set()
        teller.tell(frozenset())
        wait_until(lambda: ears.missed >= 2, "two tries", 60)
        meanwhile = board.ready_for(E1)
        ears.is_deaf.clear()
        wait_until(lambda: board.ready_for(E1) == set(), "the word to be taken back", 8)

    assert meanwhile == {"web-1"}


def test_whoever_takes_a_word_back_learns_whether_the_leader_knows():
    with deaf_leader(expiry_seconds=10) as (board, ears, teller):
        ears.is_deaf.set()
        not_yet = teller.take_back("E1", 0.05)
        ears.is_deaf.clear()
        known = teller.take_back("E1", 10)

        assert board.ready_for(E1) == set()
        assert teller.take_back("E1", 10) is None
        assert teller.take_back("E2", 10) is None
    assert not_yet is not None
    assert (not_yet.leader, not_yet.fate) == ("web-0", Fate.MAY_COUNT)
    assert 0 < not_yet.seconds <= 13
    assert "web-0, who approves for all, could not be told yet" in not_yet.in_words()
    assert known == TakenBack("web-0", Fate.TAKEN_BACK)


@pytest.mark.parametrize(
    ("has_approved", "fate"),
    [(False, Fate.TAKEN_BACK), (True, Fate.TOO_LATE), (None, Fate.MAY_COUNT)],
    ids=["not approved", "approved already", "too busy to say"],
)
def test_whoever_takes_a_word_back_learns_whether_the_leader_has_approved_already(
    *, has_approved: bool | None, fate: Fate
):
    with deaf_leader(expiry_seconds=10, has_approved=has_approved) as (board, _, teller):
        taken = teller.take_back("E1", 1)

        assert board.ready_for(E1) == set()
    assert taken is not None
    assert taken.fate is fate
    assert ("has approved it already" in taken.in_words()) == (has_approved is True)


def test_a_leader_that_is_silent_delays_no_word_to_another():
    with leader() as (board, known), socket.create_server(("127.0.0.1", 0)) as silent:
        members = {**known.members, "web-9": f"127.0.0.1:{silent.getsockname()[1]}"}
        teller = Teller(replace(known, members=members, expiry_seconds=60), Clock())
        unheard = [Promise(f"F{n}", "web-1", "web-9", "") for n in range(3)]
        began_at = STEADY()

        teller.tell(frozenset({*unheard, PROMISE}))
        wait_until(lambda: board.ready_for(E1) == {"web-1"}, "the word", 60)
        taken = teller.take_back("E1", 10)

        assert taken == TakenBack("web-0", Fate.TAKEN_BACK)
        assert STEADY() - began_at < 2.5, "not even one of the others was given up by then"
        teller.close()


def test_a_word_that_is_not_wanted_any_more_is_not_sent_though_its_turn_was_near():
    heard: list[dict] = []
    is_open = threading.Event()

    def answer(request: Request) -> bytes:
        heard.append(json.loads(request.body))
        is_open.wait(2)
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

    listener = Listener(("127.0.0.1", 0), answer, "leader")
    teller = Teller(peers(**{"web-0": f"127.0.0.1:{listener.port}"}), Clock())
    promises = {name: replace(PROMISE, event=name) for name in ("E1", "E2")}
    teller.tell(frozenset(promises.values()))
    wait_until(lambda: heard, "the first word")
    [other] = promises.keys() - {heard[0]["event"]}
    taken = teller.take_back(other, 10)
    is_open.set()
    teller.close()
    listener.close()

    assert taken is None, "it was never given"
    assert other not in {each["event"] for each in heard}


def test_a_word_for_what_an_event_has_become_replaces_the_one_before():
    later = replace(E1, type="Redeploy")
    with deaf_leader(expiry_seconds=10) as (board, _, teller):
        teller.tell(frozenset({replace(PROMISE, seen_as=as_seen(later))}))
        wait_until(lambda: board.ready_for(later) == {"web-1"}, "the new word", 60)

        assert board.ready_for(E1) == set()
        assert teller.take_back("E1", 10) == TakenBack("web-0", Fate.TAKEN_BACK)
        assert board.ready_for(later) == set()


def test_a_leader_to_whom_nothing_is_left_to_say_costs_no_thread():
    with deaf_leader(expiry_seconds=10) as (board, _, teller):
        teller.tell(frozenset())
        wait_until(lambda: not teller._threads, "the thread to end", 60)
        unready = board.ready_for(E1)
        teller.tell(frozenset({PROMISE}))
        wait_until(lambda: board.ready_for(E1) == {"web-1"}, "the word once more", 60)

    assert unready == set()


def test_a_promise_that_nobody_renews_is_taken_back_when_it_ends_and_given_again_when_it_is_renewed():
    with deaf_leader(expiry_seconds=10) as (board, _, teller):
        lasting = replace(PROMISE, event="E2")
        teller.tell(frozenset({replace(PROMISE, until=STEADY() + 0.2), lasting}))
        wait_until(lambda: board.ready_for(E1) == set(), "the word to be taken back", 8)
        kept = board.ready_for(replace(E1, id="E2"))
        teller.tell(frozenset({PROMISE, lasting}))
        wait_until(lambda: board.ready_for(E1) == {"web-1"}, "the word once more", 8)

    assert kept == {"web-1"}


def test_a_word_that_was_not_heard_is_said_again_soon():
    board = Board(peers(), Clock(), lambda: None)
    board._born_at -= 60
    ears = Deaf(board)
    ears.is_deaf.set()
    listener = Listener(("127.0.0.1", 0), ears.answer, "leader")
    teller = Teller(replace(peers(**{"web-0": f"127.0.0.1:{listener.port}"}), expiry_seconds=600), Clock())
    teller.tell(frozenset({PROMISE}))
    wait_until(lambda: ears.missed, "a try")
    ears.is_deaf.clear()
    wait_until(lambda: board.ready_for(E1) == {"web-1"}, "the word", 20)
    teller.close()
    listener.close()

    assert board.ready_for(E1) == set(), "and taken back in the end"


def test_a_promise_that_has_ended_before_it_could_be_told_is_not_told():
    with deaf_leader(expiry_seconds=10) as (board, _, teller):
        teller.tell(frozenset({PROMISE, replace(PROMISE, event="E2", until=STEADY() - 0.1)}))
        teller.tell(frozenset({PROMISE, replace(PROMISE, event="E3")}))
        wait_until(lambda: board.ready_for(replace(E1, id="E3")) == {"web-1"}, "the word for another event", 8)

        assert board.ready_for(replace(E1, id="E2")) == set()


def test_a_word_that_has_expired_need_not_be_taken_back_any_more():
    with deaf_leader(expiry_seconds=0.3) as (board, ears, teller):
        ears.is_deaf.set()
        taken = teller.take_back("E1", 10)

        assert board.ready_for(E1) == set()
    assert taken == TakenBack("web-0", Fate.EXPIRED)


@pytest.mark.parametrize(
    "leader", ["WEB_36", "_web_36", "web000010"], ids=["any case", "the early form", "its computer"]
)
def test_a_member_is_found_by_every_form_of_its_name(leader: str):
    assert _member({"web_36": "10.0.0.4:8257", "web_1": "10.0.0.5:8257"}, leader) == "10.0.0.4:8257"
    assert _member({"web_1": "10.0.0.5:8257"}, leader) == ""

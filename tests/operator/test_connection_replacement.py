"""At the limit on connections, a new one replaces the one that has waited longest for its client."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from tests.operator.serving import GET, LONG, answer, listening, status
from tests.running import wait_until


def test_new_connection_replaces_the_one_that_has_waited_longest():
    with listening(connections=3, **LONG) as listener:
        silent = [listener.connect() for _ in range(3)]
        wait_until(lambda: len(listener.server._open) == 3, "the silent connections")

        with listener.connect() as new:
            new.sendall(GET)
            replied = status(new)
        closed = answer(silent[0])
        silent[1].sendall(GET)
        still_served = status(silent[1])

    assert (replied, closed, still_served) == (200, b"", 200)


@pytest.mark.parametrize("path", ["/body", "/at-once"], ids=["unanswered", "answered already"])
def test_new_connection_replaces_one_whose_body_does_not_arrive(path: str):
    with listening(connections=2) as listener:
        slow = [listener.connect() for _ in range(2)]
        for each in slow:
            each.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx" % path.encode())
        wait_until(
            lambda: [each._awaits_head for each in list(listener.server._open)] == [False, False], "both heads"
        )

        with listener.connect() as new:
            new.sendall(GET)

            assert status(new) == 200


def test_new_connection_replaces_one_that_was_refused_and_lingers():
    with listening(connections=1, head_bytes=2000) as listener:
        refused = listener.connect()
        refused.sendall(GET[:-2] + b"A: %s\r\n\r\n" % (b"x" * 5000))
        assert status(refused) == 431

        new = listener.connect()
        new.sendall(GET)

        assert status(new) == 200
        assert len(listener.server._open) == 1


def test_new_connection_replaces_one_that_does_not_read_its_whole_answer():
    with listening(connections=1) as listener:
        listener.connect().sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        wait_until(lambda: any(each._stall for each in list(listener.server._open)), "the pause")

        new = listener.connect()
        new.sendall(GET)

        assert status(new) == 200


def test_connection_is_closed_at_once_when_all_others_are_busy():
    with listening(connections=2) as listener, capture_logs() as logged:
        busy = [listener.connect() for _ in range(2)]
        for each in busy:
            each.sendall(b"GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: not listener.server._waiting and len(listener.server._open) == 2, "both requests")

        closed = [answer(listener.connect()) for _ in range(5)]
        listener.soon(listener.may_answer.set)
        replied = [status(each) for each in busy]

    assert closed == [b""] * 5
    assert replied == [200, 200]
    assert [each["event"] for each in logged] == ["operator connection limit reached"]


def test_connection_that_answers_a_pipelined_request_is_not_replaced():
    with listening(connections=1) as listener, listener.connect() as wire:
        wire.sendall(GET + GET.replace(b"/at-once", b"/later"))
        first = status(wire)
        assert listener.is_asked.wait(30)

        new = answer(listener.connect())
        listener.soon(listener.may_answer.set)

        assert (first, new, status(wire)) == (200, b"", 200)


def test_new_connection_replaces_one_whose_request_waits_for_its_turn():
    with listening(connections=2, **LONG) as listener:
        paced = [listener.connect() for _ in range(2)]
        for each in paced:
            each.sendall(GET.replace(b"/at-once", b"/paced"))
        wait_until(lambda: len(listener.pacer._waiting) == 2, "both requests")

        new = listener.connect()
        new.sendall(GET)

        assert status(new) == 200
        assert answer(paced[0]) == b""
        wait_until(lambda: len(listener.server._open) == 2, "the first to be closed")


def test_request_whose_turn_has_come_is_not_replaced():
    with listening(connections=1, **LONG) as listener:
        paced = listener.connect()
        paced.sendall(GET.replace(b"/at-once", b"/paced"))
        wait_until(lambda: len(listener.pacer._waiting) == 1, "the request")
        listener.soon(listener.let_in)
        assert listener.is_asked.wait(30)

        assert answer(listener.connect()) == b""
        listener.soon(listener.may_answer.set)
        assert status(paced) == 200

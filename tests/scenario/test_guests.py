"""Scripted guests against broken servers: none of them stops a play."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta

import pytest

from forewarn.scenario.file.model import GuestScript
from forewarn.scenario.play.guests import ScriptedGuest

EVENT = b'{"EventId":"A","EventStatus":"Scheduled","EventType":"Reboot","Resources":["vm"]}'
BODY = b'{"DocumentIncarnation":2,"Events":[%s]}' % EVENT
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
GOOD = PLAIN % (len(BODY), BODY)


@contextmanager
def serving(*answers: bytes | None) -> Iterator[tuple[str, int]]:
    """A server that gives these answers, each on a connection of its own; None: it says nothing."""
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for answer in answers:
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    if answer is None:
                        is_over.wait(60)
                    else:
                        connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[:2]
        finally:
            is_over.set()
            thread.join(60)


@contextmanager
def guest_of(
    server: tuple[str, int], heard: list[bytes] | None = None, **script: object
) -> Iterator[ScriptedGuest]:
    hear = (lambda _name, data: heard.append(data)) if heard is not None else (lambda _name, _data: None)
    with closing(ScriptedGuest(GuestScript("vm", **script), server, None, hear)) as guest:  # type: ignore[arg-type]
        yield guest


def test_event_is_news_once():
    heard: list[bytes] = []
    with serving(GOOD, GOOD) as server, guest_of(server, heard) as guest:
        first, again = guest.poll(), guest.poll()

    assert [(seen.id, seen.kind, seen.status, seen.is_own) for seen in first] == [
        ("A", "Reboot", "Scheduled", True)
    ]
    assert again == []
    assert heard == [GOOD, GOOD]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"", 0),
        (b"garbage\r\n\r\n", 0),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", 0),
        (b"HTTP/1.1 200 OK\r\nContent-Le", 0),
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 503),
        (PLAIN % (7, b"<html/>"), 200),
        (PLAIN % (15, b'{"Events":null}'), 200),
        (PLAIN % (2, b"{}"), 200),
        (PLAIN % (14, b'{"Events":[1]}'), 200),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[]", 200),
    ],
    ids=[
        "closed",
        "no HTTP",
        "cut off",
        "cut off in its head",
        "503",
        "a proxy's page",
        "null",
        "{}",
        "numbers",
        "[]",
    ],
)
def test_guest_notes_a_bad_answer_and_polls_again(answer: bytes, status: int):
    with serving(answer, GOOD) as server, guest_of(server) as guest:
        nothing, noted, then = guest.poll(), guest.last_status, guest.poll()

    assert (nothing, noted) == ([], status)
    assert [seen.status for seen in then] == ["Scheduled"]


def test_guest_gives_up_on_a_silent_server_after_its_timeout():
    with serving(None) as server, guest_of(server, timeout=timedelta(seconds=0.2)) as guest:
        assert guest.poll() == []
        assert guest.last_status == 0


def test_refused_connection_is_no_answer():
    with serving() as server:
        pass

    with guest_of(server) as guest:
        assert guest.poll() == []
        assert guest.last_status == 0


def test_event_missing_from_the_document_is_gone():
    empty = PLAIN % (len(b'{"Events":[]}'), b'{"Events":[]}')
    with serving(GOOD, empty) as server, guest_of(server) as guest:
        guest.poll()

        guest.poll()

    assert guest.sightings["A"].statuses == ["Scheduled", "gone"]


def test_guest_reconnects_after_a_close_and_sends_nothing_twice():
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server, guest_of(server.getsockname()[:2]) as guest:

        def serve_one() -> None:
            connection, _ = server.accept()
            with connection:
                asked.append(connection.recv(65536))
                connection.sendall(GOOD.replace(b"Connection: close\r\n", b""))

        statuses = []
        for _ in range(2):
            thread = threading.Thread(target=serve_one)
            thread.start()
            guest.poll()
            thread.join()  # it has hung up by now
            statuses.append(guest.last_status)

    assert statuses == [200, 200]
    assert len(asked) == 2

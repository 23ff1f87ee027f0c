"""HTTP by hand, as a client and as a small server, against real sockets."""

from __future__ import annotations

import os
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from forewarn.agent.http1 import Connection, ExchangeFailed, Request, exchange, read_request, response_bytes
from tests.agent.looking import STEADY
from tests.waiting import free_port

GET = Request("GET", "/x?y=1", {"Accept": "*/*"})


@contextmanager
def saying(
    *answers: bytes, family: int = socket.AF_INET, place: object = ("127.0.0.1", 0)
) -> Iterator[socket.socket]:
    """A server that reads a request on each connection, sends these bytes, and closes it."""
    listener = socket.socket(family)
    listener.bind(place)
    listener.listen()

    def serve() -> None:
        for answer in answers:
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(60)


@pytest.mark.parametrize(
    ("said", "status", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, b"hello"),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, b""),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
        (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, b"ok"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n",
            200,
            b"hello!",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx", 404, b"x"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", 304, b""),
    ],
    ids=["length", "empty", "until close", "bare newlines", "chunked", "interim", "204", "304"],
)
def test_an_answer_is_read_however_its_end_is_said(said: bytes, status: int, body: bytes):
    with saying(said) as server:
        answer = exchange(server.getsockname(), GET, 10)

    assert (answer.status, answer.body) == (status, body)


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (b"", "unreachable", "without a word"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "unreadable", "in the middle"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "unreadable", "in the middle"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "unreadable", "in the middle"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello", "unreadable", "a chunk"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", "unreadable", "cannot be used"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello", "unreadable", "no number"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n", "unreadable", "larger than"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "unreadable", "no header"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "unreadable", "not HTTP"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 9, "unreadable", "interim"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, "unreadable", "longer than"),
    ],
)
def test_what_is_no_whole_answer_is_an_error(said: bytes, kind: str, words: str):
    with saying(said) as server, pytest.raises(ExchangeFailed, match=words) as caught:
        exchange(server.getsockname(), GET, 10)

    assert caught.value.kind == kind


def test_a_body_beyond_the_limit_is_refused_also_where_its_length_is_not_said():
    said = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2000

    with saying(said) as server, pytest.raises(ExchangeFailed, match="larger than 1000 bytes") as caught:
        exchange(server.getsockname(), GET, 10, most_bytes=1000)

    assert caught.value.kind == "unreadable"


def test_the_deadline_is_for_all_of_it_and_not_for_each_piece():
    enough = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            if enough.wait(0.05):
                return
            connection.sendall(b"x")

    with serving(drip) as address:
        before = STEADY()
        with pytest.raises(ExchangeFailed) as caught:
            exchange(address, GET, 0.5)
        took = STEADY() - before
        enough.set()

    assert caught.value.kind == "timeout"
    assert took < 40


@contextmanager
def serving(act: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """A server that does something with one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                act(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()
        thread.join(60)


def test_nobody_there_is_unreachable():
    with pytest.raises(ExchangeFailed, match="cannot be reached") as caught:
        exchange(("127.0.0.1", free_port()), GET, 5)

    assert caught.value.kind == "unreachable"


def test_a_process_that_may_open_no_more_files_is_told_that_nobody_can_be_reached():
    with saying(b"") as listener:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        spare = os.dup(0)
        os.close(spare)
        resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
        try:
            with pytest.raises(ExchangeFailed, match="Too many open files") as caught:
                exchange(listener.getsockname(), GET, 5)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert caught.value.kind == "unreachable"


def test_a_name_that_does_not_exist_is_unreachable_and_said():
    with pytest.raises(ExchangeFailed, match=r"nobody\.invalid:80 cannot be found") as caught:
        exchange(("nobody.invalid", 80), GET, 20)

    assert caught.value.kind == "unreachable"


def test_a_name_is_resolved():
    with saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as server:
        answer = exchange(("localhost", server.getsockname()[1]), GET, 10)

    assert answer.status == 200


def test_a_unix_socket_is_an_address_too(tmp_path: Path):
    place = str(tmp_path / "s")
    with saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", family=socket.AF_UNIX, place=place):
        answer = exchange(place, GET, 10)

    assert answer.status == 200


def test_a_connection_is_kept_and_another_made_where_it_was_closed():
    answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d" % number for number in range(2)]
    with saying(*answers) as server:
        connection = Connection(server.getsockname())
        bodies = [connection.exchange(GET, 10).body for _ in answers]
        connection.close()

    assert bodies == [b"0", b"1"]


@pytest.mark.parametrize(
    "request_",
    [
        Request("GET", "/x", {"A": "b\r\nEvil: yes"}),
        Request("GET", "/x\r\nEvil: yes"),
        Request("GET", "/x y"),
        Request("GET", "x"),
    ],
)
def test_what_would_make_another_request_of_it_is_not_sent(request_: Request):
    with saying(b"") as server, pytest.raises(ValueError, match="cannot be"):
        exchange(server.getsockname(), request_, 10)


# As a server.


def read_on_the_other_side(sent: bytes, seconds: float = 5) -> Request:
    """What a server makes of these bytes."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(sent)
        ours.shutdown(socket.SHUT_WR)
        return read_request(theirs, seconds)


def test_a_request_is_read_as_it_was_sent():
    request = read_on_the_other_side(
        b"POST /events/A/approve?by=me HTTP/1.1\r\nHost: x\r\nX-Token: t\r\nContent-Length: 2\r\n\r\n{}"
    )

    assert (request.method, request.path, request.query) == ("POST", "/events/A/approve", "by=me")
    assert request.headers["x-token"] == "t"
    assert request.body == b"{}"


def test_a_request_without_a_length_has_no_body():
    request = read_on_the_other_side(b"GET /healthz HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n")

    assert request.body == b""


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"hello\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/2\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
    ],
)
def test_what_is_no_request_is_an_error(sent: bytes):
    with pytest.raises(ExchangeFailed):
        read_on_the_other_side(sent)


def test_a_client_that_says_nothing_does_not_hold_the_server_up():
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(ExchangeFailed) as caught:
        read_request(theirs, 0.1)

    assert caught.value.kind == "timeout"


def test_what_the_server_writes_the_client_reads():
    def answer(connection: socket.socket) -> None:
        asked = read_request(connection)
        connection.sendall(response_bytes(409, asked.body, "text/plain", {"Retry-After": "1"}))

    with serving(answer) as address:
        got = exchange(address, Request("POST", "/", body=b"ping"), 10)

    assert (got.status, got.body) == (409, b"ping")
    assert (got.headers["content-type"], got.headers["retry-after"]) == ("text/plain", "1")

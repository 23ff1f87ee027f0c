"""The operators' listener keeps its limits on connections, heads, bodies and time."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
import ssl
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from forewarn.operator import server as server_module
from forewarn.operator.tls import server_context
from tests.operator.serving import GET, LARGE_BYTES, LONG, answer, listening, status
from tests.running import wait_until
from tests.sign_in.certificates import make_certificate, trusting


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with an authority and a certificate."""
    return make_certificate(tmp_path_factory.mktemp("tls")).parent


def secured(files: Path) -> ssl.SSLContext | None:
    return server_context(files / "server.pem", files / "server.key")


@pytest.mark.parametrize(
    ("code", "events"),
    [(errno.ECONNABORTED, []), (errno.EINVAL, ["cannot accept operator connections; retrying every second"])],
)
def test_failing_accept_leaves_the_loop_to_others(code: int, events: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server_module, "_RETRY_ACCEPT_SECONDS", 0.01)
    others_ran: list[None] = []
    ran_before_accept: list[int] = []
    with listening() as listener, capture_logs() as logged:
        loop = listener.server._accepting.get_loop()

        async def fail_five_times(bound: socket.socket) -> tuple[socket.socket, object]:
            ran_before_accept.append(len(others_ran))
            if len(ran_before_accept) > 5:
                return await type(loop).sock_accept(loop, bound)
            loop.call_soon(others_ran.append, None)
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(loop, "sock_accept", fail_five_times)
        replies = []
        for _ in range(2):  # the first ends the accept that is under way
            with listener.connect() as wire:
                wire.sendall(GET)
                replies.append(status(wire))

    assert replies == [200, 200]
    assert ran_before_accept[:6] == [0, 1, 2, 3, 4, 5]
    assert [each["event"] for each in logged] == events


def test_listener_goes_on_after_a_connection_that_cannot_be_served(monkeypatch: pytest.MonkeyPatch):
    with listening() as listener, capture_logs() as logged:
        with monkeypatch.context() as broken:
            broken.setattr(server_module, "OperatorConnection", None)
            closed = answer(listener.connect())
        with listener.connect() as wire:
            wire.sendall(GET)
            replied = status(wire)

    assert (closed, replied) == (b"", 200)
    assert [each["event"] for each in logged] == ["operator connection failed unexpectedly"]


def test_silent_connection_is_closed_when_its_time_is_over():
    with listening(head_seconds=0.2) as listener, listener.connect() as wire:
        assert answer(wire) == b""


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n",
        b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf",
        b"POST /body HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ],
    ids=["half a line", "half a head", "half a body", "half a chunked body"],
)
def test_request_that_does_not_arrive_in_time_is_refused(sent: bytes):
    with listening(**LONG) as listener, listener.connect() as wire:
        connection = listener.only_connection()
        wire.sendall(sent)
        has_body = sent.startswith(b"POST")
        wait_until(lambda: connection._body_bytes if has_body else connection._has_begun, "the bytes to arrive")
        listener.time_out(connection)

        assert status(wire) == 408


def test_request_answered_before_its_body_arrives_gets_no_second_answer():
    with listening() as listener, listener.connect() as wire:
        wire.sendall(b"POST /at-once HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx")
        assert status(wire) == 200

        listener.time_out(listener.only_connection())

        assert answer(wire) == b""


def test_time_for_a_head_is_not_extended_by_sending_it_slowly():
    with listening(**LONG) as listener, listener.connect() as wire:
        connection = listener.only_connection()
        deadlines = []
        for count, byte in enumerate(b"GET /at-once", start=1):
            wire.sendall(bytes([byte]))
            wait_until(lambda count=count: connection._overhead == count, "the byte to arrive")
            deadlines.append(connection._deadline)
        listener.time_out(connection)

        assert len(set(deadlines)) == 1
        assert status(wire) == 408


def test_second_request_of_a_connection_has_to_arrive_in_time_too():
    with listening(**LONG) as listener, listener.connect() as wire:
        connection = listener.only_connection()
        wire.sendall(GET)
        first = status(wire)
        wire.sendall(b"GET /at")
        wait_until(lambda: connection._has_begun and connection._deadline, "the second request to begin")
        listener.time_out(connection)

        assert (first, status(wire)) == (200, 408)


HEAD = b"GET /at-once HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"POST /at-once HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        HEAD + b"X: " + b"x" * 70_000,
        HEAD + b"X: y\r\n" * 200 + b"\r\n",
    ],
    ids=["one long header", "many headers"],
)
def test_head_beyond_the_limit_is_431(sent: bytes):
    with listening() as listener, listener.connect() as wire:
        wire.sendall(sent)

        assert status(wire) == 431
        wait_until(lambda: not listener.server._open, "the connection to be closed")
        assert listener.answered == []


@pytest.mark.parametrize(
    "sent",
    [
        HEAD.replace(b"/at-once", b"/at-once?" + b"a&" * 4096) + b"\r\n",
        b"GET /" + b"x" * 70_000,
    ],
    ids=["many parameters", "no end of it"],
)
def test_target_beyond_the_limit_is_414(sent: bytes):
    with listening() as listener, listener.connect() as wire:
        wire.sendall(sent)

        assert status(wire) == 414
        wait_until(lambda: not listener.server._open, "the connection to be closed")
        assert listener.answered == []


def test_target_within_the_limit_is_served():
    with listening() as listener, listener.connect() as wire:
        wire.sendall(GET.replace(b"/at-once", b"/at-once?n=" + b"x" * 8000))

        assert status(wire) == 200
        assert listener.answered == ["x" * 8000]


def test_refusal_of_a_head_has_the_usual_shape():
    with listening(head_bytes=2048) as listener, listener.connect() as wire:
        wire.sendall(HEAD + b"X: " + b"x" * 3000)
        got = answer(wire)

    assert got.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert b'"code":"HeadTooLarge"' in got


@pytest.mark.parametrize("tail", [b"1;" + b"x" * 5000, b"0\r\nX: " + b"x" * 5000], ids=["extension", "trailer"])
def test_bytes_around_a_chunked_body_count_as_head(tail: bytes):
    with listening(head_bytes=2048) as listener, listener.connect() as wire:
        wire.sendall(CHUNKED.replace(b"/at-once", b"/body") + tail)

        assert status(wire) == 431


def test_body_beyond_the_limit_of_all_routes_is_413():
    with listening(body_bytes=100_000) as listener, listener.connect() as wire:
        wire.sendall(b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100001\r\n\r\n" + b"x" * 100_001)

        assert status(wire) == 413


def test_body_within_the_limit_arrives_whole():
    with listening(body_bytes=100_000) as listener, listener.connect() as wire:
        wire.sendall(b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100_000)

        assert answer(wire).endswith(b"\r\n\r\n100000")


def test_client_that_takes_nothing_of_its_response_is_closed():
    with listening(stall_seconds=0.2) as listener, listener.connect() as wire:
        wire.sendall(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert listener.is_asked.wait(30)

        wait_until(lambda: not listener.server._open, "the connection to be closed")
        assert listener.server.server_state.connections == set()


def test_client_that_takes_its_response_slowly_gets_all_of_it():
    with listening() as listener, listener.connect() as wire:
        wire.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: any(each._stall for each in list(listener.server._open)), "the pause")
        (connection,) = listener.server._open
        unsent = connection.transport.get_write_buffer_size()
        got = 0
        while connection.transport.get_write_buffer_size() >= unsent:
            got += len(wire.recv(64 * 1024))

        listener.soon(connection._abort_if_stalled, unsent)  # the time for that progress is over

        while got < LARGE_BYTES and (data := wire.recv(1024 * 1024)):
            got += len(data)
        assert got >= LARGE_BYTES


# Pipelining.


def test_pipelined_requests_are_answered_in_order():
    with listening() as listener, listener.connect() as wire:
        wire.sendall(b"".join(GET.replace(b"/at-once", b"/at-once?n=%d" % n) for n in range(300)))
        got = b""
        while got.count(b"HTTP/1.1 200") < 300:
            got += wire.recv(65536)

    assert listener.answered == [str(n) for n in range(300)]


def test_pipelined_requests_are_neither_parsed_nor_read_while_one_is_being_answered():
    with listening() as listener, listener.connect() as wire:
        wire.sendall(b"GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert listener.is_asked.wait(30)
        (connection,) = listener.server._open
        wire.settimeout(0)
        with contextlib.suppress(BlockingIOError):  # once the buffers of the kernel are full
            for _ in range(200):
                wire.send(GET * 5000)
        wait_until(lambda: connection.flow.read_paused, "the reading to pause")

        assert len(connection._held) <= 1024 * 1024
        assert len(connection.pipeline) == 0
        assert connection.flow.read_paused


# Turns at parsing.


def chunked(data: bytes, size: int) -> bytes:
    chunks = (data[start : start + size] for start in range(0, len(data), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


CHUNKED = b"POST /body HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_body_in_small_chunks_is_parsed_in_small_pieces_with_guests_answered_in_between():
    with listening(**LONG) as listener, listener.connect() as wire:
        pieces: list[int] = []
        connection = listener.only_connection()
        feed = connection.parser

        class Counting:
            def feed_data(self, data: bytes) -> None:
                pieces.append(len(data))
                feed.feed_data(data)

            def __getattr__(self, name: str) -> object:
                return getattr(feed, name)

        connection.parser = Counting()
        rounds = listener.count_rounds()
        wire.sendall(CHUNKED + chunked(b"x" * 9000, size=1))
        answered = status(wire)

    assert answered == 200
    assert max(pieces) <= 1024
    assert rounds() >= len(pieces)


@pytest.mark.parametrize(("size", "expected"), [(1, 431), (10, 200)])
def test_body_that_is_mostly_chunk_headers_is_refused(size: int, expected: int):
    with listening(head_bytes=4096, **LONG) as listener, listener.connect() as wire:
        wire.sendall(CHUNKED + chunked(b"x" * 20_000, size))

        assert status(wire) == expected


def test_large_body_arrives_whole():
    with listening(**LONG) as listener, listener.connect() as wire:
        size = 20 * 1024 * 1024
        wire.sendall(b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % size + bytes(size))
        answered = answer(wire)

    assert answered.endswith(b"%d" % size)


def test_client_that_closes_behind_pipelined_requests_fills_no_log(caplog: pytest.LogCaptureFixture):
    with listening() as listener:
        for _ in range(20):
            with listener.connect() as wire:
                wire.sendall(GET * 2)
        with listener.connect() as wire:
            wire.sendall(GET)
            assert status(wire) == 200
        wait_until(lambda: not listener.server._open, "the connections to be closed")

    assert caplog.records == []


# TLS.


def test_handshake_under_way_counts_as_a_connection(files: Path):
    with listening(secured(files), **LONG) as listener:
        for _ in range(5):
            listener.connect()
        wait_until(lambda: len(listener.server._open) >= 5, "the silent connections")

        assert len(listener.server._open) == 5


def test_handshake_that_never_ends_is_closed_and_forgotten(files: Path):
    with listening(secured(files), head_seconds=0.3) as listener:
        silent = [listener.connect() for _ in range(5)]
        closed = [answer(each) for each in silent]
        wait_until(lambda: not listener.server._open, "the listener to forget them")

    assert closed == [b""] * 5


def test_client_connects_while_handshakes_hang(files: Path):
    with listening(secured(files), connections=3) as listener:
        for _ in range(9):
            listener.connect()
        with trusting(files / "ca.pem").wrap_socket(listener.connect(), server_hostname="localhost") as wire:
            wire.sendall(GET)
            replied = status(wire)

    assert replied == 200


# Stopping.


def test_request_under_way_at_a_stop_is_refused_as_usual_and_leaves_no_trace(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(server_module, "_GOODBYE_SECONDS", 0.1)
    with caplog.at_level(logging.DEBUG), listening() as listener, listener.connect() as wire:
        wire.sendall(b"GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert listener.is_asked.wait(30)
        listener.on_loop(listener.server.stop())
        got = answer(wire)

    assert got.startswith(b"HTTP/1.1 503")
    assert b'"code":"Stopping"' in got
    assert [each for each in caplog.records if each.exc_info] == []


def test_change_under_way_at_a_stop_gets_no_answer_as_it_may_be_done(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server_module, "_GOODBYE_SECONDS", 0.1)
    with listening() as listener, listener.connect() as wire:
        wire.sendall(b"POST /later HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        assert listener.is_asked.wait(30)
        listener.on_loop(listener.server.stop())

        assert answer(wire) == b""


def test_response_under_way_at_a_stop_is_cut_off_without_a_trace(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(server_module, "_GOODBYE_SECONDS", 0.1)
    with caplog.at_level(logging.DEBUG), listening() as listener, listener.connect() as wire:
        wire.sendall(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert listener.is_asked.wait(30)
        listener.on_loop(listener.server.stop())
        wait_until(lambda: not listener.server._open, "the connection to be closed")
        wire.shutdown(socket.SHUT_WR)

    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


def test_response_that_fails_half_way_is_cut_off_and_logged_in_one_line(caplog: pytest.LogCaptureFixture):
    with listening() as listener, listener.connect() as wire, capture_logs() as logged:
        wire.sendall(b"GET /fails HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = answer(wire)

    assert not got.endswith(b"0\r\n\r\n")  # the end of a chunked body
    assert [(each["event"], each["path"]) for each in logged] == [("response cut off", "/fails")]
    assert caplog.records == []

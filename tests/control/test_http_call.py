"""A request that is over in time, whatever the other side does: dead addresses, drops of an answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from forewarn.control.http_call import HttpCall
from forewarn.control.push.sending import HttpSender, WebhookReply
from tests.push.receiver import dripping, receiving
from tests.running import free_port

HELLO = b"\x16\x03\x03\x40\x00"  # a record of TLS that is 16 KB long
SECONDS = 0.4


@contextmanager
def dead() -> Iterator[int]:
    """The port of somebody who takes no connection and refuses none."""
    with ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        port = server.getsockname()[1]
        for _ in range(4):  # as many as the kernel takes in for one who does not listen
            client = opened.enter_context(socket.socket())
            client.settimeout(0)
            client.connect_ex(("127.0.0.1", port))
        yield port


@contextmanager
def at(*ports: int) -> Iterator[str]:
    """A name that has several addresses."""

    def look_up(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port)) for port in ports]

    with patch.object(socket, "getaddrinfo", look_up):
        yield "receiver.example"


def get(url: str) -> int:
    return HttpCall(url, SECONDS).make("GET", None, {}).status


def test_somebody_who_drips_an_answer_behind_a_dead_address_has_no_more_time_than_anybody():
    with dead() as first, dripping(b"HTTP/1.1 200 OK\r\nX: ") as second, at(first, second) as name:
        reply = HttpSender(SECONDS).send(f"http://{name}/", b"{}", {})

    assert reply == WebhookReply("did not answer within 0.4 s")


def test_a_dead_address_leaves_time_for_the_next():
    with receiving() as receiver, dead() as first, at(first, receiver.port) as name:
        assert get(f"http://{name}/") == 200


def test_dead_addresses_alone_take_no_longer_than_one():
    with dead() as port, at(*[port] * 50) as name, pytest.raises(TimeoutError):
        get(f"http://{name}/")


def test_an_address_that_refuses_is_told_when_there_is_no_other():
    with at(free_port()) as name, pytest.raises(ConnectionRefusedError):
        get(f"http://{name}/")


def test_somebody_who_drips_a_handshake_is_given_up_in_time():
    with dripping(HELLO) as port:
        reply = HttpSender(SECONDS).send(f"https://127.0.0.1:{port}/", b"{}", {})

    assert reply == WebhookReply("did not answer within 0.4 s")


def test_a_call_that_is_cut_before_it_is_made_is_not_made():
    with receiving() as receiver:
        call = HttpCall(receiver.url, SECONDS)
        call.cut()
        with pytest.raises(TimeoutError):
            call.make("GET", None, {})

    assert receiver.got == []

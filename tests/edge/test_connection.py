"""One connection: what is read, what is remembered, and hanging up where nothing else helps."""

from __future__ import annotations

import http.client
import json

import pytest

from tests.edge.wire import EVENTS, GET, Wire, post
from tests.running import RunningService, running

KILOBYTE = 1024


def test_a_request_in_pieces_is_answered_like_a_whole_one(service: RunningService):
    with Wire(service) as wire:
        wire.send(GET)
        whole = wire.receive()
        for piece in range(0, len(GET), 7):
            wire.send(GET[piece : piece + 7])

        pieced = wire.receive()

    assert (pieced[0], pieced[2]) == (whole[0], whole[2])


def test_a_remembered_request_is_answered_with_the_same_bytes(service: RunningService):
    with Wire(service) as wire:
        answers = []
        for _ in range(3):
            wire.send(GET)
            status, headers, body = wire.receive()
            headers.pop("date")
            answers.append((status, headers, body))

    assert answers[0] == answers[1] == answers[2]
    assert GET in service.service.edge.from_loopback.remembered


def test_a_remembered_condition_is_judged_anew_each_time(service: RunningService):
    with Wire(service) as wire:
        wire.send(GET)
        tag = wire.receive()[1]["etag"]
        asking = GET.replace(b"\r\n\r\n", f"\r\nIf-None-Match: {tag}\r\n\r\n".encode())
        before = []
        for _ in range(3):
            wire.send(asking)
            before.append(wire.receive()[0])
        service.post("/v1/vms/solo/restart")
        wire.send(asking)
        status, headers, body = wire.receive()

    assert asking in service.service.edge.from_loopback.remembered
    assert before == [304, 304, 304]
    assert (status, headers["etag"] != tag) == (200, True)
    assert len(json.loads(body)["Events"]) == 1


def test_only_single_reads_that_never_wait_are_remembered(service: RunningService):
    waiting = GET.replace(b"\r\n\r\n", b'\r\nIf-None-Match: "x"\r\nPrefer: wait=1\r\n\r\n')
    with Wire(service) as wire:
        for request in (waiting, GET.replace(b"Metadata: true", b"Metadata: no"), GET + GET):
            wire.send(request)
            wire.receive()
    remembered = set(service.service.edge.from_loopback.remembered)

    assert not remembered & {waiting, GET + GET}
    assert all(b"Metadata: true" in request for request in remembered)


def test_what_is_remembered_is_bounded(service: RunningService):
    edge = service.service.edge
    with Wire(service) as wire:
        for number in range(5000):
            wire.send(GET.replace(b"Host: localhost", b"Host: localhost:%d" % number))
            wire.receive()

    assert 0 < len(edge.from_loopback.remembered) <= 4096


# The end of a connection.


def test_connection_close_is_honoured_and_echoed(service: RunningService):
    with Wire(service) as wire:
        wire.send(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        status, headers, _ = wire.receive()

        assert (status, headers["connection"]) == (200, "close")
        assert wire.is_closed()


def test_http_1_0_is_closed_unless_it_asks_otherwise(service: RunningService):
    old = GET.replace(b"HTTP/1.1", b"HTTP/1.0")
    with Wire(service) as wire:
        wire.send(old)
        assert wire.receive()[1]["connection"] == "close"
        assert wire.is_closed()
    with Wire(service) as wire:
        wire.send(old.replace(b"\r\n\r\n", b"\r\nConnection: keep-alive\r\n\r\n"))
        assert wire.receive()[1]["connection"] == "keep-alive"
        wire.send(GET)
        assert wire.receive()[0] == 200


def test_a_client_that_has_closed_its_side_is_still_answered(service: RunningService):
    with Wire(service, "brief") as wire:
        wire.send(GET)
        wire.half_close()

        assert wire.receive()[0] == 200
        assert wire.is_closed()


def test_a_head_request_gets_no_body(service: RunningService):
    with Wire(service) as wire:
        wire.send(GET.replace(b"GET", b"HEAD"))
        wire.send(GET)
        raw = b""
        while raw.count(b"\r\n\r\n") < 2:
            raw += wire._socket.recv(65536)

    first, _, second = raw.partition(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 405")
    assert second.startswith(b"HTTP/1.1 200")


# Bodies.


def test_a_chunked_body_is_read(service: RunningService):
    service.guest("solo").document()
    event = service.post("/v1/vms/solo/restart")["event"]["id"]
    body = json.dumps({"StartRequests": [{"EventId": event}]}).encode()
    chunks = b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (10, body[:10], len(body) - 10, body[10:])
    with Wire(service) as wire:
        wire.send(post(b"", "Transfer-Encoding: chunked", length=False) + chunks)

        assert wire.receive()[0] == 200
    assert service.get(f"/v1/events/{event}")["phase"] == "Started"


def test_a_trailer_is_no_header(service: RunningService):
    service.guest("solo").document()
    event = service.post("/v1/vms/solo/restart")["event"]["id"]
    body = json.dumps({"StartRequests": [{"EventId": event}]}).encode()
    head = post(b"", "Transfer-Encoding: chunked", length=False).replace(b"Metadata: true\r\n", b"")
    with Wire(service) as wire:
        wire.send(head + b"%x\r\n%s\r\n0\r\nMetadata: true\r\n\r\n" % (len(body), body))

        assert wire.receive()[0] == 400
    assert service.get(f"/v1/events/{event}")["phase"] == "Scheduled"


@pytest.mark.parametrize("between", [", ", "\r\nTransfer-Encoding: "], ids=["one line", "two lines"])
def test_a_body_that_is_packed_is_refused(service: RunningService, between: str):
    with Wire(service) as wire:
        wire.send(post(b"", f"Transfer-Encoding: gzip{between}chunked", length=False) + b"0\r\n\r\n")

        assert wire.receive()[0] == 400


def test_a_client_that_asks_before_it_sends_is_told_to_go_on(service: RunningService):
    body = b'{"StartRequests":[]}'
    with Wire(service) as wire:
        wire.send(post(b"", "Expect: 100-continue", f"Content-Length: {len(body)}", length=False))
        interim = wire.receive()
        wire.send(body)

        assert interim[0] == 100
        assert wire.receive()[0] == 400


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (post(b"", "Content-Length: 70000", length=False), 413),
        (post(b"", "Transfer-Encoding: chunked", length=False) + b"12000\r\n" + b"x" * 0x12000 + b"\r\n", 413),
        (GET.replace(b"\r\n\r\n", b"\r\nX-Long: " + b"y" * 17 * KILOBYTE + b"\r\n\r\n"), 431),
        (GET.replace(b"\r\n\r\n", b"".join(b"\r\nX-%d: y" % n for n in range(3000)) + b"\r\n\r\n"), 431),
        (GET.replace(b"api-version", b"y" * 17 * KILOBYTE), 431),
        (GET[:-2] + b"X-Endless: " + b"y" * 20 * KILOBYTE, 431),
        (post(b"{}", "Content-Length: 3"), 400),
        (post(b"", "Content-Length: 2", "Transfer-Encoding: chunked", length=False), 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET /metadata/scheduledevents\r\n\r\n", 400),
        (b"G E T / HTTP/1.1\r\n\r\n", 400),
    ],
    ids=[
        "body by length",
        "body by chunks",
        "one long header",
        "many headers",
        "long target",
        "header without an end",
        "two lengths",
        "length and chunked",
        "TLS hello",
        "no version",
        "garbage",
    ],
)
def test_what_is_too_large_or_cannot_be_read_is_answered_and_hung_up_on(
    service: RunningService, request_head: bytes, status: int
):
    with Wire(service) as wire:
        wire.send(request_head)
        answer = wire.receive()

        assert answer[0] == status
        assert isinstance(json.loads(answer[2])["error"], str)
        assert answer[1]["connection"] == "close"
        assert wire.is_closed()


def test_a_header_of_fifteen_kilobytes_and_a_body_of_sixty_are_read(service: RunningService):
    ids = [{"EventId": f"{n:08X}-3BC0-4C40-A10B-86575A9EABD5"} for n in range(1000)]
    body = json.dumps({"StartRequests": ids}).encode()
    assert 50 * KILOBYTE < len(body) < 64 * KILOBYTE
    with Wire(service) as wire:
        wire.send(GET.replace(b"\r\n\r\n", b"\r\nX-Long: " + b"y" * 15 * KILOBYTE + b"\r\n\r\n"))
        assert wire.receive()[0] == 200

        wire.send(post(body) + GET)

        assert wire.receive()[0] == 400  # no such events
        assert wire.receive()[0] == 200


# Who is calling.


def test_an_unknown_caller_gets_404_whatever_it_asks(service: RunningService):
    connection = http.client.HTTPConnection("127.0.0.1", service.metadata_port, source_address=("127.200.0.1", 0))
    for target in (EVENTS, "/metadata/instance?api-version=2021-02-01", "/", "/metadata/versions"):
        connection.request("GET", target, headers={"Metadata": "true"})
        answer = connection.getresponse()
        body = answer.read()

        assert answer.status == 404, target
        assert "error" in json.loads(body)
    connection.close()


def test_a_deleted_vm_is_unknown_on_the_connection_it_had(service: RunningService):
    with Wire(service, "twin") as wire:
        wire.send(GET)
        before = wire.receive()[0]
        service.post("/v1/vms/twin/delete")
        service.advance(seconds=10)
        wire.send(GET)

        assert (before, wire.receive()[0]) == (200, 404)


def test_a_vm_that_is_added_is_known_on_a_connection_it_had_before():
    empty = {"vms": [{"name": "other", "addresses": ["127.3.0.9"]}]}
    with running(empty) as service, Wire(service, "other") as wire:
        wire.send(GET)
        assert wire.receive()[0] == 200
        service.operator("PUT", "/v1/fleet", {"vms": [{"name": "new", "addresses": ["127.3.0.9"]}]})
        wire.send(GET.replace(b"/metadata/scheduledevents", b"/metadata/instance/compute/name"))

        assert wire.receive()[2] == b'"new"'

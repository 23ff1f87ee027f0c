"""Whatever is sent, it is the sender's mistake and not a failure of the service."""

from __future__ import annotations

import pytest

from tests.running import RunningService

HUGE = "9" * 5000
DEEP = 200_000


@pytest.mark.parametrize(
    "path",
    [
        "/v1/events?after=99999999999999999999",
        f"/v1/events?after={HUGE}",
        "/v1/events?after=-1",
        "/v1/events?after=%C2%B2",
        "/v1/history?after=99999999999999999999.1.x",
        "/v1/history?after=1.99999999999999999999.x",
        f"/v1/history?after={HUGE}.1.x",
        "/v1/history?after=1.2",
        f"/v1/vms?limit={HUGE}",
        "/v1/vms?limit=%D9%A3",
        f"/v1/history?limit={HUGE}",
    ],
)
def test_a_number_that_is_none_of_ours_is_refused(service: RunningService, path: str):
    reply = service.operator("GET", path)

    assert (reply.status, reply.json["error"]["code"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    "body",
    [
        b"[" * DEEP,
        b'{"vms":' * DEEP,
        b'{"vms":' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"vms":[{"name":"\xff"}]}',
        b'{"vms":[{"name":"\\ud800"}]}',
        b'{"vms":[{"name":"a"}',
        b'{"vms":[{"name":"a"}]} {}',
    ],
    ids=[
        "lists in lists",
        "objects in objects",
        "deep and whole",
        "no UTF-8",
        "half a pair",
        "no end",
        "too much",
    ],
)
@pytest.mark.parametrize(("method", "path"), [("PUT", "/v1/fleet"), ("POST", "/v1/hosts/host-0/maintain")])
def test_a_body_that_is_no_json_is_refused(service: RunningService, method: str, path: str, body: bytes):
    number = service.service.plane.world.number

    reply = service.operator(method, path, body)

    assert (reply.status, reply.json["error"]["code"]) == (400, "BadRequest")
    assert service.service.plane.world.number == number


def test_a_body_larger_than_any_that_makes_sense_is_refused(service: RunningService):
    reply = service.operator("POST", "/v1/hosts/host-0/maintain", b" " * (1024 * 1024 + 1))

    assert (reply.status, reply.json["error"]["message"]) == (400, "The body is too large.")


@pytest.mark.parametrize(
    "host",
    [
        "[::1",
        "::1]",
        "evil@127.0.0.1",
        "127.0.0.1:80@evil",
        "127.0.0.1/x",
        "127.0.0.1:99999999",
        "localhost:",
        "[",
        ":",
    ],
)
def test_a_host_that_cannot_be_read_or_says_more_than_a_host_is_turned_away(service: RunningService, host: str):
    reply = service.operator("GET", "/v1/vms", headers={"Host": host})

    assert (reply.status, reply.json["error"]["code"]) == (403, "ForeignHost")


@pytest.mark.parametrize("origin", ["http://[::1", "null", "", "http://", "http://evil@127.0.0.1", "127.0.0.1"])
def test_an_origin_that_cannot_be_read_or_is_another_is_turned_away(service: RunningService, origin: str):
    reply = service.operator("GET", "/v1/vms", headers={"Host": "127.0.0.1", "Origin": origin})

    assert (reply.status, reply.json["error"]["code"]) == (403, "ForeignOrigin")


def test_a_guests_index_of_five_thousand_digits_is_not_found(service: RunningService):
    path = f"/metadata/instance/network/interface/{HUGE}?api-version=2021-02-01"

    assert service.guest("solo").call(path=path).status == 404
    assert service.guest("solo").call(path=path.replace(HUGE, "0")).status == 200

"""A web page in a browser on this machine must not be able to use the endpoint."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from forewarn.edge.connection import GuestConnection
from tests.conformance.wire import VERSIONS
from tests.edge.wire import EVENTS, GET, Wire
from tests.fleets import SMALL
from tests.running import RunningService, running


@pytest.fixture
def event(service: RunningService) -> str:
    """A scheduled event of `solo`."""
    service.guest("solo").document()
    return service.post("/v1/vms/solo/restart")["event"]["id"]


def approval(event: str) -> str:
    return json.dumps({"StartRequests": [{"EventId": event}]})


def phase(service: RunningService, event: str) -> str:
    return service.get(f"/v1/events/{event}")["phase"]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:8254", ""])
@pytest.mark.parametrize("version", VERSIONS)
def test_page_cannot_approve_at_any_version(service: RunningService, event: str, version: str, origin: str):
    target = f"/metadata/scheduledevents?api-version={version}"

    reply = service.guest("solo").call("POST", target, approval(event), {"Origin": origin})

    service.advance(seconds=1)
    assert (reply.status, phase(service, event)) == (403, "Scheduled")


def test_page_cannot_approve_without_the_metadata_header(service: RunningService, event: str):
    target, origin = "/metadata/scheduledevents?api-version=2017-03-01", {"Origin": "https://evil.example"}

    reply = service.guest("solo").call("POST", target, approval(event), origin, with_header=False)

    service.advance(seconds=1)
    assert (reply.status, phase(service, event)) == (403, "Scheduled")


def test_client_that_leaves_the_header_out_at_the_first_version_can_still_approve(
    service: RunningService, event: str
):
    target = "/metadata/scheduledevents?api-version=2017-03-01"

    reply = service.guest("solo").call("POST", target, approval(event), with_header=False)

    service.advance(seconds=1)
    assert (reply.status, phase(service, event)) == (200, "Started")


@pytest.mark.parametrize("method", ["GET", "OPTIONS", "HEAD"])
@pytest.mark.parametrize(
    "target",
    [
        EVENTS,
        "/metadata/instance?api-version=2021-02-01",
        "/metadata/versions",
        "/metadata/identity/oauth2/token",
        "/",
    ],
)
def test_page_cannot_read_any_path(service: RunningService, target: str, method: str):
    reply = service.guest("solo").call(method, target, headers={"Origin": "https://evil.example"})

    assert reply.status == 403


@pytest.mark.parametrize(
    "host",
    ["localhost", "LocalHost:80", "127.0.0.1", "127.9.8.7:8254", "[::1]", "[::1]:80", "169.254.169.254"],
)
def test_loopback_address_accepts_hosts_that_name_this_machine(service: RunningService, host: str):
    assert service.guest("solo").call(headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8254",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example, localhost",
        "localhost@evil.example",
        "10.0.0.1",
        "169.254.169.253",
        "[::2]",
        "0.0.0.0",
        "metadata.internal",
        "",
    ],
)
def test_loopback_address_refuses_other_hosts(service: RunningService, host: str):
    assert service.guest("solo").call(headers={"Host": host}).status == 403


def test_second_host_header_is_judged_too(service: RunningService):
    with Wire(service) as wire:
        wire.send(GET.replace(b"\r\n\r\n", b"\r\nHost: evil.example\r\n\r\n"))

        assert wire.receive()[0] == 403


@pytest.mark.parametrize(("host", "status"), [("localhost:8254", 200), ("evil.example", 403)])
def test_host_in_an_absolute_target_is_judged_too(service: RunningService, host: str, status: int):
    with Wire(service) as wire:
        wire.send(GET.replace(b"GET ", f"GET http://{host}".encode()))

        assert wire.receive()[0] == status


def test_request_of_http_1_0_needs_no_host(service: RunningService):
    with Wire(service) as wire:
        wire.send(f"GET {EVENTS} HTTP/1.0\r\nMetadata: true\r\n\r\n".encode())

        assert wire.receive()[0] == 200


@pytest.mark.parametrize("target", [EVENTS, f"http://localhost{EVENTS}"], ids=["path", "absolute"])
@pytest.mark.parametrize("more", ["", "Connection: Upgrade\r\nUpgrade: h2c\r\n"], ids=["plain", "upgrade"])
def test_loopback_address_refuses_http_1_1_without_a_host_header(service: RunningService, target: str, more: str):
    with Wire(service) as wire:
        wire.send(f"GET {target} HTTP/1.1\r\nMetadata: true\r\n{more}\r\n".encode())

        assert wire.receive()[0] == 403


def test_other_addresses_accept_http_1_1_without_a_host_header(service: RunningService):
    service.guest("solo").document()

    assert ask_at(service, "10.0.0.1", GET.replace(b"Host: localhost\r\n", b"")) == 200


def test_names_in_the_setting_are_accepted():
    with running(SMALL, metadata_host_names=("metadata.internal", "IMDS")) as service:
        solo = service.guest("solo")
        hosts = ["Metadata.Internal:80", "imds", "metadata.internal.", "other.internal"]

        statuses = [solo.call(headers={"Host": host}).status for host in hosts]

    assert statuses == [200, 200, 200, 403]


class Line(asyncio.Transport):
    """A connection that came in on an address of choice; a test machine may have none but loopback addresses."""

    def __init__(self, came_in_on: str) -> None:
        super().__init__({"peername": ("127.0.2.1", 40000), "sockname": (came_in_on, 80)})
        self.written: list[bytes] = []

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def ask_at(service: RunningService, came_in_on: str, request: bytes) -> int:
    """Send a request as `solo` on a connection to that address of the service; the status of the answer."""

    async def ask() -> list[bytes]:
        line = Line(came_in_on)
        connection = GuestConnection(service.service.edge, service.service._listener._by_address)
        connection.connection_made(line)
        connection.data_received(request)
        connection.connection_lost(None)
        return line.written

    answer = b"".join(service._on_loop(ask()))
    return int(answer.split()[1])


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "fd00::1"])
def test_other_addresses_accept_any_host(service: RunningService, address: str):
    service.guest("solo").document()

    assert ask_at(service, address, GET.replace(b"localhost", b"metadata.internal")) == 200


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.53", "::1"])
def test_requests_remembered_on_another_address_are_still_refused_on_loopback(
    service: RunningService, address: str
):
    service.guest("solo").document()
    request = GET.replace(b"localhost", b"evil.example")

    statuses = [ask_at(service, "10.0.0.1", request) for _ in range(2)]

    assert statuses == [200, 200]
    assert request in service.service.edge.from_network.remembered
    assert ask_at(service, address, request) == 403


def test_listener_on_all_addresses_applies_the_loopback_rule_to_loopback_connections():
    with running(SMALL, metadata=(("0.0.0.0", 0),)) as service:
        solo = service.guest("solo")

        statuses = [solo.call(headers={"Host": host}).status for host in ("localhost", "evil.example")]

    assert statuses == [200, 403]

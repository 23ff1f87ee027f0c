"""How large a refusal may be, what is refused before it is read, and how errors are described."""

from __future__ import annotations

import json
import socket

import pytest

from tests.running import RunningService
from tests.sign_in.people import TENANT

TOKEN = f"/{TENANT}/oauth2/v2.0/token"


def test_refused_fleet_lists_the_first_hundred_problems_and_counts_the_rest(service: RunningService):
    vms = [{"name": f"vm-{n}", "host": "nowhere"} for n in range(1000)]

    reply = service.operator("PUT", "/v1/fleet", {"vms": vms})

    lines = reply.json["error"]["message"].splitlines()
    assert reply.status == 400
    assert len(lines) == 101
    assert lines[99].startswith("vms[99].host: ")
    assert "900 more" in lines[100]


def test_refused_fleet_does_not_repeat_long_names_whole(service: RunningService):
    vms = [{"name": "x" * 100_000} for _ in range(50)]

    reply = service.operator("PUT", "/v1/fleet", {"vms": vms})

    assert reply.status == 400
    assert len(reply.body) < 200_000


@pytest.mark.parametrize(
    ("path", "announced"), [(TOKEN, 60_000), ("/v1/hosts/host-0/maintain", 2_000_000)], ids=["sign-in", "REST"]
)
def test_body_that_is_announced_too_large_is_refused_before_it_comes(
    service: RunningService, path: str, announced: int
):
    with socket.create_connection(("127.0.0.1", service.service.operator[1]), timeout=30) as wire:
        wire.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {announced}\r\n\r\n".encode())
        got = wire.recv(65536)

    assert got.startswith(b"HTTP/1.1 400")


def test_openapi_describes_errors_of_sign_in_and_discovery_as_they_are(service: RunningService):
    page = service.get("/openapi.json")
    members = set(page["components"]["schemas"]["DirectoryError"]["properties"])

    sent = {
        ("/{tenant}/oauth2/v2.0/token", "post"): service.operator("POST", TOKEN, b"x"),
        ("/{tenant}/oauth2/token", "post"): service.operator("POST", f"/{TENANT}/oauth2/token", b"x"),
        ("/{tenant}/v2.0/.well-known/openid-configuration", "get"): service.operator(
            "GET", "/other/v2.0/.well-known/openid-configuration"
        ),
        ("/{tenant}/.well-known/openid-configuration", "get"): service.operator(
            "GET", "/other/.well-known/openid-configuration"
        ),
    }

    for (path, method), reply in sent.items():
        described = page["paths"][path][method]["responses"]["default"]["content"]["application/json"]["schema"]
        assert reply.status == 400
        assert set(reply.json) == members
        assert "#/components/schemas/DirectoryError" in json.dumps(described)

"""Managed identity: a VM without one is told so at once."""

from __future__ import annotations

import time

import pytest
from azure.identity import CredentialUnavailableError, ManagedIdentityCredential

from tests.fleets import SMALL
from tests.running import RunningService, running

TOKEN = "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net"


def test_token_is_refused_as_on_a_vm_without_an_identity(service: RunningService):
    reply = service.guest("solo").call(path=TOKEN)

    assert (reply.status, reply.json) == (
        400,
        {"error": "invalid_request", "error_description": "Identity not found"},
    )
    assert reply.headers["content-type"] == "application/json; charset=utf-8"


def test_metadata_header_is_required(service: RunningService):
    reply = service.guest("solo").call(path=TOKEN, with_header=False)

    assert (reply.status, reply.json) == (
        400,
        {"error": "invalid_request", "error_description": "Required metadata header not specified"},
    )


@pytest.mark.parametrize(
    ("headers", "status"), [({"X-Forwarded-For": "10.0.0.1"}, 400), ({"Origin": "https://evil.example"}, 403)]
)
def test_proxies_and_web_pages_are_refused(service: RunningService, headers: dict[str, str], status: int):
    reply = service.guest("solo").call(path=TOKEN, headers=headers)

    assert reply.status == status
    assert b"Identity" not in reply.body


def test_only_get_is_allowed(service: RunningService):
    reply = service.guest("solo").call("POST", TOKEN, "{}")

    assert (reply.status, reply.headers["allow"]) == (405, "GET")


def test_azure_identity_gives_up_at_once(monkeypatch: pytest.MonkeyPatch):
    with running(SMALL, guest="solo") as service:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", f"http://127.0.0.1:{service.metadata_port}")
        retries: list[float] = []
        monkeypatch.setattr(time, "sleep", retries.append)  # how azure-core waits before it tries again

        with ManagedIdentityCredential() as credential, pytest.raises(CredentialUnavailableError) as raised:
            credential.get_token("https://vault.azure.net/.default")

    assert "Identity not found" in str(raised.value)
    assert retries == []

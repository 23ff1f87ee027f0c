"""Who is let in, who is turned away, and how they are told."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from forewarn.operator.sign_in.checking import ANYBODY, NOBODY
from tests.fleets import SMALL
from tests.rest.test_stream import Listener
from tests.running import RunningService, call, running, wait_until
from tests.sign_in.people import Book, as_, bearer, first_admin, new_address

ARM = "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/rg?api-version=2024-07-01"


@pytest.fixture(scope="module")
def house() -> Iterator[RunningService]:
    """A service that is open until eve comes."""
    with running(SMALL) as service:
        yield service


@pytest.fixture(scope="module")
def eve(house: RunningService) -> str:
    """A viewer's token."""
    admin = first_admin(house)
    return str(as_(house, admin, "POST", "/v1/tokens", {"name": "eve", "role": "viewer"}).json["token"])


@pytest.fixture(scope="module")
def closed(house: RunningService, eve: str) -> RunningService:
    """A service where one has to sign in; no test changes it."""
    return house


# Open.


@pytest.mark.parametrize("sent", ["Bearer fw_nonsense", "Basic eDp5", "Bearer a.b.c", ""])
def test_an_open_service_ignores_what_credentials_are_sent(service: RunningService, sent: str):
    reply = service.operator("POST", "/v1/vms/solo/restart", headers={"Authorization": sent})

    assert reply.status == 202
    assert reply.json["operation"]["asked_by"] == "operator"


def test_an_open_service_knows_nobody_wrong_however_often_they_come(service: RunningService):
    statuses = {service.operator("GET", "/v1/vms", headers=bearer("fw_wrong")).status for _ in range(30)}

    assert statuses == {200}


def test_the_first_credential_closes_the_door(service: RunningService):
    before = service.operator("GET", "/v1/vms").status

    token = first_admin(service)

    assert (before, service.operator("GET", "/v1/vms").status) == (200, 401)
    assert as_(service, token, "GET", "/v1/vms").status == 200


# Turned away.


def test_who_sends_nothing_is_told_how_to_sign_in(closed: RunningService):
    reply = closed.operator("GET", "/v1/vms")

    assert reply.status == 401
    assert reply.headers["www-authenticate"] == 'Bearer realm="forewarn"'
    assert reply.json["error"] == {
        "code": "Unauthenticated",
        "message": "Nobody gets in here without signing in.",
        "hint": "Sign in with FOREWARN_TOKEN or --token-file; over REST with Authorization: Bearer TOKEN.",
    }


@pytest.mark.parametrize(
    "sent",
    ["Bearer", "Bearer ", "Basic eDp5", "fw_x", "Bearer a b", "Token fw_x", "Bearer fw_x,", "Bearer \xff"],
)
def test_a_header_that_is_no_good_token_is_refused_as_one(closed: RunningService, sent: str):
    reply = call(
        "127.0.0.1", closed.service.operator[1], "GET", "/v1/vms", None, {"Authorization": sent}, new_address()
    )

    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith('Bearer realm="forewarn", error="invalid_token", error_')


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case(closed: RunningService, eve: str, scheme: str):
    reply = closed.operator("GET", "/v1/vms", headers={"Authorization": f"{scheme} {eve}"})

    assert reply.status == 200


def test_two_authorization_headers_are_refused(closed: RunningService, eve: str):
    with socket.create_connection(
        ("127.0.0.1", closed.service.operator[1]), source_address=(new_address(), 0)
    ) as raw:
        good = f"Authorization: Bearer {eve}\r\n"
        raw.sendall(f"GET /v1/vms HTTP/1.1\r\nHost: x\r\n{good}{good}Connection: close\r\n\r\n".encode())
        answer = raw.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 401 ")


def test_a_token_in_the_address_is_not_looked_at(closed: RunningService, eve: str):
    assert closed.operator("GET", f"/v1/vms?access_token={eve}").status == 401


def test_too_small_a_role_is_told_which_one_is_needed_and_which_one_it_has(closed: RunningService, eve: str):
    reply = as_(closed, eve, "POST", "/v1/vms/solo/restart")

    assert reply.status == 403
    assert reply.json["error"] == {
        "code": "RoleTooSmall",
        "message": "POST /v1/vms/solo/restart needs the role operator; eve has the role viewer.",
        "hint": "Ask an admin for a token: forewarn token create --role operator --name NAME",
    }


def test_a_body_is_not_read_from_who_may_not_send_it(closed: RunningService, eve: str):
    reply = as_(closed, eve, "PUT", "/v1/fleet", "this is no fleet")

    assert reply.status == 403


@pytest.mark.parametrize(
    "path", [ARM, ARM.upper(), "/subscriptions?api-version=2022-12-01", "/some-tenant/oauth2/authorize"]
)
def test_azures_own_clients_are_turned_away_in_the_shape_that_they_know(closed: RunningService, path: str):
    silent = closed.operator("GET", path)
    wrong = call("127.0.0.1", closed.service.operator[1], "GET", path, None, bearer("fw_x"), new_address())

    assert (silent.status, wrong.status) == (401, 401)
    assert set(silent.json["error"]) == set(wrong.json["error"]) == {"code", "message"}
    assert silent.json["error"]["code"] == wrong.json["error"]["code"] == "AuthenticationFailed"
    assert silent.headers["www-authenticate"].startswith("Bearer ")


def test_azures_own_clients_are_told_of_too_small_a_role_in_the_shape_that_they_know(
    closed: RunningService, eve: str
):
    reply = as_(closed, eve, "PUT", ARM, {})

    assert (reply.status, reply.json["error"]["code"]) == (403, "AuthorizationFailed")
    assert "needs the role operator; eve has the role viewer" in reply.json["error"]["message"]


def test_on_a_public_route_a_caller_is_nobody():
    assert not NOBODY.role.allows(ANYBODY.role)


@pytest.mark.parametrize("token", ["fw_wrong", "a.b.c"])
def test_health_is_told_to_everybody_whatever_they_send(closed: RunningService, token: str):
    assert closed.operator("GET", "/healthz", headers=bearer(token)).status == 200
    assert closed.operator("GET", "/readyz").status == 200


# Pages of others.


def test_who_has_signed_in_may_call_the_service_by_any_name(closed: RunningService, eve: str):
    reply = closed.operator("GET", "/v1/vms", headers={"Host": "forewarn.example", **bearer(eve)})

    assert reply.status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1"])
def test_a_foreign_page_is_refused_whatever_token_it_has(closed: RunningService, eve: str, origin: str):
    reply = closed.operator("GET", "/v1/vms", headers={"Origin": origin, **bearer(eve)})
    public = closed.operator("GET", "/healthz", headers={"Origin": origin})

    assert (reply.status, reply.json["error"]["code"]) == (403, "ForeignOrigin")
    assert public.status == 403


# Streams.


def listen(service: RunningService, token: str) -> Listener:
    return Listener(service, f"Authorization: Bearer {token}\r\n")


def test_a_stream_tells_nothing_more_to_who_has_been_revoked(service: RunningService):
    admin = first_admin(service)
    eve = as_(service, admin, "POST", "/v1/tokens", {"name": "eve", "role": "viewer"}).json["token"]
    listeners = {"eve": listen(service, eve), "root": listen(service, admin)}

    as_(service, admin, "DELETE", "/v1/tokens/eve")
    as_(service, admin, "POST", "/v1/hosts/host-0/maintain", {"kind": "Freeze"})
    wait_until(lambda: len(listeners["root"].names) >= 5, "the admin to hear")

    assert listeners["eve"].is_over.wait(60)
    assert listeners["eve"].names == []
    for listener in listeners.values():
        listener.close()


def test_a_stream_of_an_open_service_ends_when_one_has_to_sign_in(service: RunningService):
    listener = Listener(service)

    admin = first_admin(service)
    as_(service, admin, "POST", "/v1/hosts/host-0/maintain", {"kind": "Freeze"})

    assert listener.is_over.wait(60)
    assert listener.names == []
    listener.close()


# On the network.


def test_a_service_on_the_network_starts_once_somebody_can_sign_in(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    with Book(store) as book:
        token = book.token("root")

    with running(SMALL, store=store, operator=("0.0.0.0", 0)) as service:
        silent, signed = service.operator("GET", "/v1/vms"), as_(service, token, "GET", "/v1/vms")

    assert (silent.status, signed.status) == (401, 200)

"""Every route against every role, and against every credential that is none (any longer)."""

from __future__ import annotations

import base64
import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import jwt
import pytest

from forewarn.operator.app import ROUTES
from forewarn.operator.endpoint import Endpoint
from forewarn.operator.roles import Role
from forewarn.store.credentials import CredentialKind
from tests.fleets import SMALL
from tests.running import RunningService, free_port, running
from tests.sign_in.people import NOW, Book, base, jwt_for, new_address

_PARAMETER = re.compile(r"\{\w+(?::\w+)?\}")


@dataclass(frozen=True)
class House:
    """A service, those who may sign in there, and those who may not."""

    service: RunningService
    good: dict[str, tuple[Role, str]]
    bad: dict[str, str | None]


def _without_signature(token: str) -> str:
    return token.rpartition(".")[0] + "."


def _with_another_role(token: str) -> str:
    """The token with an admin's claims in the place of its own, and its old signature."""
    head, body, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    changed = base64.urlsafe_b64encode(json.dumps({**claims, "roles": ["admin"]}).encode()).decode().rstrip("=")
    return f"{head}.{changed}.{signature}"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    store = f"sqlite:///{tmp_path_factory.mktemp('house')}/store.db"
    with Book(store) as book:
        tokens = {role: book.token(f"{role}-token", role) for role in Role}
        principals = {role: book.principal(f"{role}-principal", role) for role in Role}
        revoked, expired = book.token("revoked"), book.token("expired")
        gone, late = book.principal("gone"), book.principal("late")
        key = book.signing_key
    operator = ("127.0.0.1", free_port())  # the same for both: it is whom the JWTs are for
    with running(SMALL, store=store, operator=operator) as service:
        signed = {role: jwt_for(service, *principals[role]) for role in Role}
        of_gone, of_late = jwt_for(service, *gone), jwt_for(service, *late)
    with Book(store) as book:
        book.revoke(CredentialKind.TOKEN, "revoked")
        book.revoke(CredentialKind.PRINCIPAL, "gone")
        book.expire("expired")
        book.expire("late")
    with running(SMALL, store=store, operator=operator) as service:
        good = signed[Role.ADMIN]
        claims = jwt.decode(good, key, ["HS256"], audience=base(service))
        past = {**claims, "exp": int((NOW() - timedelta(seconds=1)).timestamp())}
        yield House(
            service,
            {
                f"{role} {kind}": (role, found[role])
                for kind, found in (("token", tokens), ("JWT", signed))
                for role in Role
            },
            {
                "nothing": None,
                "an unknown token": "fw_" + "A" * 43,
                "a revoked token": revoked,
                "an expired token": expired,
                "a JWT of a revoked principal": of_gone,
                "a JWT of an expired principal": of_late,
                "an expired JWT": jwt.encode(past, key, "HS256"),
                "a JWT for another audience": jwt.encode(
                    {**claims, "aud": "https://management.azure.com"}, key, "HS256"
                ),
                "a JWT without a signature": _without_signature(good),
                "a JWT in two parts": good.rpartition(".")[0],
                "a JWT signed with another key": jwt.encode(claims, b"k" * 64, "HS256"),
                "a JWT signed another way": jwt.encode(claims, key, "HS512"),
                "a JWT that says alg none": jwt.encode(claims, None, "none"),
                "a JWT with a larger role": _with_another_role(signed[Role.VIEWER]),
                "a JWT of nobody": jwt.encode({**claims, "sub": "nobody"}, key, "HS256"),
                "a JWT of another tenant": jwt.encode({**claims, "tid": "x"}, key, "HS256"),
                "a JWT that never expires": jwt.encode(
                    {k: v for k, v in claims.items() if k != "exp"}, key, "HS256"
                ),
            },
        )


def status(service: RunningService, route: Endpoint, token: str | None) -> int:
    """The status alone: a stream has no end."""
    path = _PARAMETER.sub("x", route.path)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    address = ("127.0.0.1", service.service.operator[1])
    connection = http.client.HTTPConnection(*address, timeout=30, source_address=(new_address(), 0))
    try:
        connection.request(route.method, path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_lets_in_the_roles_that_it_needs_and_nobody_else(house: House, route: Endpoint):
    let_in, needed = {}, route.needs

    for who, (role, token) in house.good.items():
        answered = status(house.service, route, token)
        let_in[who] = (answered not in {401, 403}, answered)
        assert let_in[who][0] == (needed is None or role.allows(needed)), (who, answered)
        assert let_in[who][0] or answered == 403, (who, answered)
    for who, credential in house.bad.items():
        answered = status(house.service, route, credential)
        assert (answered not in {401, 403}) if needed is None else (answered == 401), (who, answered)


def test_what_the_routes_need_is_as_was_agreed():
    needs = {(route.method, route.path): route.needs for route in ROUTES}

    assert {path for (_, path), role in needs.items() if role is None} == {
        "/healthz",
        "/readyz",
        "/metadata/endpoints",
        "/{tenant}/oauth2/v2.0/token",
        "/{tenant}/oauth2/token",
        "/{tenant}/v2.0/.well-known/openid-configuration",
        "/{tenant}/.well-known/openid-configuration",
        "/{tenant}/discovery/v2.0/keys",
        "/{tenant}/discovery/keys",
    }
    assert needs["POST", "/v1/events/{id}/approve"] is Role.APPROVER
    assert needs["POST", "/v1/events/{id}/postpone"] is Role.APPROVER
    assert {route for route, role in needs.items() if role is Role.ADMIN} == {
        ("PUT", "/v1/fleet"),
        *((method, f"/v1/{kind}s{end}") for kind in ("token", "principal") for method, end in
          (("GET", ""), ("POST", ""), ("DELETE", "/{name}"))),
        ("POST", "/v1/webhooks"),
        ("DELETE", "/v1/webhooks/{id}"),
    }  # fmt: skip
    for path in ("/v1/clock", "/v1/vms/{name}/restart", "/v1/hosts/{name}/reclaim", "/v1/events/{id}/cancel",
                 "/v1/webhooks/{id}/resend"):  # fmt: skip
        assert needs["POST", path] is Role.OPERATOR
    azures = {route: role for route, role in needs.items() if route[1].startswith("/subscriptions")}
    assert {role for (method, _), role in azures.items() if method == "GET"} == {Role.VIEWER}
    approvals = {route for route in azures if "/Microsoft.Maintenance/" in route[1]}
    assert {azures[route] for route in approvals} == {Role.APPROVER}
    assert {role for route, role in azures.items() if route[0] != "GET" and route not in approvals} == {
        Role.OPERATOR
    }
    for path in (
        "/v1/webhooks",
        "/v1/webhooks/{id}",
        "/v1/webhooks/dead",
        "/",
        "/metrics",
        "/openapi.json",
        "/v1/stream",
        "/v1/fleet",
        "/v1/clock",
    ):
        assert needs["GET", path] is Role.VIEWER


def test_each_role_may_do_all_that_those_before_it_may():
    assert [[role.allows(needed) for needed in Role] for role in Role] == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]


def test_a_path_that_there_is_not_is_told_only_to_who_has_signed_in(house: House):
    nowhere = Endpoint("GET", "/v1/nowhere", ROUTES[0].handle, "", dict)

    assert status(house.service, nowhere, None) == 401
    assert status(house.service, nowhere, house.good["viewer token"][1]) == 404


def test_the_openapi_page_says_what_each_route_needs(house: House):
    page = house.service.operator(
        "GET", "/openapi.json", headers={"Authorization": f"Bearer {house.good['viewer token'][1]}"}
    ).json

    assert page["paths"]["/v1/events/{id}/approve"]["post"]["x-role"] == "approver"
    assert page["paths"]["/v1/fleet"]["put"]["security"] == [{"bearer": []}]
    assert page["paths"]["/healthz"]["get"]["security"] == []
    assert page["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"

"""Signing in as Azure's own clients do: what they look up, and tokens for a client id and a secret."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

import jwt
import pytest

from forewarn.store.credentials import CredentialKind
from tests.fleets import SMALL
from tests.running import Reply, RunningService, call, free_port, running
from tests.sign_in.people import NOW, TENANT, Book, as_, ask_for_jwt, base, jwt_for, new_address


class House(NamedTuple):
    """A service with a principal."""

    service: RunningService
    client: str
    secret: str
    key: bytes

    def form(self, **changes: str | None) -> dict[str, str]:
        """A good form, but for some changes."""
        good: dict[str, str | None] = {
            "grant_type": "client_credentials",
            "client_id": self.client,
            "client_secret": self.secret,
            "scope": f"{base(self.service)}//.default",
            "client_info": "1",
            "claims": '{"access_token":{"xms_cc":{"values":["CP1"]}}}',
        }
        return {name: value for name, value in (good | changes).items() if value is not None}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    store = f"sqlite:///{tmp_path_factory.mktemp('house')}/store.db"
    with Book(store) as book:
        client, secret = book.principal("az")
        key = book.signing_key
    with running(SMALL, store=store) as service:
        yield House(service, client, secret, key)


# Looked up.


def test_the_cloud_says_where_everything_is_under_the_address_that_was_called(house: House):
    found = house.service.get("/metadata/endpoints?api-version=2022-09-01")

    here = base(house.service)
    assert found["resourceManager"] == f"{here}/"
    assert found["authentication"] == {
        "loginEndpoint": f"{here}/",
        "audiences": [f"{here}/"],
        "tenant": "common",
        "identityProvider": "AAD",
    }
    assert set(found) == {
        "portal", "authentication", "media", "graphAudience", "graph", "name", "suffixes", "batch",
        "resourceManager", "vmImageAliasDoc", "activeDirectoryDataLake", "sqlManagement",
        "microsoftGraphResourceId", "appInsightsResourceId", "logAnalyticsResourceId", "gallery",
    }  # fmt: skip


def test_a_tenant_says_where_its_tokens_are_given(house: House):
    found = house.service.get(f"/{TENANT}/v2.0/.well-known/openid-configuration")

    here = f"{base(house.service)}/{TENANT}"
    assert found["token_endpoint"] == f"{here}/oauth2/v2.0/token"
    assert found["issuer"] == f"{here}/v2.0"
    assert {"authorization_endpoint", "device_authorization_endpoint"} <= set(found)
    keys = found["jwks_uri"].removeprefix(base(house.service))
    assert house.service.get(keys) == {"keys": []}


@pytest.mark.parametrize("tenant", ["common", "organizations", TENANT.upper()])
@pytest.mark.parametrize("version", ["/v2.0", ""])
def test_clients_that_do_not_know_the_tenant_yet_are_told(house: House, tenant: str, version: str):
    found = house.service.get(f"/{tenant}{version}/.well-known/openid-configuration")

    assert found["issuer"] == f"{base(house.service)}/{TENANT}/v2.0"
    assert found["token_endpoint"] == f"{base(house.service)}/{TENANT}/oauth2{version}/token"


def test_another_tenant_is_not_found(house: House):
    reply = house.service.operator("GET", "/contoso/v2.0/.well-known/openid-configuration")

    assert (reply.status, reply.json["error"]) == (400, "invalid_tenant")


def test_the_address_is_the_one_that_the_client_calls(house: House):
    found = house.service.operator("GET", "/metadata/endpoints", headers={"Host": "Forewarn.Example:80"}).json

    assert found["portal"] == "http://forewarn.example"


# Given.


def test_a_client_id_and_its_secret_are_given_a_token_that_is_let_in(house: House):
    reply = ask_for_jwt(house.service, house.form())

    assert reply.status == 200
    assert reply.headers["cache-control"] == "no-store"
    given = reply.json
    assert (given["token_type"], given["expires_in"], given["ext_expires_in"]) == ("Bearer", 3600, 3600)
    assert as_(house.service, given["access_token"], "GET", "/v1/vms").status == 200


def test_a_token_says_whom_it_is_for_and_expires_in_an_hour(house: House):
    token = ask_for_jwt(house.service, house.form()).json["access_token"]

    claims = jwt.decode(token, house.key, ["HS256"], audience=base(house.service))
    assert claims["iss"] == f"{base(house.service)}/{TENANT}/v2.0"
    assert claims["sub"] == claims["appid"] == house.client
    assert (claims["tid"], claims["roles"]) == (TENANT, ["admin"])
    assert claims["exp"] - claims["iat"] == 3600
    assert abs(claims["iat"] - NOW().timestamp()) < 60
    assert claims["nbf"] == claims["iat"]


def test_no_two_tokens_are_the_same(house: House):
    tokens = {ask_for_jwt(house.service, house.form()).json["access_token"] for _ in range(5)}

    assert len(tokens) == 5


def test_the_secret_may_come_as_http_basic(house: House):
    pair = f"{quote(house.client)}:{quote(house.secret)}"
    basic = f"Basic {base64.b64encode(pair.encode()).decode()}"

    reply = ask_for_jwt(house.service, house.form(client_id=None, client_secret=None), Authorization=basic)
    twice = ask_for_jwt(house.service, house.form(), Authorization=basic)

    assert reply.status == 200
    assert (twice.status, twice.json["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_secret_may_come_from_a_file_with_the_end_of_its_line(house: House, end: str):
    given = ask_for_jwt(house.service, house.form(client_secret=house.secret + end))
    twice = ask_for_jwt(house.service, house.form(client_secret=house.secret + end * 2))

    assert (given.status, twice.status) == (200, 401)


def test_version_1_takes_a_resource_and_answers_in_strings(house: House):
    form = house.form(scope=None, resource=f"{base(house.service)}/")

    reply = ask_for_jwt(house.service, form, f"/{TENANT}/oauth2/token")

    given = reply.json
    assert (reply.status, given["expires_in"], given["resource"]) == (200, "3600", form["resource"])
    assert int(given["expires_on"]) - int(given["not_before"]) == 3600
    assert as_(house.service, given["access_token"], "GET", "/v1/vms").status == 200


@pytest.mark.parametrize("scope", ["{}/.default", "{}//.default", "{}///.default"])
def test_slashes_at_the_end_of_an_audience_do_not_count(house: House, scope: str):
    reply = ask_for_jwt(house.service, house.form(scope=scope.format(base(house.service))))

    assert as_(house.service, reply.json["access_token"], "GET", "/v1/vms").status == 200


def test_a_token_for_another_service_is_not_given(house: House):
    reply = ask_for_jwt(house.service, house.form(scope="https://graph.microsoft.com/.default"))

    assert (reply.status, reply.json["error"]) == (400, "invalid_resource")
    assert f"is not this service, which is {base(house.service)}." in reply.json["error_description"]


def test_a_token_may_be_asked_for_under_another_name_of_this_machine_and_holds_for_that_name(house: House):
    here = base(house.service)
    reply = ask_for_jwt(house.service, house.form(scope=f"{here.replace('127.0.0.1', 'localhost')}/.default"))

    refused = as_(house.service, reply.json["access_token"], "GET", "/v1/vms")

    assert reply.status == 200
    assert refused.status == 401
    assert refused.json["error"]["message"] == f"The token is for another service than {here}."


# Refused.


@pytest.mark.parametrize(
    ("changes", "status", "error", "number"),
    [
        ({"grant_type": None}, 400, "invalid_request", 900144),
        ({"grant_type": "password"}, 400, "unsupported_grant_type", 70003),
        ({"client_id": None}, 400, "invalid_request", 900144),
        ({"client_secret": None}, 401, "invalid_client", 7000218),
        ({"client_secret": "wrong"}, 401, "invalid_client", 7000215),
        ({"client_id": "11111111-1111-1111-1111-111111111111"}, 401, "invalid_client", 7000215),
        ({"scope": None}, 400, "invalid_request", 900144),
        ({"scope": ""}, 400, "invalid_request", 900144),
        ({"scope": "openid profile"}, 400, "invalid_scope", 1002012),
        ({"scope": "https://a/.default https://b/.default"}, 400, "invalid_scope", 1002012),
        ({"scope": "api://x/.default"}, 400, "invalid_resource", 500011),
        ({"scope": "https://[/.default"}, 400, "invalid_resource", 500011),
        ({"scope": "http://localhost:99999/.default"}, 400, "invalid_resource", 500011),
        ({"scope": "http://localhost:abc/.default"}, 400, "invalid_resource", 500011),
    ],
    ids=lambda value: "" if isinstance(value, int) else str(value),
)
def test_a_form_that_is_no_good_is_refused_in_the_directorys_shape(
    house: House, changes: dict[str, str | None], status: int, error: str, number: int
):
    reply = ask_for_jwt(house.service, house.form(**changes))

    assert (reply.status, reply.json["error"], reply.json["error_codes"]) == (status, error, [number])
    assert reply.json["error_description"].startswith(f"AADSTS{number}: ")
    assert {"timestamp", "trace_id", "correlation_id"} <= set(reply.json)
    assert house.secret not in reply.body.decode()


def test_a_host_with_a_port_that_cannot_be_is_another_service(house: House):
    reply = ask_for_jwt(house.service, house.form(), Host="localhost:99999")

    assert (reply.status, reply.json["error"]) == (400, "invalid_resource")


@pytest.mark.parametrize("host", ["other.example", "{here}"], ids=["elsewhere", "here"])
def test_an_address_with_a_password_in_it_is_refused_and_not_repeated(house: House, host: str):
    here = base(house.service).removeprefix("http://")

    reply = ask_for_jwt(house.service, house.form(scope=f"http://user:hunter2@{host.format(here=here)}/.default"))

    assert (reply.status, reply.json["error"]) == (400, "invalid_resource")
    assert "The scope holds a user's name" in reply.json["error_description"]
    assert "hunter2" not in reply.body.decode()


def send(house: House, body: bytes, kind: str = "application/x-www-form-urlencoded") -> Reply:
    path = f"/{TENANT}/oauth2/v2.0/token"
    port = house.service.service.operator[1]
    return call("127.0.0.1", port, "POST", path, body, {"Content-Type": kind}, new_address())


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"grant_type": "client_credentials"}', "application/json"),
        (b"grant_type", "application/x-www-form-urlencoded"),
        (b"\xff\xfe=1", "application/x-www-form-urlencoded"),
        (b"grant_type=a&grant_type=b", "application/x-www-form-urlencoded"),
        (b"&".join(b"x%d=1" % n for n in range(60)), "application/x-www-form-urlencoded"),
        (b"", "application/x-www-form-urlencoded"),
    ],
    ids=["JSON", "no pairs", "not UTF-8", "twice", "too many", "nothing"],
)
def test_a_body_that_is_no_form_is_an_invalid_request(house: House, body: bytes, kind: str):
    reply = send(house, body, kind)

    assert (reply.status, reply.json["error"]) == (400, "invalid_request")


def test_a_body_that_is_too_large_is_not_read_to_its_end(house: House):
    reply = send(house, b"a=" + b"x" * 70_000)

    assert (reply.status, reply.json["error"]["message"]) == (400, "The body is too large.")


@pytest.mark.parametrize("tenant", ["common", "contoso", "00000000-0000-4000-8000-000000000009"])
def test_another_tenant_gives_no_tokens(house: House, tenant: str):
    reply = ask_for_jwt(house.service, house.form(), f"/{tenant}/oauth2/v2.0/token")

    assert (reply.status, reply.json["error_codes"]) == (400, [90002])


def test_a_tokens_secret_is_no_clients_secret(tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    with Book(store) as book:
        issued = book.create(CredentialKind.TOKEN, "root")
    with running(SMALL, store=store) as service:
        form = {
            "grant_type": "client_credentials",
            "client_id": issued.credential.id,
            "client_secret": issued.secret,
            "scope": f"{base(service)}/.default",
        }

        assert ask_for_jwt(service, form).status == 401


def test_an_open_service_gives_no_tokens_and_says_how_to_make_a_principal(service: RunningService):
    form = {
        "grant_type": "client_credentials",
        "client_id": "x",
        "client_secret": "y",
        "scope": f"{base(service)}/.default",
    }

    reply = ask_for_jwt(service, form)

    assert (reply.status, reply.json["error"]) == (401, "invalid_client")
    assert "forewarn principal create" in reply.json["error_description"]


def test_a_token_of_the_service_before_a_restart_is_still_let_in(tmp_path):
    store, operator = f"sqlite:///{tmp_path}/store.db", ("127.0.0.1", free_port())
    with Book(store) as book:
        client, secret = book.principal("az")
    with running(SMALL, store=store, operator=operator) as service:
        token = jwt_for(service, client, secret)

    with running(SMALL, store=store, operator=operator) as service:
        assert as_(service, token, "GET", "/v1/vms").status == 200

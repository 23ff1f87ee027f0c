"""Tokens and principals over REST: made, listed, used, revoked, kept, and noted in the audit."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from forewarn.store.tables import credentials as table
from forewarn.store.tables import deeds
from tests.fleets import SMALL
from tests.rest.test_rest import restarted
from tests.running import RunningService, running
from tests.sign_in.people import NOW, as_, bearer, first_admin, jwt_for

KINDS = ["token", "principal"]


def rows(service: RunningService, wanted: sa.Table) -> list[Any]:
    """What the store holds, read by the one thread that may."""

    def read() -> list[Any]:
        with service.service.store.transaction() as transaction:
            return list(transaction.connection.execute(sa.select(wanted)))

    return service.service.runner.submit(read).result(60)


@pytest.fixture
def closed(service: RunningService) -> RunningService:
    """A service where one has to sign in; its calls are an admin's."""
    service.headers = bearer(first_admin(service))
    return service


def create(service: RunningService, kind: str, name: str = "ci", role: str = "viewer", **more: Any) -> Any:
    return service.post(f"/v1/{kind}s", {"name": name, "role": role, **more}, expect=201)


# Made and listed.


def test_a_token_is_told_once_and_kept_as_a_digest(closed: RunningService):
    made = create(closed, "token")

    (listed,) = (each for each in closed.get("/v1/tokens")["tokens"] if each["name"] == "ci")
    assert made["token"].startswith("fw_")
    assert len(made["token"]) == 46
    assert listed == {name: value for name, value in made.items() if name != "token"}
    assert made["token"] not in str(rows(closed, table))


def test_a_principal_is_given_a_client_id_and_a_secret_which_is_kept_as_a_digest(closed: RunningService):
    made = create(closed, "principal", role="operator")

    (listed,) = closed.get("/v1/principals")["principals"]
    assert listed == {name: value for name, value in made.items() if name != "client_secret"}
    assert (made["role"], made["state"]) == ("operator", "active")
    assert made["tenant"] == closed.service.settings.tenant
    assert made["client_secret"] not in str(rows(closed, table))


def test_two_secrets_are_never_the_same(closed: RunningService):
    secrets = {create(closed, "token", f"t{n}")["token"] for n in range(20)}

    assert len(secrets) == 20


def test_lists_come_in_pages_that_meet(closed: RunningService):
    for n in range(5):
        create(closed, "token", f"t{n}")
    closed.operator("DELETE", "/v1/tokens/t3")
    create(closed, "token", "t3")

    found, after = [], ""
    for _ in range(10):
        page = closed.get(f"/v1/tokens?limit=2{after}")
        found += [(each["name"], each["state"]) for each in page["tokens"]]
        if page["next"] is None:
            break
        after = f"&after={page['next'].replace(' ', '%20')}"

    names = ["root", "t0", "t1", "t2", "t3", "t3", "t4"]
    assert [name for name, _ in found] == names
    assert [state for name, state in found if name == "t3"] == ["revoked", "active"]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"name": "root", "role": "viewer"}, 409, "There is a token root already."),
        ({"name": "a b", "role": "viewer"}, 400, "'a b' cannot be the name of a"),
        ({"name": "", "role": "viewer"}, 400, "'' cannot be the name of a"),
        ({"name": "../x", "role": "viewer"}, 400, "'../x' cannot be the name of a"),
        ({"name": "x" * 65, "role": "viewer"}, 400, "cannot be the name of a"),
        ({"name": "forewarn", "role": "viewer"}, 400, "forewarn is who the audit names for what nobody asked for"),
        ({"name": "x", "role": "king"}, 400, "The body cannot be used: role is 'king'."),
        ({"name": "x"}, 400, "missing required field `role`"),
        ({"name": "x", "role": "viewer", "secret": "s"}, 400, "it has no member 'secret'"),
        ({"name": "x", "role": "viewer", "expires_in_seconds": 0}, 400, "cannot expire 0 s from now"),
        ({"name": "x", "role": "viewer", "expires_in_seconds": -5}, 400, "cannot expire -5 s from now"),
        ({"name": "x", "role": "viewer", "expires_in_seconds": 4e9}, 400, "cannot expire 4000000000 s from now"),
    ],
    ids=["taken", "blank", "empty", "path", "long", "reserved", "role", "no role", "more", "now", "past", "far"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_made_is_refused_and_nothing_is_kept(
    closed: RunningService, kind: str, body: dict[str, Any], status: int, says: str
):
    reply = closed.operator("POST", f"/v1/{kind}s", body)

    assert (reply.status, says in reply.json["error"]["message"]) == (status, True), reply.json
    assert [row.name for row in rows(closed, table)] == ["root"]


# In force, and out of it.


def test_a_revoked_token_is_refused_at_once_and_says_so(closed: RunningService):
    token = create(closed, "token")["token"]
    before = as_(closed, token, "GET", "/v1/vms").status

    revoked = closed.operator("DELETE", "/v1/tokens/ci").json
    after = as_(closed, token, "GET", "/v1/vms")

    assert (before, after.status) == (200, 401)
    assert (revoked["state"], revoked["revoked_by"]) == ("revoked", "root")
    assert after.json["error"]["message"] == "The token ci has been revoked."


def test_revoking_a_principal_ends_the_tokens_that_it_was_given(closed: RunningService):
    made = create(closed, "principal")
    token = jwt_for(closed, made["client_id"], made["client_secret"])
    before = as_(closed, token, "GET", "/v1/vms").status

    closed.operator("DELETE", "/v1/principals/ci")

    assert (before, as_(closed, token, "GET", "/v1/vms").status) == (200, 401)


@pytest.mark.parametrize("kind", KINDS)
def test_revoking_twice_is_as_good_as_once(closed: RunningService, kind: str):
    create(closed, kind)

    first, second = (closed.operator("DELETE", f"/v1/{kind}s/ci") for _ in range(2))

    assert (first.status, second.status) == (200, 200)
    assert first.json == second.json
    assert [row.verb for row in rows(closed, deeds)].count(f"revoke {kind}") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_revoking_what_there_is_not_is_refused(closed: RunningService, kind: str):
    create(closed, "principal" if kind == "token" else "token", "other")

    reply = closed.operator("DELETE", f"/v1/{kind}s/other")

    assert (reply.status, reply.json["error"]["message"]) == (404, f"There is no {kind} other.")


def test_a_name_may_be_used_again_once_it_is_revoked_and_the_old_token_stays_out(closed: RunningService):
    old = create(closed, "token")["token"]
    closed.operator("DELETE", "/v1/tokens/ci")

    new = create(closed, "token")["token"]

    assert as_(closed, new, "GET", "/v1/vms").status == 200
    assert as_(closed, old, "GET", "/v1/vms").status == 401


def test_revoking_the_last_credential_does_not_open_the_door(service: RunningService):
    token = first_admin(service)

    as_(service, token, "DELETE", "/v1/tokens/root")

    assert service.operator("GET", "/v1/vms").status == 401


def test_an_expiry_lies_as_far_ahead_as_was_asked_for_in_real_time(closed: RunningService):
    made = create(closed, "token", expires_in_seconds=86400)
    closed.advance(days=3)  # of maintenance, which is another time

    begin, end = (datetime.fromisoformat(made[name]) for name in ("created_at", "expires_at"))
    assert end - begin == timedelta(days=1)
    assert abs(begin - NOW()) < timedelta(minutes=5)
    assert as_(closed, made["token"], "GET", "/v1/vms").status == 200


# Kept.


def test_credentials_survive_a_restart(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    with running(SMALL, store=store) as service:
        token = first_admin(service)
        made = as_(service, token, "POST", "/v1/principals", {"name": "az", "role": "viewer"}).json
        as_(service, token, "POST", "/v1/tokens", {"name": "gone", "role": "viewer"})
        as_(service, token, "DELETE", "/v1/tokens/gone")

    with running(SMALL, store=store) as service:
        assert service.operator("GET", "/v1/vms").status == 401
        assert as_(service, token, "GET", "/v1/vms").status == 200
        signed = jwt_for(service, made["client_id"], made["client_secret"])
        assert as_(service, signed, "GET", "/v1/vms").status == 200
        listed = as_(service, token, "GET", "/v1/tokens").json["tokens"]

    assert [(each["name"], each["state"]) for each in listed] == [("gone", "revoked"), ("root", "active")]


def test_when_a_token_was_last_used_is_shown_at_once_and_kept(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    with running(SMALL, store=store) as service:
        token = first_admin(service)
        unused = service.service.sign_in.keyring.everyone[0].last_used_at
        (shown,) = as_(service, token, "GET", "/v1/tokens").json["tokens"]

    with running(SMALL, store=store) as service:
        (kept,) = service.service.sign_in.keyring.everyone

    assert unused is None
    assert kept.last_used_at is not None
    assert shown["last_used_at"] == kept.last_used_at.isoformat().replace("+00:00", "Z")


def test_a_store_that_holds_the_key_that_signs_is_nobody_elses_to_read(tmp_path: Path):
    file = tmp_path / "store.db"
    file.touch(mode=0o644)
    with running(SMALL, store=f"sqlite:///{file}") as service:
        before = file.stat().st_mode & 0o777
        create(service, "principal")

        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("store.db*")}

    assert before == 0o644
    assert {modes["store.db"], modes["store.db-wal"], modes["store.db-shm"]} == {0o600}


# Noted.


def test_who_made_and_revoked_a_credential_is_in_the_audit(closed: RunningService):
    create(closed, "token", role="operator", expires_in_seconds=60)
    create(closed, "principal", "az")
    closed.operator("DELETE", "/v1/tokens/ci")

    noted = [
        (row.actor, row.verb, row.subject, row.detail)
        for row in rows(closed, deeds)
        if row.verb.endswith(("token", "principal"))
    ]

    (until,) = (each["expires_at"] for each in closed.get("/v1/tokens")["tokens"] if each["name"] == "ci")
    assert noted == [
        ("operator", "create token", "root", "role admin"),
        ("root", "create token", "ci", f"role operator, until {until}"),
        ("root", "create principal", "az", "role viewer"),
        ("root", "revoke token", "ci", ""),
    ]


def test_each_call_is_noted_under_the_name_of_who_signed_in(closed: RunningService):
    event = restarted(closed)
    approver = create(closed, "token", "alice", "approver")["token"]
    made = create(closed, "principal", "robot", "operator")
    robot = jwt_for(closed, made["client_id"], made["client_secret"])

    approved = as_(closed, approver, "POST", f"/v1/events/{event['id']}/approve").json
    restart = as_(closed, robot, "POST", "/v1/vms/twin/restart").json

    assert approved["approved_by"] == "alice"
    assert restart["operation"]["asked_by"] == "robot"
    assert {row.actor for row in rows(closed, deeds)} >= {"alice", "robot", "root"}

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
        "/v1/vms?limit=0",
        "/v1/audit?after=x",
        "/v1/rollouts?after=x",
        "/v1/webhooks/dead?after=x",
    ],
)
def test_a_number_that_is_none_of_ours_is_refused(service: RunningService, path: str):
    reply = service.operator("GET", path)

    assert (reply.status, reply.json["error"]["code"]) == (400, "BadRequest")
    assert reply.json["error"]["hint"]


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


@pytest.mark.parametrize(
    ("method", "path", "says", "hint"),
    [
        ("GET", "/v1/history?vmm=solo", "GET /v1/history has no parameter 'vmm'.", "mean vm? It takes vm, set"),
        ("GET", "/v1/history/summary?limit=1", "/v1/history/summary has no parameter 'limit'.", "It takes vm,"),
        ("GET", "/v1/audit?actr=alice", "has no parameter 'actr'.", "Did you mean actor?"),
        ("GET", "/v1/rollouts?limit=1&status=x", "has no parameter 'status'.", "It takes state, limit or after."),
        ("GET", "/v1/webhooks?limit=1", "GET /v1/webhooks has no parameter 'limit'.", "It takes none."),
        ("GET", "/v1/events?Phase=all", "has no parameter 'Phase'.", "Did you mean phase?"),
        ("GET", "/v1/vms?zone=", "has no parameter 'zone'.", "It takes limit or after."),
        ("POST", "/v1/vms/solo/stop?deallocate=true", "has no parameter 'deallocate'.", "It takes dry_run."),
        ("POST", "/v1/vms/solo/stop?dryrun=true", "has no parameter 'dryrun'.", "Did you mean dry_run?"),
        ("POST", "/v1/vms/solo/stop?dry_run=1", "dry_run is '1'; it can be true or false.", "dry_run=true"),
        ("POST", "/v1/vms/solo/stop?dry_run=", "dry_run is ''", "dry_run=true"),
        ("POST", "/v1/vms/solo/stop?dry_run=false&dry_run=true", "dry_run is 'false' and 'true'", "dry_run=true"),
        ("POST", "/v1/clock?dry_run=true", "POST /v1/clock has no parameter 'dry_run'.", "It takes none."),
    ],
)  # fmt: skip
def test_a_parameter_that_the_route_does_not_have_is_refused(
    service: RunningService, method: str, path: str, says: str, hint: str
):
    number = service.service.plane.world.number

    reply = service.operator(method, path)

    error = reply.json["error"]
    assert (reply.status, error["code"]) == (400, "BadRequest")
    assert says in error["message"]
    assert hint in error["hint"]
    assert service.service.plane.world.number == number


@pytest.mark.parametrize(
    "path", ["/healthz?probe=1", "/metrics?name[]=up", "/openapi.json?v=2", "/?from=bookmark"]
)
def test_what_others_add_to_pages_outside_of_v1_does_not_matter(service: RunningService, path: str):
    assert service.operator("GET", path).status == 200


ON_HOST, ON_ROLLOUT = "/v1/hosts/host-0/maintain", "/v1/rollouts/preview"


@pytest.mark.parametrize(
    ("path", "body", "says", "hint"),
    [
        (ON_HOST, {"kind": "Frezee"}, "kind is 'Frezee'.", "It can be Freeze, Reboot or Redeploy."),
        (ON_HOST, {"kind": "Freeze", "by": "magic"}, "by is 'magic'.", "It can be pause or live_migration."),
        ("/v1/hosts/host-0/degrade", {"risk": "huge"}, "risk is 'huge'.", "It can be low, high or imminent."),
        ("/v1/hosts/host-0/fail", {"kind": "Freeze"}, "kind is 'Freeze'.", "It can be Redeploy or Reboot."),
        (
            "/v1/webhooks",
            {"url": "http://a.example/", "kinds": ["Reboot", "x"]},
            "kinds[1] is 'x'.",
            "It can be Freeze, Reboot, Redeploy, Preempt or Terminate.",
        ),
        (
            ON_ROLLOUT,
            {"kind": "Reboot", "window": {"from": "22:00", "to": "04:00", "days": ["Sa"]}},
            "window.days[0] is 'Sa'.",
            "It can be Mon, Tue, Wed, Thu, Fri, Sat or Sun.",
        ),
        (
            ON_HOST,
            {"kind": "Freeze", "description": "one\ntwo"},
            "description has a line break or another control character.",
            "Write it in one line.",
        ),
        (ON_HOST, {"kind": "Freeze", "notice": 5}, "it has no member 'notice'.", "Did you mean notice_seconds?"),
        (
            ON_ROLLOUT,
            {"kind": "Reboot", "window": {"from": "22:00", "too": "04:00"}},
            "window has no member 'too'.",
            "Did you mean to? It can have from, to, days, timezone or blackout.",
        ),
        (ON_HOST, {"kind": 3}, "Expected `str`, got `int` - at `$.kind`.", "See /openapi.json"),
        (ON_HOST, [], "Expected `object`, got `array`.", "See /openapi.json"),
    ],
)  # fmt: skip
def test_a_member_of_a_body_that_cannot_be_used_is_named_with_what_it_can_be(
    service: RunningService, path: str, body: object, says: str, hint: str
):
    reply = service.operator("POST", path, body)

    error = reply.json["error"]
    assert (reply.status, error["message"]) == (400, f"The body cannot be used: {says}")
    assert hint in error["hint"]

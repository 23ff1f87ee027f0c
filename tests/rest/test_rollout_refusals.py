"""Rollouts over REST that make no sense, and names that mean none or several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fleets import SMALL
from tests.rest.test_rest import refused
from tests.rest.test_rollouts import begun, shown
from tests.running import RunningService, running

_NARROW = {"from": "22:00", "to": "22:01"}


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({}, 400, "kind"),
        ({"kind": "Preempt"}, 400, "Preempt"),
        ({"kind": "Freeze", "nonsense": 1}, 400, "nonsense"),
        ({"kind": "Freeze", "max_parallel": 0}, 400, "max_parallel is 0: no host would ever get its turn."),
        ({"kind": "Freeze", "max_parallel": -3}, 400, "max_parallel is -3"),
        ({"kind": "Freeze", "max_parallel_per_zone": 0}, 400, "max_parallel_per_zone is 0"),
        ({"kind": "Freeze", "hosts": []}, 400, "The rollout names no host: hosts is empty."),
        ({"kind": "Freeze", "zones": []}, 400, "The rollout names no host: zones is empty."),
        ({"kind": "Freeze", "tags": {}}, 400, "The rollout names no host: tags is empty."),
        ({"kind": "Freeze", "hosts": [""]}, 400, "hosts"),
        ({"kind": "Freeze", "hosts": ["nobody"]}, 404, "There is no host nobody."),
        ({"kind": "Freeze", "zones": ["9"]}, 404, "There is no host in zone 9."),
        ({"kind": "Freeze", "tags": {"rack": "z"}}, 400, "no host fits all of its conditions."),
        ({"kind": "Freeze", "notice_seconds": 899}, 409, "15 min"),
        ({"kind": "Freeze", "recovery_seconds": -1}, 400, "recovery_seconds is less than 0"),
        ({"kind": "Freeze", "soak_seconds": 10**12}, 400, "soak_seconds"),
        ({"kind": "Freeze", "max_failures": -1}, 400, "max_failures"),
        ({"kind": "Freeze", "max_unhealthy_percent": 101}, 400, "max_unhealthy_percent"),
        ({"kind": "Freeze", "description": "a\nb"}, 400, "description"),
        ({"kind": "Reboot", "by": "live_migration"}, 400, "felt as a Freeze, not as a Reboot."),
        ({"kind": "Freeze", "window": {"from": "22:00"}}, 400, "to"),
        ({"kind": "Freeze", "window": {"from": "25:00", "to": "03:00"}}, 400, "window.from is '25:00'"),
        ({"kind": "Freeze", "window": {"from": "22:00", "to": "3"}}, 400, "window.to is '3', which is no time"),
        ({"kind": "Freeze", "window": {"from": "22:00\n", "to": "3"}}, 400, "window.from is '22:00\\n'"),
        ({"kind": "Freeze", "window": {**_NARROW, "timezone": "Mars/Base"}}, 400, "'Mars/Base', which is no time"),
        ({"kind": "Freeze", "window": {**_NARROW, "timezone": ""}}, 400, "which is no time zone."),
        ({"kind": "Freeze", "window": {**_NARROW, "timezone": "../etc/passwd"}}, 400, "which is no time zone."),
        ({"kind": "Freeze", "window": {**_NARROW, "timezone": "Europe"}}, 400, "which is no time zone."),
        ({"kind": "Freeze", "window": {**_NARROW, "days": ["Caturday"]}}, 400, "Caturday"),
        ({"kind": "Freeze", "window": {**_NARROW, "blackout": ["soon"]}}, 400, "blackout"),
        ({"kind": "Reboot", "window": _NARROW}, 409, "The window never fits: a Reboot takes about 65 s"),
        ({"kind": "Freeze", "force_by": "2026-03-02T12:00:00Z"}, 400, "force_by is 12:00:00Z, which has passed."),
        ({"kind": "Freeze", "force_by": "2020-01-01T00:00:00Z"}, 400, "which has passed."),
        ({"kind": "Freeze", "force_by": "9999-12-31T23:59:59Z"}, 400, "which is more than 3660 days ahead."),
        ({"kind": "Freeze", "force_by": "tomorrow"}, 400, "force_by is no instant"),
        ([], 400, "body"),
        (b"{not json", 400, "body"),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, (dict, list, bytes)) else "",
)  # fmt: skip
@pytest.mark.parametrize("path", ["/v1/rollouts", "/v1/rollouts/preview"])
def test_a_rollout_that_makes_no_sense_is_refused_by_start_and_preview_alike(
    still: RunningService, path: str, body: Any, status: int, said: str
):
    number = still.service.plane.world.number

    answered, error = refused(still, "POST", path, body)

    assert (answered, said in error["message"]) == (status, True), error
    assert still.service.plane.world.number == number


@pytest.fixture(scope="module")
def still() -> Iterator[RunningService]:
    """A service that no test changes anything of."""
    with running(SMALL) as started:
        yield started


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/rollouts/12345678", 404),
        ("GET", "/v1/rollouts/%25", 404),
        ("GET", "/v1/rollouts/12345678/hosts", 404),
        ("POST", "/v1/rollouts/12345678/pause", 404),
        ("POST", "/v1/rollouts/12345678/resume", 404),
        ("POST", "/v1/rollouts/12345678/abort", 404),
        ("GET", "/v1/rollouts?state=Sleeping", 400),
        ("GET", "/v1/rollouts?limit=0", 400),
        ("GET", "/v1/rollouts?after=12345678", 400),
        ("DELETE", "/v1/rollouts", 405),
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(still: RunningService, method: str, path: str, status: int):
    answered, error = refused(still, method, path)

    assert answered == status, error


@pytest.mark.parametrize("action", ["pause", "resume", "abort"])
@pytest.mark.parametrize("body", [{"nonsense": 1}, {"reason": 5}, {"anyway": "yes"}, b"[]"], ids=str)
def test_a_body_that_cannot_be_used_stops_and_resumes_nothing(grown: RunningService, action: str, body: Any):
    rollout = begun(grown)

    status, error = refused(grown, "POST", f"/v1/rollouts/{rollout['id']}/{action}", body)

    assert (status, error["code"]) == (400, "BadRequest")
    assert shown(grown, rollout)["state"] == "Running"


def test_a_rollout_is_found_in_any_case_and_by_its_beginning_while_open_and_afterwards(grown: RunningService):
    rollout = begun(grown, hosts=["host-0-0"])["id"]
    names = (rollout, rollout.upper(), rollout[:8], rollout[:6].upper())

    while_open = {grown.get(f"/v1/rollouts/{name}")["id"] for name in names}
    grown.advance(hours=1)
    afterwards = {grown.get(f"/v1/rollouts/{name}")["id"] for name in names}

    assert while_open == afterwards == {rollout}
    assert len(grown.get(f"/v1/rollouts/{rollout[:8]}/hosts")["hosts"]) == 1


def test_an_ambiguous_beginning_of_a_rollout_is_refused_and_names_some():
    with running({"hosts": [{"name": "empty"}]}) as service:
        ids = [begun(service)["id"] for _ in range(17)]
        first = next(each[0] for each in ids if sum(other[0] == each[0] for other in ids) > 1)

        status, error = refused(service, "POST", f"/v1/rollouts/{first}/abort")

    assert (status, error["code"]) == (400, "Ambiguous")
    assert sum(each[:8] in error["message"] for each in ids) > 1

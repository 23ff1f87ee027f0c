"""Rollouts over REST: shapes, statuses, refusals, pages and the stream."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import pytest

from forewarn.operator.app import ROUTES
from forewarn.operator.roles import Role
from tests.rest.test_rest import refused
from tests.rest.test_stream import Listener
from tests.rollouts.bench import grid
from tests.running import RunningService, running, wait_until

FIELDS = {"id", "state", "kind", "hosts_done", "hosts_total", "waiting_for"}
ROW_FIELDS = {"host", "vms", "announce_at", "latest_start", "latest_end"}
TURN_FIELDS = {"host", "zone", "wave", "state", "operation", "announced_at", "ended_at", "reason"}


def begun(service: RunningService, **body: Any) -> dict[str, Any]:
    """A rollout that has begun, as it is answered."""
    return service.post("/v1/rollouts", {"kind": "Reboot", **body}, expect=201)


def shown(service: RunningService, rollout: dict[str, Any]) -> dict[str, Any]:
    return service.get(f"/v1/rollouts/{rollout['id']}")


def turns(service: RunningService, rollout: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["host"]: each for each in service.get(f"/v1/rollouts/{rollout['id']}/hosts")["hosts"]}


# Preview.


def test_a_preview_names_every_host_with_its_vms_and_times_and_schedules_nothing(grown: RunningService):
    number = grown.service.plane.world.number

    plan = grown.post("/v1/rollouts/preview", {"kind": "Reboot"}, expect=200)

    assert grown.service.plane.world.number == number
    assert (plan["kind"], plan["hosts_total"], plan["vms_total"], plan["waves"]) == ("Reboot", 6, 6, 3)
    assert all(set(row) >= ROW_FIELDS for row in plan["hosts"])
    assert [(row["host"], row["wave"], row["vms"]) for row in plan["hosts"][:3]] == [
        ("host-0-0", 1, ["vm0-0-0"]),
        ("host-0-1", 1, ["vm0-0-1"]),
        ("host-1-0", 2, ["vm0-1-0"]),
    ]
    first = plan["hosts"][0]
    assert first["announce_at"] == plan["begins_at"] == "2026-03-02T12:00:00Z"
    assert first["latest_start"] == "2026-03-02T12:15:00Z"
    assert plan["latest_end"] == plan["hosts"][-1]["latest_end"]


def test_what_a_preview_says_of_each_host_is_kept(grown: RunningService):
    body = {"kind": "Reboot", "max_parallel": 1, "recovery_seconds": 600}
    plan = {row["host"]: row for row in grown.post("/v1/rollouts/preview", body)["hosts"]}
    rollout = grown.post("/v1/rollouts", body)

    grown.advance(days=2)

    assert shown(grown, rollout)["state"] == "Completed"
    for host, turn in turns(grown, rollout).items():
        operation = grown.get(f"/v1/operations/{turn['operation']}")
        assert operation["started_at"] <= plan[host]["latest_start"]
        assert operation["ended_at"] <= plan[host]["latest_end"]
        assert turn["announced_at"] >= plan[host]["announce_at"]


# Start and follow.


def test_a_rollout_is_answered_with_where_it_is_and_what_it_waits_for(grown: RunningService):
    rollout = begun(grown)

    assert set(rollout) >= FIELDS
    assert (rollout["state"], rollout["hosts_done"], rollout["hosts_total"]) == ("Running", 0, 6)
    assert (rollout["wave"], rollout["waves"], rollout["asked_by"]) == (1, 3, "operator")
    shown_now = shown(grown, rollout)
    assert shown_now["hosts_open"] == ["host-0-0", "host-0-1"]
    assert shown_now["waiting_for"] == [
        f"host-0-{n}: the notice to end at 12:15:00Z (scope set0 is off, nobody there can approve)"
        for n in range(2)
    ]


def test_limits_that_are_not_given_are_the_usual_ones(grown: RunningService):
    rollout = begun(grown)

    assert {
        name: rollout[name] for name in rollout if name.endswith(("_seconds", "_percent")) or "max_" in name
    } == {
        "max_parallel": 10,
        "max_parallel_per_zone": None,
        "notice_seconds": 900,
        "duration_seconds": -1,
        "recovery_seconds": 1800,
        "soak_seconds": 0,
        "health_wait_seconds": 600,
        "max_failures": 0,
        "max_unhealthy_percent": 0,
    }
    assert (rollout["window"], rollout["force_by"]) == (None, None)


def test_a_freeze_that_says_nothing_of_its_length_takes_nine_seconds(grown: RunningService):
    assert begun(grown, kind="Freeze")["duration_seconds"] == 9


def test_a_rollout_goes_wave_by_wave_to_its_end(grown: RunningService):
    rollout = begun(grown)
    grown.advance(minutes=20)
    after_one = shown(grown, rollout)
    grown.advance(days=1)

    over = shown(grown, rollout)

    assert (after_one["hosts_done"], after_one["wave"]) == (2, 2)
    assert after_one["waiting_for"] == [
        "update domain 0 of set0 to recover until 12:46:05Z (host-1-0 is announced at 12:31:05Z)"
    ]
    assert (over["state"], over["hosts_done"], over["wave"], over["waiting_for"]) == ("Completed", 6, None, [])
    assert over["ended_at"] is not None


def test_every_host_of_a_rollout_has_its_turn_and_its_operation_names_the_rollout(grown: RunningService):
    rollout = begun(grown)
    grown.advance(minutes=20)

    found = turns(grown, rollout)

    assert all(set(each) >= TURN_FIELDS for each in found.values())
    assert [each["state"] for each in found.values()] == ["Done"] * 2 + ["Waiting"] * 4
    operation = grown.get(f"/v1/operations/{found['host-0-0']['operation']}")
    assert (operation["rollout"], operation["host"], operation["phase"]) == (
        rollout["id"],
        "host-0-0",
        "Completed",
    )


@pytest.mark.parametrize(
    ("body", "hosts"),
    [
        ({}, ["host-0", "host-1", "host-2", "host-3", "host-4", "host-5"]),
        ({"hosts": ["host-3", "host-1", "host-3"]}, ["host-1", "host-3"]),
        ({"zones": ["1"]}, ["host-0", "host-1"]),
        ({"zones": ["1", "2"]}, ["host-0", "host-1", "host-2", "host-3"]),
        ({"tags": {"rack": "a"}}, ["host-0", "host-2", "host-4"]),
        ({"tags": {"rack": "a"}, "zones": ["2"]}, ["host-2"]),
        ({"hosts": ["host-0", "host-3"], "tags": {"rack": "b"}}, ["host-3"]),
    ],
    ids=["all", "by name", "a zone", "zones", "a tag", "tag and zone", "name and tag"],
)
def test_hosts_are_meant_by_name_zone_and_tag(body: dict[str, Any], hosts: list[str]):
    zones = ["1", "1", "2", "2", None, None]
    fleet = {
        "hosts": [
            {"name": f"host-{n}", "tags": {"rack": "ab"[n % 2]}} | ({"zone": zone} if zone else {})
            for n, zone in enumerate(zones)
        ]
    }
    with running(fleet) as service:
        plan = service.post("/v1/rollouts/preview", {"kind": "Freeze", **body})

    assert sorted(row["host"] for row in plan["hosts"]) == hosts


def test_a_window_holds_the_work_and_says_when_it_opens(grown: RunningService):
    window = {"from": "22:00", "to": "02:00", "days": ["Sat"], "timezone": "Europe/Berlin"}

    rollout = begun(grown, window=window)
    before = shown(grown, rollout)
    grown.advance(days=6)

    assert before["window"] == "Sat from 22:00 for 4 h (Europe/Berlin)"
    assert before["waiting_for"] == [
        "the window, which opens Sat 2026-03-07 21:00:00Z (host-0-0 is announced at 2026-03-07 20:45:00Z)"
    ]
    started = grown.get(f"/v1/operations/{turns(grown, rollout)['host-0-0']['operation']}")["started_at"]
    assert started == "2026-03-07T21:00:00Z"


def test_from_force_by_on_the_window_does_not_hold_it(grown: RunningService):
    window = {"from": "22:00", "to": "23:00", "days": ["Sun"], "blackout": ["2026-03-08"]}

    rollout = begun(grown, window=window, force_by="2026-03-04T01:00:00+01:00")
    grown.advance(days=3)

    assert shown(grown, rollout)["force_by"] == "2026-03-04T00:00:00Z"
    assert shown(grown, rollout)["state"] == "Completed"
    operations = [grown.get(f"/v1/operations/{turn['operation']}") for turn in turns(grown, rollout).values()]
    assert min(each["started_at"] for each in operations) >= "2026-03-04T00:00:00Z"


def test_a_description_is_what_guests_read(service: RunningService):
    service.guest("web-0").document()

    service.post("/v1/rollouts", {"kind": "Freeze", "hosts": ["host-0"], "description": "A new kernel."})
    service.advance(seconds=1)

    assert [event["Description"] for event in service.guest("web-0").events()] == ["A new kernel."]


# Lists.


def test_rollouts_are_listed_newest_first_and_by_state(grown: RunningService):
    done = begun(grown, hosts=["host-0-0"])["id"]
    grown.advance(hours=1)
    aborted = begun(grown)["id"]
    grown.post(f"/v1/rollouts/{aborted}/abort")
    grown.advance(seconds=1)
    paused = begun(grown)["id"]
    grown.post(f"/v1/rollouts/{paused}/pause")
    grown.advance(seconds=1)
    runs = begun(grown, max_parallel=9)["id"]

    def ids(query: str) -> list[str]:
        return [each["id"] for each in grown.get(f"/v1/rollouts{query}")["rollouts"]]

    assert ids("") == ids("?state=all") == [runs, paused, aborted, done]
    assert ids("?state=open") == [runs, paused]
    assert ids("?state=Completed") == ids("?state=completed") == [done]
    assert ids("?state=Aborted") == [aborted]
    assert ids("?state=Failed") == []
    counts = {
        each["id"]: (each["hosts_done"], each["hosts_total"]) for each in grown.get("/v1/rollouts")["rollouts"]
    }
    assert counts == {done: (1, 1), aborted: (0, 6), paused: (0, 6), runs: (0, 6)}


def test_rollouts_come_in_pages_that_meet_also_those_of_the_same_instant():
    with running({"hosts": [{"name": "empty"}]}) as service:
        made = {begun(service)["id"] for _ in range(7)}
        found, after = [], ""
        for _ in range(4):
            page = service.get(f"/v1/rollouts?limit=2{after}")
            found += [each["id"] for each in page["rollouts"]]
            after = f"&after={page['next']}"

    assert page["next"] is None
    assert len(found) == 7
    assert set(found) == made


def test_the_hosts_of_a_rollout_come_in_pages_that_meet_in_the_order_of_their_turns(grown: RunningService):
    rollout = begun(grown)
    path = f"/v1/rollouts/{rollout['id']}/hosts"

    first = grown.get(f"{path}?limit=4")
    second = grown.get(f"{path}?limit=4&after={first['next']}")

    assert [each["host"] for each in first["hosts"] + second["hosts"]] == [
        "host-0-0", "host-0-1", "host-1-0", "host-1-1", "host-2-0", "host-2-1",
    ]  # fmt: skip
    assert second["next"] is None
    for nonsense in ("after=nonsense", "after=-1", f"after={'9' * 50}", "limit=0"):
        assert refused(grown, "GET", f"{path}?{nonsense}")[0] == 400


# Who may.


def test_everybody_may_look_and_preview_and_only_operators_may_begin_and_stop():
    needed = {(each.method, each.path): each.needs for each in ROUTES if "/v1/rollouts" in each.path}

    assert needed == {
        ("GET", "/v1/rollouts"): Role.VIEWER,
        ("GET", "/v1/rollouts/{id}"): Role.VIEWER,
        ("GET", "/v1/rollouts/{id}/hosts"): Role.VIEWER,
        ("POST", "/v1/rollouts/preview"): Role.VIEWER,
        ("POST", "/v1/rollouts"): Role.OPERATOR,
        ("POST", "/v1/rollouts/{id}/pause"): Role.OPERATOR,
        ("POST", "/v1/rollouts/{id}/resume"): Role.OPERATOR,
        ("POST", "/v1/rollouts/{id}/abort"): Role.OPERATOR,
    }


# The stream.


def test_the_stream_tells_of_a_rollout_and_of_every_turn(grown: RunningService):
    listener = Listener(grown)
    rollout = begun(grown, hosts=["host-0-0", "host-1-0"])["id"]
    grown.post(f"/v1/rollouts/{rollout}/pause", {"reason": "lunch"})
    grown.post(f"/v1/rollouts/{rollout}/resume")
    grown.advance(hours=3)
    wait_until(lambda: "rollout.completed" in listener.names, "the end to be told")
    listener.close()

    told = (name for name in listener.names if name.startswith("rollout."))
    states = [name for name, _ in groupby(told)]  # each again whenever it waits for something else
    assert states == ["rollout.running", "rollout.paused", "rollout.running", "rollout.completed"]
    (paused,) = listener.objects_of("rollout.paused")
    assert (paused["id"], paused["waiting_for"]) == (rollout, ["somebody to resume it: lunch"])
    (over,) = listener.objects_of("rollout.completed")
    assert (over["hosts_done"], over["hosts_total"], over["waiting_for"]) == (2, 2, [])
    assert [each["host"] for each in listener.objects_of("turn.done")] == ["host-0-0", "host-1-0"]
    assert {each["rollout"] for each in listener.objects_of("turn.open")} == {rollout}
    assert {each["rollout"] for each in listener.objects_of("operation.started")} == {rollout}


def test_an_abort_is_told_with_what_is_still_at_work(grown: RunningService):
    rollout = begun(grown)["id"]
    grown.advance(minutes=15, seconds=6)
    listener = Listener(grown)

    grown.post(f"/v1/rollouts/{rollout}/abort")
    wait_until(lambda: "rollout.aborted" in listener.names, "the abort to be told")
    grown.advance(minutes=2)
    wait_until(lambda: listener.names.count("turn.done") == 2, "what had started to end")
    listener.close()

    (told,) = listener.objects_of("rollout.aborted")
    assert told["hosts_open"] == ["host-0-0", "host-0-1"]


# After a restart.


def test_a_rollout_is_the_same_after_a_restart_with_its_window_and_time_zone(tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    window = {"from": "22:00", "to": "02:00", "timezone": "Europe/Berlin", "blackout": ["2026-03-02"]}
    with running(grid(), store=store) as service:
        rollout = begun(service, window=window, soak_seconds=60)
        before = shown(service, rollout)

    with running(grid(), store=store) as service:
        after = shown(service, rollout)
        now = datetime.fromisoformat(service.get("/v1/clock")["now"])
        service.advance(days=2)
        started = service.get(f"/v1/operations/{turns(service, rollout)['host-0-0']['operation']}")["started_at"]

    assert after == before
    assert "but not on 2026-03-02" in before["window"]
    assert datetime.fromisoformat(started) - now == timedelta(hours=11, minutes=0)

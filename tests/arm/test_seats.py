"""Where new instances come up, and with whom they share a document."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.arm.caller import Arm, scale_set
from tests.running import running

POOL = scale_set("pool")


@contextmanager
def serving(fleet: dict[str, Any]) -> Iterator[Arm]:
    with running(fleet) as service:
        yield Arm(service)


def test_five_instances_on_five_hosts_are_each_on_its_own():
    with serving({"hosts": [{"name": f"h{n}"} for n in range(5)]}) as arm:
        arm.make_scale_set("batch", 5)

        assert {arm.service.get(f"/v1/vms/batch_{n}")["host"] for n in range(5)} == {f"h{n}" for n in range(5)}


def test_instances_for_which_there_is_no_host_apart_have_hosts_of_their_own():
    with serving({"hosts": [{"name": "h0"}, {"name": "h1"}]}) as arm:
        arm.make_scale_set("batch", 4)

        hosts = [arm.service.get(f"/v1/vms/batch_{n}")["host"] for n in range(4)]

    assert hosts == ["h0", "h1", "batch_2-host", "batch_3-host"]


def test_a_new_instance_is_not_put_on_a_host_that_has_failed():
    fleet = {
        "hosts": [{"name": "h0"}, {"name": "h1"}, {"name": "spare"}],
        "scale_sets": [{"name": "pool", "capacity": 1, "hosts": ["h0", "h1"]}],
    }
    with serving(fleet) as arm:
        arm.service.post("/v1/hosts/h1/fail")

        arm.patch(POOL, {"sku": {"capacity": 2}})

        assert arm.service.get("/v1/vms/pool_1")["host"] == "spare"


def test_a_new_instance_is_not_put_on_a_host_that_a_rollout_is_still_to_come_to_where_another_will_do():
    fleet = {
        "hosts": [{"name": "h0"}, {"name": "h1"}, {"name": "spare"}],
        "vms": [{"name": f"vm-{host}", "host": host} for host in ("h0", "h1", "spare")]
        + [{"name": "another", "host": "spare"}],
    }
    with serving(fleet) as arm:
        arm.service.post("/v1/rollouts", {"kind": "Reboot", "hosts": ["h0", "h1"], "max_parallel": 1})

        arm.make_scale_set("batch", 1)

        assert arm.service.get("/v1/vms/batch_0")["host"] == "spare"


@pytest.mark.parametrize(
    ("properties", "scopes"),
    [({}, 2), ({"singlePlacementGroup": False}, 2)],
    ids=["by default", "several groups"],
)
def test_a_placement_group_of_a_hundred_shares_a_document(arm: Arm, properties: dict[str, Any], scopes: int):
    arm.make_scale_set("batch", 101, {"properties": properties})

    found = {arm.service.get(f"/v1/vms/batch_{number}")["scope"] for number in (0, 99, 100)}

    assert len(found) == scopes


def test_a_set_that_wants_one_placement_group_has_a_hundred_instances_at_most(arm: Arm):
    one_group = {"singlePlacementGroup": True}
    arm.make_scale_set("batch", 100, {"properties": one_group})

    told = arm.get(scale_set("batch"))["properties"]["singlePlacementGroup"]
    changed = arm.refused("PATCH", scale_set("batch"), {"properties": {"singlePlacementGroup": False}})
    refused = arm.ask("PATCH", scale_set("batch"), {"sku": {"capacity": 101}})
    deleted = arm.ask("DELETE", scale_set("batch"))

    assert told is True
    assert "properties.singlePlacementGroup cannot be changed: batch was made with one" in changed.message
    assert refused.status == 400
    assert "sku.capacity is 101; it can be 0 to 100 with one placement group." in refused.json["error"]["message"]
    assert deleted.status == 202


@pytest.mark.parametrize("patch", [{"sku": {"capacity": None}}, {"sku": None}], ids=["capacity", "sku"])
def test_a_capacity_that_is_null_is_not_zero(arm: Arm, patch: dict[str, Any]):
    reply = arm.ask("PATCH", POOL, patch)

    assert reply.status == 200
    assert reply.json["sku"]["capacity"] == 3

"""How every request is judged: paths in any case, any api-version, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.arm.caller import (
    ROOT,
    SUBSCRIPTION,
    VERSION,
    Arm,
    availability_set,
    compute,
    instance,
    refused,
    scale_set,
    vm,
)
from tests.fleets import SMALL
from tests.running import running

VERSIONS = ["2015-06-15", "2019-03-01", "2022-11-01", "2023-10-01-preview", "2026-04-01"]
RESTART = vm("solo") + "/restart"


@pytest.fixture(scope="module")
def arm() -> Iterator[Arm]:
    """A service that no test here changes anything of."""
    with running(SMALL) as service:
        yield Arm(service)


@pytest.mark.parametrize("change", [str.lower, str.upper, str.title], ids=["lower", "upper", "title"])
def test_a_path_is_found_in_whatever_case_it_is_written(arm: Arm, change: Any):
    reply = arm.ask("GET", change(vm("web-0")))

    assert reply.status == 200
    assert reply.json["id"] == vm("web-0")
    assert reply.json["name"] == "web-0"


def test_an_instance_and_its_set_are_found_in_whatever_case_they_are_written(arm: Arm):
    path = instance("POOL", 0).replace("/virtualMachines", "/virtualmachines").replace("/default/", "/Default/")

    answer = arm.get(path)

    assert answer["id"] == instance("pool", 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_any_api_version_is_taken(arm: Arm, version: str):
    reply = arm.service.operator("GET", f"{vm('solo')}?api-version={version}")

    assert reply.status == 200
    assert reply.json["name"] == "solo"


@pytest.mark.parametrize(
    "query",
    [f"$expand=instanceView&api-version={VERSION}", f"api-version={VERSION}&%24expand=INSTANCEVIEW"],
    ids=["api-version last", "api-version first, encoded, in another case"],
)
def test_parameters_come_in_any_order(arm: Arm, query: str):
    reply = arm.service.operator("GET", f"{vm('solo')}?{query}")

    assert reply.status == 200
    assert reply.json["properties"]["instanceView"]["statuses"][1]["code"] == "PowerState/running"


@pytest.mark.parametrize("query", ["", "?", "?api-version=", "?$expand=instanceView"])
@pytest.mark.parametrize(("method", "path"), [("GET", vm("solo")), ("POST", RESTART), ("GET", "/subscriptions")])
def test_a_request_without_an_api_version_is_refused(arm: Arm, method: str, path: str, query: str):
    answer = refused(arm.service.operator(method, path + query))

    assert (answer.status, answer.code) == (400, "MissingApiVersionParameter")


@pytest.mark.parametrize("version", ["latest", "2024", "2024-07-01'", "24-07-01"])
def test_an_api_version_that_is_no_date_is_refused(arm: Arm, version: str):
    answer = refused(arm.service.operator("GET", f"{vm('solo')}?api-version={version}"))

    assert (answer.status, answer.code) == (400, "InvalidApiVersionParameter")
    assert version in answer.message


def test_an_api_version_has_digits_that_every_client_reads_alike(arm: Arm):
    answer = refused(arm.service.operator("GET", f"{vm('solo')}?api-version=%EF%BC%92024-07-01"))

    assert (answer.status, answer.code) == (400, "InvalidApiVersionParameter")


def test_another_subscription_is_not_found_and_nothing_is_done(arm: Arm):
    elsewhere = RESTART.replace(SUBSCRIPTION, "11111111-1111-1111-1111-111111111111")

    answer = arm.refused("POST", elsewhere)

    assert (answer.status, answer.code) == (404, "SubscriptionNotFound")
    assert SUBSCRIPTION in answer.message
    assert arm.service.get("/v1/history")["history"] == []


@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("GET", vm("nope"), "Microsoft.Compute/virtualMachines/nope"),
        ("GET", vm("solo", "elsewhere"), "resource group 'elsewhere'"),
        ("GET", vm("pool_0"), "Microsoft.Compute/virtualMachines/pool_0"),
        ("GET", vm("nope") + "/instanceView", "Microsoft.Compute/virtualMachines/nope"),
        ("PATCH", vm("nope"), "Microsoft.Compute/virtualMachines/nope"),
        ("POST", vm("nope") + "/restart", "Microsoft.Compute/virtualMachines/nope"),
        ("POST", vm("nope") + "/reapply", "Microsoft.Compute/virtualMachines/nope"),
        ("POST", vm("nope") + "/performMaintenance", "Microsoft.Compute/virtualMachines/nope"),
        ("POST", vm("nope") + "/simulateEviction", "Microsoft.Compute/virtualMachines/nope"),
        ("GET", scale_set("nope"), "Microsoft.Compute/virtualMachineScaleSets/nope"),
        ("GET", scale_set("web"), "Microsoft.Compute/virtualMachineScaleSets/web"),
        ("GET", scale_set("pool", "elsewhere"), "resource group 'elsewhere'"),
        ("PATCH", scale_set("nope"), "Microsoft.Compute/virtualMachineScaleSets/nope"),
        ("POST", scale_set("nope") + "/restart", "Microsoft.Compute/virtualMachineScaleSets/nope"),
        ("GET", scale_set("nope") + "/virtualMachines", "Microsoft.Compute/virtualMachineScaleSets/nope"),
        ("GET", instance("nope", 0), "Microsoft.Compute/virtualMachineScaleSets/nope"),
        ("GET", instance("pool", 7), "virtualMachineScaleSets/pool/virtualMachines/7"),
        ("GET", instance("pool", 7) + "/instanceView", "virtualMachineScaleSets/pool/virtualMachines/7"),
        ("POST", instance("pool", 7) + "/restart", "virtualMachineScaleSets/pool/virtualMachines/7"),
        ("POST", instance("pool", 7) + "/simulateEviction", "virtualMachineScaleSets/pool/virtualMachines/7"),
        ("GET", availability_set("nope"), "Microsoft.Compute/availabilitySets/nope"),
        ("PATCH", availability_set("nope"), "Microsoft.Compute/availabilitySets/nope"),
        ("GET", availability_set("pool"), "Microsoft.Compute/availabilitySets/pool"),
    ],
)
def test_a_resource_that_is_not_there_is_not_found(arm: Arm, method: str, path: str, named: str):
    answer = arm.refused(method, path)

    assert (answer.status, answer.code) == (404, "ResourceNotFound")
    assert named in answer.message


def test_an_instance_that_is_not_there_stops_the_whole_request(arm: Arm):
    answer = arm.refused("POST", scale_set("pool") + "/restart", {"instanceIds": ["0", "7"]})

    assert (answer.status, answer.code) == (404, "ResourceNotFound")
    assert "virtualMachines/7" in answer.message
    assert arm.service.get("/v1/history")["history"] == []


@pytest.mark.parametrize(
    "path",
    [
        f"{ROOT}/resourceGroups/elsewhere",
        compute("virtualMachines", "elsewhere"),
        compute("virtualMachineScaleSets", "elsewhere"),
        compute("availabilitySets", "elsewhere"),
    ],
)
def test_a_group_that_is_not_there_is_not_found(arm: Arm, path: str):
    answer = arm.refused("GET", path)

    assert (answer.status, answer.code) == (404, "ResourceGroupNotFound")
    assert "'elsewhere'" in answer.message


@pytest.mark.parametrize(
    "path", [vm("nope"), vm("solo", "elsewhere"), scale_set("nope"), instance("pool", 7), availability_set("nope")]
)
def test_deleting_what_is_not_there_is_done_already(arm: Arm, path: str):
    reply = arm.ask("DELETE", path)

    assert (reply.status, reply.body) == (204, b"")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"location": ', "not valid JSON"),
        (b"{'location': 'local'}", "not valid JSON"),
        (b'{"location": "\xff"}', "not valid JSON"),
        (b"[]", "Expected `object`, got `array`"),
        (b"null", "Expected `object`, got `null`"),
        (b"", "needs a body"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested too deep"),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, "nested too deep"),
    ],
    ids=["cut off", "not JSON", "not UTF-8", "a list", "null", "nothing", "deep", "very deep"],
)
@pytest.mark.parametrize(
    "path", [vm("solo"), scale_set("pool"), availability_set("web"), f"{ROOT}/resourceGroups/x"]
)
def test_a_body_that_cannot_be_read_is_refused(arm: Arm, path: str, raw: bytes, said: str):
    answer = arm.refused("PUT", path, raw)

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert said in answer.message
    assert "openapi" not in answer.message  # which has no route of ARM's


def test_a_body_of_an_action_that_cannot_be_read_is_refused_and_nothing_is_done(arm: Arm):
    answer = arm.refused("POST", RESTART, b"{")

    assert answer.status == 400
    assert arm.service.get("/v1/history")["history"] == []


_PROFILE = "properties.scheduledEventsProfile.terminateNotificationProfile"


@pytest.mark.parametrize(
    ("path", "body", "member"),
    [
        (vm("solo"), {"location": 5}, "location"),
        (vm("solo"), {"tags": {"a": 1}}, "tags"),
        (vm("solo"), {"zones": "1"}, "zones"),
        (vm("solo"), {"zones": ["1", "2"]}, "zones"),
        (vm("solo"), {"zones": ["\u0000"]}, "zones"),
        (vm("solo"), {"properties": []}, "properties"),
        (vm("solo"), {"tags": {"team": "red", "floor": 3}}, "tags.floor"),
        (vm("solo"), {"properties": {"priority": "Urgent"}}, "properties.priority"),
        (vm("solo"), {"properties": {"evictionPolicy": "Sell"}}, "properties.evictionPolicy"),
        (vm("solo"), {"properties": {"osProfile": {"computerName": 7}}}, "properties.osProfile.computerName"),
        (
            vm("solo"),
            {"properties": {"osProfile": {"computerName": "a\u0000b"}}},
            "properties.osProfile.computerName",
        ),
        (vm("solo"), {"properties": {"availabilitySet": {}}}, "properties.availabilitySet"),
        (vm("solo"), {"properties": {"availabilitySet": {"id": "web"}}}, "properties.availabilitySet.id"),
        (
            vm("solo"),
            {"properties": {"virtualMachineScaleSet": {"id": availability_set("web")}}},
            "properties.virtualMachineScaleSet.id",
        ),
        (
            vm("solo"),
            {"properties": {"scheduledEventsProfile": {"terminateNotificationProfile": {"enable": "yes"}}}},
            f"{_PROFILE}.enable",
        ),
        (
            vm("solo"),
            {"properties": {"scheduledEventsPolicy": {"userInitiatedReboot": {"automaticallyApprove": 1}}}},
            "properties.scheduledEventsPolicy.userInitiatedReboot.automaticallyApprove",
        ),
        (scale_set("pool"), {"sku": {"capacity": "3"}}, "sku.capacity"),
        (scale_set("pool"), {"sku": {"capacity": -1}}, "sku.capacity"),
        (scale_set("pool"), {"sku": {"capacity": 1_000_000}}, "sku.capacity"),
        (
            scale_set("pool"),
            {"properties": {"virtualMachineProfile": {"priority": 1}}},
            "properties.virtualMachineProfile.priority",
        ),
        (availability_set("web"), {"properties": {"platformUpdateDomainCount": 21}}, "platformUpdateDomainCount"),
        (availability_set("web"), {"properties": {"platformFaultDomainCount": 4}}, "platformFaultDomainCount"),
        (availability_set("web"), {"properties": {"platformFaultDomainCount": 0}}, "platformFaultDomainCount"),
        (f"{ROOT}/resourceGroups/x", {"tags": []}, "tags"),
    ],
)
def test_a_member_of_the_wrong_type_is_refused_with_its_path(arm: Arm, path: str, body: Any, member: str):
    answer = arm.refused("PUT", path, body)

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert member in answer.message


@pytest.mark.parametrize(
    ("path", "body", "member"),
    [
        (scale_set("pool") + "/restart", {"instanceIds": "0"}, "instanceIds"),
        (scale_set("pool") + "/delete", {"instanceIds": [0]}, "instanceIds"),
        (scale_set("pool") + "/delete", {}, "instanceIds"),
        (scale_set("pool") + "/delete", {"instanceIds": []}, "instanceIds"),
        (vm("solo") + "/providers/Microsoft.Maintenance/scheduledevents/acknowledge", {"value": "x"}, "value"),
    ],
)
def test_a_wrong_member_of_an_actions_body_is_refused_with_its_path(arm: Arm, path: str, body: Any, member: str):
    answer = arm.refused("POST", path, body)

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert member in answer.message


@pytest.mark.parametrize("name", ["-x", ".x", "a b", "a" * 81, "ä"])
@pytest.mark.parametrize("make", [vm, scale_set, availability_set], ids=["VM", "scale set", "availability set"])
def test_a_name_that_nothing_may_have_is_refused(arm: Arm, make: Any, name: str):
    answer = arm.refused("PUT", make(name).replace(" ", "%20").replace("ä", "%C3%A4"), {"location": "local"})

    assert answer.status == 400
    assert "cannot be the name" in answer.message


@pytest.mark.parametrize("kind", ["virtualMachines", "virtualMachineScaleSets", "availabilitySets"])
def test_nothing_is_made_in_a_resource_group_that_nobody_declared(arm: Arm, kind: str):
    path = compute(f"{kind}/new", "typo")

    reply = arm.ask("PUT", path, {"location": "local"})

    assert (reply.status, reply.json["error"]["code"]) == (404, "ResourceGroupNotFound")
    assert "typo" not in str(arm.service.get("/v1/fleet"))

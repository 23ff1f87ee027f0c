"""Lists: what is in them, and how they go on over several pages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from forewarn.core.refusal import Refusal
from forewarn.operator.arm.resources import _read_filter
from tests.arm.caller import ROOT, Arm, availability_set, compute, group, instance, scale_set, vm
from tests.fleets import SMALL
from tests.running import running

EVERYTHING = f"{ROOT}/providers/Microsoft.Compute"
OTHER = {"resource_group": "other"}
FLEET = {
    "availability_sets": [*SMALL["availability_sets"], {"name": "db", **OTHER}],
    "scale_sets": [*SMALL["scale_sets"], {"name": "batch", "capacity": 12, **OTHER}],
    "vms": [
        *SMALL["vms"],
        {"name": "alone", **OTHER},
        {"name": "db-0", "availability_set": "db", **OTHER},
        {"name": "flex", "scale_set": "batch", **OTHER},
    ],
}


@pytest.fixture(scope="module")
def arm() -> Iterator[Arm]:
    """A service with two resource groups, of which no test changes anything."""
    with running(SMALL | FLEET) as service:
        yield Arm(service)


def follow(arm: Arm, path: str, **query: str) -> list[list[str]]:
    """The names on all pages of a list, as a client reads them that follows `nextLink` as it is."""
    answer = arm.get(path, **query)
    pages = [[each["name"] for each in answer["value"]]]
    while "nextLink" in answer:
        link = urlsplit(answer["nextLink"])
        assert f"{link.scheme}://{link.netloc}" == f"http://127.0.0.1:{arm.service.service.operator[1]}"
        reply = arm.service.operator("GET", f"{link.path}?{link.query}")
        assert reply.status == 200, reply
        answer = reply.json
        pages.append([each["name"] for each in answer["value"]])
    return pages


def test_a_groups_list_has_its_vms_and_not_the_instances_of_scale_sets(arm: Arm):
    names = arm.names(compute("virtualMachines"))

    assert names == sorted(each["name"] for each in SMALL["vms"])


def test_the_subscriptions_list_has_the_vms_of_all_groups(arm: Arm):
    names = arm.names(f"{EVERYTHING}/virtualMachines")

    assert names == sorted(each["name"] for each in FLEET["vms"])


def test_a_locations_list_has_the_vms_that_are_there(arm: Arm):
    here = arm.names(f"{EVERYTHING}/locations/LOCAL/virtualMachines")
    elsewhere = arm.names(f"{EVERYTHING}/locations/westus/virtualMachines")

    assert here == sorted(each["name"] for each in FLEET["vms"])
    assert elsewhere == []


@pytest.mark.parametrize(
    ("kind", "in_group", "in_all"),
    [
        ("availabilitySets", ["db"], ["db", "web"]),
        ("virtualMachineScaleSets", ["batch"], ["batch", "pool", "spot"]),
    ],
)
def test_sets_are_listed_by_group_and_all_together(arm: Arm, kind: str, in_group: list[str], in_all: list[str]):
    assert arm.names(compute(kind, "OTHER")) == in_group
    assert arm.names(f"{EVERYTHING}/{kind}") == in_all


def test_instances_are_listed_under_their_scale_set_in_the_order_of_their_numbers(arm: Arm):
    value = arm.get(scale_set("batch", "other") + "/virtualMachines")["value"]

    assert [each["instanceId"] for each in value] == [str(number) for number in range(12)]
    assert [each["name"] for each in value] == [f"batch_{number}" for number in range(12)]


def test_a_vm_that_a_scale_set_did_not_number_is_listed_with_the_vms_and_names_its_set(arm: Arm):
    found = arm.get(vm("flex", "other"))

    assert found["properties"]["virtualMachineScaleSet"] == {"id": scale_set("batch", "other")}


def test_a_filter_by_scale_set_leaves_its_vms(arm: Arm):
    wanted = f"'virtualMachineScaleSet/id' eq '{scale_set('batch', 'other')}'"

    assert arm.names(compute("virtualMachines", "other"), **{"$filter": wanted}) == ["flex"]


@pytest.mark.parametrize("asked", ["name eq 'x'", f"'virtualMachineScaleSet/id' eq '{scale_set('nope')}'"])
def test_any_other_filter_is_refused_and_not_ignored(arm: Arm, asked: str):
    answer = arm.refused("GET", compute("virtualMachines"), **{"$filter": asked})

    assert answer.status == 400
    assert "$filter" in answer.message


def test_groups_are_listed_that_something_is_in(arm: Arm):
    value = arm.get(f"{ROOT}/resourceGroups")["value"]

    assert [each["name"] for each in value] == ["default", "other"]
    assert [each["id"] for each in value] == [group("default"), group("other")]


@pytest.mark.parametrize("parameter", [{"statusOnly": "true"}, {"$expand": "instanceView"}])
def test_a_list_tells_how_its_vms_are_doing_if_it_is_asked_to(arm: Arm, parameter: dict[str, str]):
    plain = arm.get(compute("virtualMachines"))["value"]
    told = arm.get(compute("virtualMachines"), **parameter)["value"]

    assert all("instanceView" not in each["properties"] for each in plain)
    codes = [each["properties"]["instanceView"]["statuses"][1]["code"] for each in told]
    assert codes == ["PowerState/running"] * len(plain)


@pytest.mark.parametrize(
    ("path", "top", "count"),
    [
        (compute("virtualMachines"), "4", 9),
        (f"{EVERYTHING}/virtualMachines", "5", 12),
        (f"{EVERYTHING}/locations/local/virtualMachines", "5", 12),
        (compute("virtualMachineScaleSets"), "1", 2),
        (f"{EVERYTHING}/virtualMachineScaleSets", "2", 3),
        (scale_set("batch", "other") + "/virtualMachines", "5", 12),
        (f"{EVERYTHING}/availabilitySets", "1", 2),
        (f"{ROOT}/resourceGroups", "1", 2),
    ],
)
def test_pages_join_to_the_whole_list(arm: Arm, path: str, top: str, count: int):
    (whole,) = follow(arm, path)

    pages = follow(arm, path, **{"$top": top})

    assert [name for page in pages for name in page] == whole
    assert len(whole) == count
    assert [len(page) for page in pages[:-1]] == [int(top)] * (count // int(top) - (count % int(top) == 0))


def test_a_next_link_asks_for_the_same_as_the_page_before_it(arm: Arm):
    query = {"$top": "4", "statusOnly": "true"}

    link = urlsplit(arm.get(compute("virtualMachines"), **query)["nextLink"])
    answer = arm.service.operator("GET", f"{link.path}?{link.query}").json

    assert len(answer["value"]) == 4
    assert all("instanceView" in each["properties"] for each in answer["value"])


def test_a_list_that_fits_exactly_has_no_next_link(arm: Arm):
    assert follow(arm, compute("virtualMachines"), **{"$top": "9"}) == [arm.names(compute("virtualMachines"))]


@pytest.mark.parametrize("top", ["0", "-1", "many", "1.5", "", "9" * 5000], ids=lambda top: top[:8] or "empty")
def test_a_size_of_page_that_is_no_size_is_refused(arm: Arm, top: str):
    answer = arm.refused("GET", compute("virtualMachines"), **{"$top": top})

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert answer.message.startswith("$top is")


def test_a_list_without_a_size_has_pages_of_a_hundred(arm: Arm):
    fleet: dict[str, Any] = {"vms": [{"name": f"vm-{number:03d}"} for number in range(250)]}

    with running(fleet) as service:
        pages = follow(Arm(service), compute("virtualMachines"))

    assert [len(page) for page in pages] == [100, 100, 50]
    assert [name for page in pages for name in page] == [each["name"] for each in fleet["vms"]]


def test_members_of_an_availability_set_are_named_by_their_ids(arm: Arm):
    members = arm.get(availability_set("web"))["properties"]["virtualMachines"]

    assert members == [{"id": vm(f"web-{number}")} for number in range(3)]


def test_the_subscription_is_told_as_azures_clients_expect_it(arm: Arm):
    listed, one = arm.get("/subscriptions"), arm.get(ROOT)

    assert listed["value"] == [one]
    assert (one["id"], one["state"]) == (ROOT, "Enabled")
    assert set(one) >= {"subscriptionId", "tenantId", "displayName"}


def test_an_instance_tells_its_number_and_its_model(arm: Arm):
    found = arm.get(instance("pool", 2))

    assert (found["instanceId"], found["name"]) == ("2", "pool_2")
    assert found["type"] == "Microsoft.Compute/virtualMachineScaleSets/virtualMachines"
    assert found["properties"]["latestModelApplied"] is True


# Resources of every type.

RESOURCES = f"{ROOT}/resources"
IN_OTHER = ["alone", "batch", "db", "db-0", "flex"]


def test_resources_are_the_vms_and_sets_of_all_groups(arm: Arm):
    names = [name for page in follow(arm, RESOURCES) for name in page]

    sets = [*FLEET["availability_sets"], *FLEET["scale_sets"]]
    assert sorted(names) == sorted(each["name"] for each in [*sets, *FLEET["vms"]])


def test_resources_of_a_group_are_listed_under_it(arm: Arm):
    assert sorted(arm.names(group("OTHER") + "/resources")) == IN_OTHER


def test_resources_come_in_pages(arm: Arm):
    pages = follow(arm, group("other") + "/resources", **{"$top": "2"})

    assert [len(page) for page in pages] == [2, 2, 1]
    assert sorted(name for page in pages for name in page) == IN_OTHER


def test_a_resource_is_told_with_what_every_type_has(arm: Arm):
    asked = {"$filter": "name eq 'solo'", "$expand": "createdTime,changedTime,provisioningState"}

    (found,) = arm.get(RESOURCES, **asked)["value"]

    assert found == {
        "id": vm("solo"),
        "name": "solo",
        "type": "Microsoft.Compute/virtualMachines",
        "location": "local",
        "tags": {"team": "blue", "env": "test"},
        "zones": ["1"],
        "provisioningState": "Succeeded",
    }


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("resourceGroup eq 'Other'", IN_OTHER),
        (
            "resourceGroup eq 'other' and resourceType eq 'microsoft.compute/VIRTUALMACHINES'",
            ["alone", "db-0", "flex"],
        ),
        ("resourceType eq 'Microsoft.Compute/availabilitySets'", ["db", "web"]),
        ("resourceType eq 'Microsoft.Compute/disks'", []),
        ("name eq 'SOLO'", ["solo"]),
        ("name eq 'solo' and location eq 'local'", ["solo"]),
        ("name eq 'solo' and location eq 'westus'", []),
        ("tagname eq 'team'", ["solo"]),
        ("tagName eq 'Team' and tagValue eq 'blue'", ["solo"]),
        ("tagName eq 'team' and tagValue eq 'test'", []),
        ("tagvalue eq 'test'", ["solo"]),
        ("startswith(tagname, 'te')", ["solo"]),
        ("resourceGroup eq 'this and that'", []),
    ],
)
def test_resources_are_filtered(arm: Arm, asked: str, names: list[str]):
    assert sorted(arm.names(RESOURCES, **{"$filter": asked})) == names


@pytest.mark.parametrize(
    "asked", ["plan eq 'x'", "name ne 'x'", "name eq x", "name eq 'x' or name eq 'y'", "and", "name eq 'x' and"]
)
def test_a_filter_of_resources_that_is_not_known_is_refused(arm: Arm, asked: str):
    answer = arm.refused("GET", RESOURCES, **{"$filter": asked})

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert answer.message.startswith("$filter: ")


@pytest.mark.parametrize(
    "clause", ["''", "name eq 'x'", "name eq ''x", "name  "], ids=["no clause", "good", "bad end", "spaces"]
)
def test_time_to_parse_a_filter_grows_with_its_length_only(clause: str):
    asked = " and ".join([clause] * (60_000 // len(f"{clause} and ")))
    before = time.thread_time()

    outcome = _read_filter(asked)

    assert time.thread_time() - before < 0.5  # of CPU; looking ahead from every `and` takes seconds
    assert isinstance(outcome, Refusal) is (clause != "name eq 'x'")


def test_resources_of_an_unknown_group_are_not_found(arm: Arm):
    assert arm.refused("GET", group("nope") + "/resources").code == "ResourceGroupNotFound"

"""Events that their owner approves beforehand, and approval through Microsoft.Maintenance."""

from __future__ import annotations

import pytest

from tests.arm.caller import Arm, approves, availability_set, instance, scale_set, terminate_notice, vm

REBOOT = approves(userInitiatedReboot=True)
REDEPLOY = approves(userInitiatedRedeploy=True)


@pytest.mark.parametrize(
    ("policy", "act", "status"),
    [
        (REBOOT, "restart", "Started"),
        (REBOOT, "redeploy", "Scheduled"),
        (REDEPLOY, "redeploy", "Started"),
        (REDEPLOY, "restart", "Scheduled"),
        (approves(userInitiatedReboot=False), "restart", "Scheduled"),
    ],
    ids=["reboot", "only reboot", "redeploy", "only redeploy", "neither"],
)
@pytest.mark.parametrize(
    ("holder", "target", "guest"),
    [
        (vm("solo"), vm("solo"), "solo"),
        (availability_set("web"), vm("web-1"), "web-0"),
        (scale_set("pool"), instance("pool", 1), "pool_0"),
    ],
    ids=["VM", "availability set", "scale set"],
)
def test_what_is_approved_beforehand_is_born_started(
    arm: Arm, holder: str, target: str, guest: str, policy: dict[str, object], act: str, status: str
):
    put_policy(arm, holder, policy)
    reader = arm.service.guest(guest)
    reader.document()

    arm.begin("POST", f"{target}/{act}")

    (event,) = reader.events()
    assert event["EventStatus"] == status
    assert (event["NotBefore"] == "") == (status == "Started")


def put_policy(arm: Arm, path: str, policy: dict[str, object]) -> None:
    """Write what is there, with a policy."""
    there = arm.get(path)
    there["properties"] |= policy
    arm.put(path, there)


def test_guests_still_get_the_lead_before_what_was_approved_beforehand(arm: Arm):
    put_policy(arm, vm("solo"), REBOOT)
    guest = arm.service.guest("solo")
    guest.document()

    work = arm.begin("POST", vm("solo") + "/restart")

    arm.service.advance(seconds=4)
    assert arm.service.service.machines.ledger() == []
    arm.service.advance(seconds=1)
    assert [effect.vm for effect in arm.service.service.machines.ledger()] == ["solo"]
    arm.service.advance(minutes=1)
    assert (work.status, guest.events()) == ("Succeeded", [])


def test_platform_work_is_not_approved_by_a_policy_for_the_owners_requests(arm: Arm):
    put_policy(arm, vm("solo"), approves(userInitiatedReboot=True, userInitiatedRedeploy=True))
    arm.service.guest("solo").document()

    arm.service.post("/v1/hosts/host-0/maintain", {"kind": "Reboot"})

    (event,) = arm.service.guest("solo").events()
    assert event["EventStatus"] == "Scheduled"


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_member_of_a_set_cannot_have_a_policy_of_its_own(arm: Arm, method: str):
    answer = arm.refused(method, vm("web-0"), {"properties": REBOOT})

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert "properties.scheduledEventsPolicy: web-0 is in web and goes by that set's policy" in answer.message


def test_a_new_member_of_a_set_cannot_have_a_policy_of_its_own(arm: Arm):
    properties = {"availabilitySet": {"id": availability_set("web")}} | REBOOT

    answer = arm.refused("PUT", vm("web-3"), {"properties": properties})

    assert answer.status == 400
    assert "properties.scheduledEventsPolicy" in answer.message


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_member_of_a_set_cannot_take_back_what_the_set_approves(arm: Arm, method: str):
    put_policy(arm, availability_set("web"), REBOOT)

    answer = arm.refused(method, vm("web-0"), {"properties": approves(userInitiatedReboot=False)})

    assert answer.status == 400
    assert "properties.scheduledEventsPolicy" in answer.message


@pytest.mark.parametrize(
    ("member", "owner"), [("web-0", availability_set("web")), ("web-3", availability_set("web"))]
)
def test_a_member_of_a_set_is_told_the_policy_that_holds(arm: Arm, member: str, owner: str):
    arm.put(vm("web-3"), {"properties": {"availabilitySet": {"id": owner}}}, expect=201)
    arm.patch(vm(member), {"properties": {"scheduledEventsPolicy": arm_policy(arm, vm(member))}})

    put_policy(arm, owner, REBOOT)

    assert arm_policy(arm, vm(member)) == arm_policy(arm, owner)
    assert arm_policy(arm, vm(member))["userInitiatedReboot"] == {"automaticallyApprove": True}


def test_a_new_member_may_name_the_policy_of_its_set(arm: Arm):
    put_policy(arm, availability_set("web"), REBOOT)
    properties = {"availabilitySet": {"id": availability_set("web")}}

    arm.make_vm("web-3", properties | REBOOT)
    arm.make_vm("web-4", properties)

    assert arm_policy(arm, vm("web-3")) == arm_policy(arm, vm("web-4")) == arm_policy(arm, availability_set("web"))


def test_a_vm_of_a_cloud_service_has_a_policy_of_its_own(arm: Arm):
    put_policy(arm, vm("FrontEnd_IN_0"), REBOOT)
    guest = arm.service.guest("FrontEnd_IN_1")
    guest.document()

    arm.begin("POST", vm("FrontEnd_IN_0") + "/restart")
    arm.begin("POST", vm("FrontEnd_IN_1") + "/restart")

    assert arm_policy(arm, vm("FrontEnd_IN_0"))["userInitiatedReboot"] == {"automaticallyApprove": True}
    assert [event["EventStatus"] for event in guest.events()] == ["Started", "Scheduled"]


def arm_policy(arm: Arm, path: str) -> dict[str, object]:
    """The policy that is told of a resource."""
    return arm.get(path)["properties"]["scheduledEventsPolicy"]


def test_a_policy_is_told_as_it_was_given_and_what_has_no_effect_is_kept(arm: Arm):
    targets = {"eventGridAndResourceGraph": {"enable": True, "scheduledEventsApiVersion": "2020-07-01"}}
    policy = {
        "scheduledEventsAdditionalPublishingTargets": targets,
        "userInitiatedReboot": {"automaticallyApprove": True},
    }

    arm.patch(vm("solo"), {"properties": {"scheduledEventsPolicy": policy}})

    assert arm.get(vm("solo"))["properties"]["scheduledEventsPolicy"] == policy | {
        "userInitiatedRedeploy": {"automaticallyApprove": False},
        "allInstancesDown": {"automaticallyApprove": True},
    }


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        ({}, "Started"),
        (approves(allInstancesDown=True), "Started"),
        (approves(allInstancesDown=False), "Scheduled"),
    ],
    ids=["by default", "yes", "no"],
)
def test_nobody_is_asked_where_all_instances_are_down_unless_the_policy_says_so(
    arm: Arm, policy: dict[str, object], status: str
):
    put_policy(arm, vm("brief"), policy)
    arm.service.guest("brief").document()
    arm.begin("POST", vm("brief") + "/powerOff")
    arm.service.advance(minutes=1)

    arm.begin("DELETE", vm("brief"))

    (event,) = arm.service.guest("brief").events()
    assert (event["EventType"], event["EventStatus"]) == ("Terminate", status)


def announced(arm: Arm, guest: str) -> list[str]:
    """How the events in a document stand."""
    return [event["EventStatus"] for event in arm.service.guest(guest).events()]


def put_out(arm: Arm, *paths: str) -> None:
    """Stop machines."""
    for path in paths:
        arm.begin("POST", f"{path}/powerOff")
    arm.service.advance(minutes=1)


_HOLDERS = pytest.mark.parametrize(
    ("holder", "members", "guest"),
    [
        (scale_set("pool"), [instance("pool", number) for number in range(3)], "pool_0"),
        (availability_set("web"), [vm(f"web-{number}") for number in range(3)], "web-0"),
    ],
    ids=["scale set", "availability set"],
)


@pytest.fixture
def web_with_notice(arm: Arm) -> Arm:
    """The same service, where deletions of VMs of the availability set are announced, too."""
    for number in range(3):
        arm.patch(vm(f"web-{number}"), {"properties": terminate_notice("PT10M")})
    return arm


@_HOLDERS
def test_an_event_is_approved_once_the_last_vm_of_its_scope_is_down(
    web_with_notice: Arm, holder: str, members: list[str], guest: str
):
    arm = web_with_notice
    put_policy(arm, holder, approves(allInstancesDown=True))
    arm.service.guest(guest).document()
    put_out(arm, *members[1:])
    arm.begin("DELETE", members[2])
    while_one_is_up = announced(arm, guest)

    put_out(arm, members[0])

    assert while_one_is_up == ["Scheduled"]
    assert [row["approved_by"] for row in arm.service.get("/v1/history")["history"] if row["kind"]] == [
        "AllInstancesDown"
    ]


@_HOLDERS
def test_with_all_vms_down_an_event_waits_for_its_notice_where_the_policy_says_no(
    web_with_notice: Arm, holder: str, members: list[str], guest: str
):
    arm = web_with_notice
    put_policy(arm, holder, approves(allInstancesDown=False))
    arm.service.guest(guest).document()
    put_out(arm, *members)

    arm.begin("DELETE", members[2])
    arm.service.advance(minutes=9)

    assert announced(arm, guest) == ["Scheduled"]


@_HOLDERS
def test_a_policy_that_is_changed_takes_effect_on_an_event_that_waits(
    web_with_notice: Arm, holder: str, members: list[str], guest: str
):
    arm = web_with_notice
    put_policy(arm, holder, approves(allInstancesDown=False))
    arm.service.guest(guest).document()
    put_out(arm, *members)
    arm.begin("DELETE", members[2])

    arm.patch(holder, {"properties": approves(allInstancesDown=True)})

    assert announced(arm, guest) == ["Started"]


@pytest.mark.parametrize("refusing", ["FrontEnd_IN_0", "FrontEnd_IN_1"])
def test_vms_that_share_a_document_all_have_to_approve_while_they_are_down(arm: Arm, refusing: str):
    arm.patch(vm(refusing), {"properties": approves(allInstancesDown=False)})
    for name in ("FrontEnd_IN_0", "FrontEnd_IN_1"):
        arm.patch(vm(name), {"properties": terminate_notice("PT10M")})
    arm.service.guest("FrontEnd_IN_0").document()
    put_out(arm, vm("FrontEnd_IN_0"), vm("FrontEnd_IN_1"))

    arm.begin("DELETE", vm("FrontEnd_IN_0"))

    assert announced(arm, "FrontEnd_IN_0") == ["Scheduled"]


# Microsoft.Maintenance.


def acknowledge(path: str, event: str) -> str:
    return f"{path}/providers/Microsoft.Maintenance/scheduledevents/{event}/acknowledge"


@pytest.mark.parametrize(
    ("resource", "target", "guest"),
    [
        (vm("solo"), vm("solo"), "solo"),
        (vm("web-2"), vm("web-1"), "web-0"),
        (availability_set("web"), vm("web-1"), "web-0"),
        (scale_set("pool"), instance("pool", 1), "pool_0"),
    ],
    ids=["VM", "another VM of the set", "availability set", "scale set"],
)
def test_an_acknowledged_event_starts(arm: Arm, resource: str, target: str, guest: str):
    reader = arm.service.guest(guest)
    reader.document()
    arm.begin("POST", f"{target}/restart")
    event = reader.events()[0]["EventId"]

    reply = arm.ask("POST", acknowledge(resource, event.lower()))

    assert (reply.status, reply.json) == (200, {"value": "Successfully Approved"})
    assert [each["EventStatus"] for each in reader.events()] == ["Started"]


@pytest.mark.parametrize("tail", ["", "/acknowledge", "/list/acknowledge"])
def test_several_events_are_acknowledged_together(arm: Arm, tail: str):
    reader = arm.service.guest("pool_0")
    reader.document()
    arm.begin("POST", scale_set("pool") + "/restart", {"instanceIds": ["0", "1"]})
    events = [each["EventId"] for each in reader.events()]
    path = f"{scale_set('pool')}/providers/microsoft.maintenance/scheduledEvents{tail}"

    reply = arm.ask("POST", path, {"value": [*events, events[0].lower()]})

    assert (reply.status, reply.json) == (200, {"value": "Successfully Approved"})
    assert [each["EventStatus"] for each in reader.events()] == ["Started", "Started"]


def test_each_event_of_a_list_that_is_not_open_at_the_resource_is_named(arm: Arm):
    reader = arm.service.guest("solo")
    reader.document()
    arm.begin("POST", vm("solo") + "/restart")
    event = reader.events()[0]["EventId"]
    path = f"{vm('twin')}/providers/Microsoft.Maintenance/scheduledevents"

    reply = arm.ask("POST", path, {"value": [event, "no-id", event.lower()]})

    failed = reply.json["error"]
    assert (reply.status, failed["code"]) == (400, "AcknowledgeFailed")
    assert [(each["target"], each["code"]) for each in failed["details"]] == [
        (event, "ResourceNotFound"),
        ("no-id", "ResourceNotFound"),
    ]
    assert reader.events()[0]["EventStatus"] == "Scheduled"


def test_a_list_of_events_of_an_unknown_resource_is_not_found(arm: Arm):
    path = f"{vm('nope')}/providers/Microsoft.Maintenance/scheduledevents"

    answer = arm.refused("POST", path, {"value": ["00000000-0000-4000-8000-000000000000"]})

    assert (answer.status, answer.code) == (404, "ResourceNotFound")


def test_no_event_is_acknowledged_if_one_is_not_open(arm: Arm):
    reader = arm.service.guest("solo")
    reader.document()
    arm.begin("POST", vm("solo") + "/restart")
    event = reader.events()[0]["EventId"]
    unknown = "00000000-0000-4000-8000-000000000000"
    path = f"{vm('solo')}/providers/Microsoft.Maintenance/scheduledevents/acknowledge"

    answer = arm.refused("POST", path, {"value": [event, unknown]})

    assert (answer.status, answer.code) == (404, "ResourceNotFound")
    assert unknown in answer.message
    assert reader.events()[0]["EventStatus"] == "Scheduled"


@pytest.mark.parametrize(
    "resource",
    [
        vm("twin"),
        vm("solo", "elsewhere"),
        vm("nope"),
        scale_set("pool"),
        availability_set("web"),
        scale_set("web"),
    ],
)
def test_an_event_is_not_found_at_a_resource_that_it_does_not_concern(arm: Arm, resource: str):
    reader = arm.service.guest("solo")
    reader.document()
    arm.begin("POST", vm("solo") + "/restart")
    event = reader.events()[0]["EventId"]

    answer = arm.refused("POST", acknowledge(resource, event))

    assert (answer.status, answer.code) == (404, "ResourceNotFound")
    assert reader.events()[0]["EventStatus"] == "Scheduled"


@pytest.mark.parametrize("tail", ["", "/acknowledge"])
def test_an_empty_list_of_events_is_refused(arm: Arm, tail: str):
    path = f"{vm('solo')}/providers/Microsoft.Maintenance/scheduledevents{tail}"

    answer = arm.refused("POST", path, {"value": []})

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert answer.message == "value is empty. Name the events to approve."

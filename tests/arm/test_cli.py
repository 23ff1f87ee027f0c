"""The Azure CLI itself drives the service; `make test-all` installs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.arm.az import Shell
from tests.arm.caller import ROOT as SUBSCRIPTION
from tests.arm.page import at_port, blocks
from tests.arm.quick import quick
from tests.running import RunningService, wait_until
from tests.sign_in.certificates import make_certificate, trusting
from tests.sign_in.people import bearer

pytestmark = pytest.mark.system

_IN_RG = {"resource_group": "rg"}
_ACTED_ON = ("restarted", "forced", "redeployed", "stopped", "switched", "deleted")
FLEET: dict[str, Any] = {
    "hosts": [{"name": f"host-{number}"} for number in range(5)],
    "availability_sets": [{"name": "as1", **_IN_RG}],
    "scale_sets": [
        {"name": "ss1", "capacity": 3, "hosts": ["host-0", "host-1", "host-2"], **_IN_RG},
        {"name": "ss-spot", "capacity": 2, "priority": "Spot", **_IN_RG},
        {"name": "shrinking", "capacity": 3, "addresses": [f"127.4.0.{n}" for n in (1, 2, 3)], **_IN_RG},
    ],
    "vms": [
        *({"name": name, "host": "host-3", **_IN_RG} for name in _ACTED_ON),
        {"name": "maintained", "host": "host-4", **_IN_RG},
        {"name": "spot", "priority": "Spot", "addresses": ["127.4.1.1"], **_IN_RG},
        {"name": "waiting", "addresses": ["127.4.1.2"], **_IN_RG},
        {"name": "idle", "addresses": ["127.4.1.4"], "terminate_notification": "PT5M", **_IN_RG},
        {"name": "hurried", "addresses": ["127.4.1.3"], **_IN_RG},
    ],
}


@dataclass(frozen=True)
class Cloud:
    """A service, and an `az` that takes it for Azure."""

    service: RunningService
    shell: Shell

    def effects(self, vm: str) -> list[str]:
        """What was done to a machine."""
        return [effect.action for effect in self.service.service.machines.ledger() if effect.vm == vm]


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Signed in with the commands of the page."""
    directory = tmp_path_factory.mktemp("az")
    ca = make_certificate(directory / "tls")
    with quick(
        FLEET, tls_cert=directory / "tls" / "server.pem", tls_key=directory / "tls" / "server.key"
    ) as service:
        service.trust = trusting(ca)
        service.headers = bearer(service.post("/v1/tokens", {"name": "root", "role": "admin"})["token"])
        service.post("/v1/hosts/host-4/maintain", {"kind": "Freeze", "notice_seconds": 86_400})
        made = service.post("/v1/principals", {"name": "azure", "role": "operator"})
        secrets = {f"AZURE_{name}".upper(): made[name] for name in ("client_id", "client_secret")}
        shell = Shell(directory, **secrets, AZURE_TENANT_ID=made["tenant"])
        four_commands = blocks("sh", "The Azure CLI")[0]
        assert len(four_commands.splitlines()) == 4
        shell.run(at_port(four_commands, service.service.operator[1]))
        yield Cloud(service, shell)


@pytest.mark.parametrize(
    ("command", "vm", "effects"),
    [
        ("vm restart -g rg -n restarted", "restarted", ["reboot"]),
        ("vm restart -g rg -n forced --force", "forced", ["redeploy"]),
        ("vm redeploy -g rg -n redeployed", "redeployed", ["redeploy"]),
        ("vm stop -g rg -n stopped", "stopped", ["stop"]),
        ("vm deallocate -g rg -n switched && az vm start -g rg -n switched", "switched", ["deallocate", "start"]),
        ("vm perform-maintenance -g rg -n maintained", "maintained", ["redeploy"]),
        ("vm delete -g rg -n deleted -y", "deleted", ["delete"]),
        ("vmss restart -g rg -n ss1 --instance-ids 0 1", "ss1_1", ["reboot"]),
        ("vmss reimage -g rg -n ss1 --instance-ids 2", "ss1_2", ["reimage"]),
    ],
)
def test_a_command_does_what_it_says_and_ends_well(cloud: Cloud, command: str, vm: str, effects: list[str]):
    cloud.shell.run(f"az {command}")

    wait_until(lambda: cloud.effects(vm) == effects, f"{effects} of {vm}")
    rows = [row for row in cloud.service.get("/v1/history")["history"] if row["resources"] == [vm]]
    assert {row["asked_by"] for row in rows} <= {"azure", "root"}


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("vm list -g rg --query \"[?name=='waiting'].name\"", ["waiting"]),
        ("vm list --query \"[?name=='waiting'].resourceGroup\"", ["rg"]),
        ("vm list -d -g rg --query \"[?name=='waiting'].powerState\"", ["VM running"]),
        ("vm show -g rg -n waiting --query name", "waiting"),
        ("vm get-instance-view -g rg -n waiting --query instanceView.statuses[1].code", "PowerState/running"),
        ("vmss list -g rg --query [].name", ["shrinking", "ss-spot", "ss1"]),
        ("vmss list-instances -g rg -n ss1 --query [].name", ["ss1_0", "ss1_1", "ss1_2"]),
        ("vmss show -g rg -n ss1 --query sku.capacity", 3),
        (
            "vmss get-instance-view -g rg -n ss1 --query virtualMachine.statusesSummary",
            [{"code": "PowerState/running", "count": 3}, {"code": "ProvisioningState/succeeded", "count": 3}],
        ),
        (
            "vmss get-instance-view -g rg -n ss1 --instance-id '*' --query [].statuses[1].code",
            ["PowerState/running"] * 3,
        ),
        ("resource list --query \"[?name=='waiting'].type\"", ["Microsoft.Compute/virtualMachines"]),
        (
            "resource list -g rg --resource-type Microsoft.Compute/virtualMachineScaleSets --query [].name",
            ["shrinking", "ss-spot", "ss1"],
        ),
        ("resource list -n as1 --query [].provisioningState", ["Succeeded"]),
        ("resource list --tag nobody=has --query [].name", []),
        ("group show -n rg --query name", "rg"),
        (f"rest --method get --url '{SUBSCRIPTION}/resourceGroups/rg?api-version=2024-07-01' --query name", "rg"),
    ],
)
def test_a_question_is_answered(cloud: Cloud, command: str, answer: Any):
    assert cloud.shell.json(command) == answer


@pytest.mark.parametrize("kind", ["vm", "vmss", "vm availability-set"])
@pytest.mark.parametrize("is_approved", [False, True])
def test_flags_of_the_events_policy_round_trip(cloud: Cloud, kind: str, is_approved: bool):  # noqa: FBT001 - a row
    name = {"vm": "waiting", "vmss": "ss1", "vm availability-set": "as1"}[kind]
    flags = f"--scheduled-events-api-version 2020-07-01 --enable-all-instance-down {str(is_approved).lower()}"

    told = cloud.shell.json(f"{kind} update -g rg -n {name} {flags} --query scheduledEventsPolicy")

    target = told["scheduledEventsAdditionalPublishingTargets"]["eventGridAndResourceGraph"]
    assert target["scheduledEventsApiVersion"] == "2020-07-01"
    assert told["allInstancesDown"] == {"automaticallyApprove": is_approved}
    assert cloud.shell.json(f"{kind} show -g rg -n {name} --query scheduledEventsPolicy") == told


def test_an_event_of_machines_that_are_all_down_waits_where_the_flag_says_so(cloud: Cloud):
    guest = cloud.service.guest("idle")
    guest.document()
    cloud.shell.run("az vm stop -g rg -n idle")

    cloud.shell.run("az vm update -g rg -n idle --enable-all-instance-down false --query name")
    cloud.shell.run("az vm delete -g rg -n idle -y --no-wait")
    while_it_says_no = [event["EventStatus"] for event in guest.events()]
    cloud.shell.run("az vm update -g rg -n idle --enable-all-instance-down true --query name")

    assert while_it_says_no == ["Scheduled"]
    wait_until(lambda: cloud.effects("idle") == ["stop", "delete"], "the deletion")


def test_what_is_not_there_is_told_as_azure_tells_it(cloud: Cloud):
    ended = cloud.shell.tried("az vm show -g rg -n nope")

    assert ended.returncode == 3
    assert "(ResourceNotFound) The Resource 'Microsoft.Compute/virtualMachines/nope'" in ended.stderr


def test_an_eviction_is_seen_as_a_preempt_within_a_second(cloud: Cloud):
    guest = cloud.service.guest("spot")
    guest.document()

    cloud.shell.run("az vm simulate-eviction -g rg -n spot")

    wait_until(lambda: bool(guest.events()), "the guest to see the eviction")
    (event,) = guest.events()
    assert (event["EventType"], event["EventSource"], event["Resources"]) == ("Preempt", "Platform", ["spot"])


def test_an_instance_is_evicted(cloud: Cloud):
    cloud.shell.run("az vmss simulate-eviction -g rg -n ss-spot --instance-id 0")

    events = cloud.service.get("/v1/events")["events"]
    assert ("Preempt", ["ss-spot_0"]) in [(event["kind"], event["resources"]) for event in events]


def test_a_restart_waits_for_the_guest_to_approve(cloud: Cloud):
    guest = cloud.service.guest("waiting")
    guest.document()

    with cloud.shell.started("az vm restart -g rg -n waiting") as az:
        wait_until(lambda: bool(guest.events()), "the guest to see the restart")
        (event,) = guest.events()
        had_returned = az.poll() is not None
        guest.approve(event["EventId"])
        printed, _ = az.communicate(timeout=60)

    assert (event["EventType"], event["EventSource"], event["EventStatus"]) == ("Reboot", "User", "Scheduled")
    assert event["Description"] == "Virtual machine is going to be restarted as requested by authorized user."
    assert not had_returned
    assert az.returncode == 0, printed
    assert cloud.effects("waiting") == ["reboot"]


def test_a_restart_that_nobody_waits_for_returns_while_the_event_is_scheduled(cloud: Cloud):
    guest = cloud.service.guest("hurried")
    guest.document()

    cloud.shell.run("az vm restart -g rg -n hurried --no-wait")

    (event,) = guest.events()
    assert (event["EventType"], event["EventStatus"]) == ("Reboot", "Scheduled")
    assert cloud.effects("hurried") == []
    guest.approve(event["EventId"])
    wait_until(lambda: cloud.effects("hurried") == ["reboot"], "the restart")


def test_terminates_of_a_scale_in_wait_for_each_other(cloud: Cloud):
    guest = cloud.service.guest("shrinking_0")
    guest.document()
    notice = "--enable-terminate-notification true --terminate-notification-time 10"
    profile = "virtualMachineProfile.scheduledEventsProfile.terminateNotificationProfile"

    told = cloud.shell.json(f"vmss update -g rg -n shrinking {notice} --query {profile}")
    cloud.shell.run("az vmss update-instances -g rg -n shrinking --instance-ids '*'")
    with cloud.shell.started("az vmss scale -g rg -n shrinking --new-capacity 1 --query sku.capacity") as az:
        wait_until(lambda: len(guest.events()) == 2, "the guest to see both deletions")
        first, second = guest.events()
        guest.approve(first["EventId"])
        waits_for = cloud.service.get(f"/v1/events/{first['EventId']}")["waiting_for"]
        between = [event["EventStatus"] for event in guest.events()]
        guest.approve(second["EventId"])
        printed, _ = az.communicate(timeout=60)

    assert told == {"enable": True, "notBeforeTimeout": "PT10M"}
    assert [(event["EventType"], event["Resources"]) for event in (first, second)] == [
        ("Terminate", ["shrinking_2"]),
        ("Terminate", ["shrinking_1"]),
    ]
    assert between == ["Scheduled", "Scheduled"]
    assert waits_for[0].startswith("approval of the Terminate of shrinking_1")
    assert (az.returncode, json.loads(printed)) == (0, 1), printed
    assert cloud.shell.json("vmss list-instances -g rg -n shrinking --query [].name") == ["shrinking_0"]
    assert cloud.shell.json(f"vmss show -g rg -n shrinking --query {profile}.notBeforeTimeout") == "PT10M"

"""azure-mgmt-maintenance itself approves events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.mgmt.maintenance import MaintenanceManagementClient
from azure.mgmt.maintenance.models import ScheduledEventsIdList

from tests.arm.caller import SUBSCRIPTION, Arm, scale_set, vm
from tests.running import RunningService

_NOBODYS = "00000000-0000-4000-8000-000000000000"


@contextmanager
def sdk(service: RunningService) -> Iterator[MaintenanceManagementClient]:
    """The SDK, pointed at the service over plain http."""
    with MaintenanceManagementClient(
        AzureKeyCredential("unused"),
        SUBSCRIPTION,
        base_url=f"http://127.0.0.1:{service.service.operator[1]}",
        authentication_policy=SansIOHTTPPolicy(),
    ) as client:
        yield client


def test_one_event_is_acknowledged(arm: Arm):
    reader = arm.service.guest("solo")
    reader.document()
    arm.begin("POST", vm("solo") + "/restart")
    (event,) = reader.events()

    with sdk(arm.service) as client:
        answer = client.scheduled_events.acknowledge("default", "virtualMachines", "solo", event["EventId"])

    assert answer.value == "Successfully Approved"
    assert reader.events()[0]["EventStatus"] == "Started"


def test_a_list_of_events_is_acknowledged(arm: Arm):
    reader = arm.service.guest("pool_0")
    reader.document()
    arm.begin("POST", scale_set("pool") + "/restart", {"instanceIds": ["0", "1"]})
    ids = [event["EventId"] for event in reader.events()]

    with sdk(arm.service) as client:
        answer = client.scheduled_events.acknowledge_list(
            "default", "virtualMachineScaleSets", "pool", ScheduledEventsIdList(value=ids)
        )

    assert len(ids) == 2
    assert answer.value == "Successfully Approved"
    assert [event["EventStatus"] for event in reader.events()] == ["Started", "Started"]


def test_a_list_with_an_unknown_event_approves_the_others_and_names_it(arm: Arm):
    reader = arm.service.guest("pool_0")
    reader.document()
    arm.begin("POST", scale_set("pool") + "/restart", {"instanceIds": ["0"]})
    (event,) = reader.events()
    both = ScheduledEventsIdList(value=[event["EventId"], _NOBODYS])

    with sdk(arm.service) as client, pytest.raises(HttpResponseError) as caught:
        client.scheduled_events.acknowledge_list("default", "virtualMachineScaleSets", "pool", both)

    failed = caught.value.model.error
    assert (caught.value.status_code, failed.code) == (400, "AcknowledgeFailed")
    assert [(each.target, each.code) for each in failed.details] == [(_NOBODYS, "ResourceNotFound")]
    assert _NOBODYS in failed.details[0].message
    assert [event["EventStatus"] for event in reader.events()] == ["Started"]

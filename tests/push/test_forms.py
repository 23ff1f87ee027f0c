"""The two forms, member by member, and the signature."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from forewarn.core.bulletin import Bulletin, Owner
from forewarn.core.event import Approval, Event
from forewarn.core.fleet import AvailabilitySet, CloudService, ScaleSet
from forewarn.core.phase import Phase
from forewarn.core.terms import Kind, Source
from forewarn.wire.imds.instance import Site
from forewarn.wire.push import cloudevents, eventgrid
from forewarn.wire.push.signature import sign
from tests.control.bench import NOON, WEB, Bench

ID = "602D9444-D2CD-49C7-8624-8643E7171297"
SUBSCRIPTION = "11111111-2222-4333-8444-555555555555"
SITE = Site("westeurope", SUBSCRIPTION)
EVENT = Event(
    id=ID,
    number=7,
    operation="0b7e",
    scope="web/1",
    update_domain=1,
    resources=("web-0", "web-1"),
    kind=Kind.FREEZE,
    source=Source.PLATFORM,
    description="Host server is undergoing maintenance.",
    duration_seconds=9,
    phase=Phase.SCHEDULED,
    created_at=NOON,
    notice=timedelta(minutes=15),
    not_before=NOON + timedelta(minutes=15),
    promised_at=NOON + timedelta(minutes=15),
    version=42,
)
POOL = ScaleSet("pool", "prod")
LATER = NOON + timedelta(minutes=20)


def bulletin(event: Event = EVENT, owner: Owner | None = POOL) -> Bulletin:
    return Bulletin(event, owner, event.ended_at or NOON)


def ended(phase: Phase, reason: str = "") -> Event:
    approvals = (Approval("web-0", NOON),)
    return replace(
        EVENT, phase=phase, approvals=approvals, started_at=NOON, ended_at=LATER, reason=reason, version=43
    )


def properties(event: Event) -> dict[str, Any]:
    (told,) = json.loads(eventgrid.render(bulletin(event), SITE))
    found: dict[str, Any] = told["data"]["resourceInfo"]["properties"]
    return found


def test_a_cloudevent_is_written_exactly_so():
    assert cloudevents.render(bulletin()) == (
        b'{"specversion":"1.0","id":"%s","source":"/forewarn/scopes/web%%2F1",'
        b'"type":"forewarn.event.scheduled","subject":"602D9444-D2CD-49C7-8624-8643E7171297",'
        b'"time":"2026-03-02T12:00:00Z","sequence":"00000000000000000042","datacontenttype":"application/json",'
        b'"data":{"id":"602D9444-D2CD-49C7-8624-8643E7171297","kind":"Freeze","phase":"Scheduled",'
        b'"source":"Platform","scope":"web/1","update_domain":1,"resources":["web-0","web-1"],'
        b'"not_before":"2026-03-02T12:15:00Z","created_at":"2026-03-02T12:00:00Z","approved_by":null,'
        b'"approved_at":null,"postponed_by":null,"postponed_at":null,"postponed_from":null,"started_at":null,'
        b'"ended_at":null,'
        b'"description":"Host server is undergoing maintenance.","duration_seconds":9,"operation":"0b7e",'
        b'"reason":"","fault":""}}' % bulletin().id.encode()
    )
    assert cloudevents.MEDIA_TYPE == "application/cloudevents+json"


@pytest.mark.parametrize(
    ("phase", "kind"),
    [
        (Phase.COMPLETED, "forewarn.event.completed"),
        (Phase.CANCELLED, "forewarn.event.cancelled"),
        (Phase.FAILED, "forewarn.event.failed"),
    ],
)
def test_a_cloudevent_says_how_an_event_ended_and_why(phase: Phase, kind: str):
    told = json.loads(cloudevents.render(bulletin(ended(phase, "the host is gone"))))

    assert told["type"] == kind
    assert told["time"] == told["data"]["ended_at"] == "2026-03-02T12:20:00Z"
    assert told["data"]["approved_by"] == "web-0"
    assert told["data"]["reason"] == "the host is gone"
    assert told["sequence"] > json.loads(cloudevents.render(bulletin()))["sequence"]


def test_a_cloudevent_has_the_members_that_rest_tells_of_an_event_but_for_what_it_waits_for():
    made = Bench(WEB)
    event = made.event(made.maintain("host-2"))

    told = json.loads(cloudevents.render(Bulletin(event, None, NOON)))["data"]

    from_rest = {"approvals", "waiting_for"}
    assert set(told) | from_rest == _members_of_rest()
    assert not set(told) & from_rest


def _members_of_rest() -> set[str]:
    from forewarn.wire.rest import EventView  # noqa: PLC0415 - beside its only use

    return set(EventView.__struct_fields__)


def test_an_event_of_event_grid_is_written_exactly_so():
    subject = (
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/prod/providers/Microsoft.Compute/virtualMachineScaleSets/pool"
        f"/providers/microsoft.maintenance/scheduledevents/{ID}"
    )

    assert json.loads(eventgrid.render(bulletin(), SITE)) == [
        {
            "id": bulletin().id,
            "topic": f"/subscriptions/{SUBSCRIPTION}",
            "subject": subject,
            "data": {
                "resourceInfo": {
                    "id": subject,
                    "name": ID,
                    "type": "microsoft.maintenance/scheduledEvents",
                    "location": "westeurope",
                    "properties": {
                        "EventId": ID,
                        "EventStatus": "Scheduled",
                        "EventType": "Freeze",
                        "ResourceType": "VirtualMachine",
                        "Resources": ["web-0", "web-1"],
                        "NotBefore": "Mon, 02 Mar 2026 12:15:00 GMT",
                        "Description": "Host server is undergoing maintenance.",
                        "EventSource": "Platform",
                        "DurationInSeconds": 9,
                        "ScheduledEventApiVersion": "2020-07-01",
                    },
                }
            },
            "eventType": "Microsoft.ResourceNotifications.MaintenanceResources.ScheduledEventEmitted",
            "dataVersion": "3.0",
            "metadataVersion": "1",
            "eventTime": "2026-03-02T12:00:00Z",
        }
    ]


@pytest.mark.parametrize(
    ("phase", "status"),
    [
        (Phase.STARTED, "Started"),
        (Phase.COMPLETED, "Completed"),
        (Phase.CANCELLED, "Canceled"),
        (Phase.FAILED, "Completed"),
    ],
)
def test_event_grid_is_told_states_in_azures_words_and_no_time_that_has_passed(phase: Phase, status: str):
    told = properties(replace(EVENT, phase=phase))

    assert (told["EventStatus"], told["NotBefore"]) == (status, "")


def test_event_grid_which_knows_no_failure_is_told_of_it_in_the_description():
    told = properties(ended(Phase.FAILED, "web-0 did not come back"))

    assert told["Description"] == "Host server is undergoing maintenance. It failed: web-0 did not come back"
    assert properties(ended(Phase.COMPLETED))["Description"] == "Host server is undergoing maintenance."


@pytest.mark.parametrize(
    ("owner", "path"),
    [
        (POOL, "/resourceGroups/prod/providers/Microsoft.Compute/virtualMachineScaleSets/pool"),
        (AvailabilitySet("web"), "/resourceGroups/default/providers/Microsoft.Compute/availabilitySets/web"),
        (CloudService("legacy"), "/resourceGroups/default/providers/Microsoft.Compute/cloudServices/legacy"),
        (Bench(WEB).vm("solo"), "/resourceGroups/default/providers/Microsoft.Compute/virtualMachines/solo"),
    ],
    ids=["scale set", "availability set", "cloud service", "vm"],
)
def test_the_subject_is_the_id_of_whose_scope_it_is(owner: Owner, path: str):
    (told,) = json.loads(eventgrid.render(bulletin(owner=owner), SITE))

    assert told["subject"] == (
        f"/subscriptions/{SUBSCRIPTION}{path}/providers/microsoft.maintenance/scheduledevents/{ID}"
    )


def test_the_id_depends_on_the_event_and_on_the_commit_and_on_nothing_else():
    again = bulletin(replace(EVENT, description="other words"), AvailabilitySet("web"))

    assert bulletin().id == again.id
    assert bulletin().id != bulletin(replace(EVENT, version=43)).id
    assert bulletin().id != bulletin(replace(EVENT, id=ID.replace("6", "7"))).id


def test_a_signature_is_an_hmac_over_the_time_and_the_body():
    expected = hmac.new(b"key", b'1700000000.{"a":1}', hashlib.sha256).hexdigest()

    assert sign("key", 1_700_000_000, b'{"a":1}') == f"t=1700000000,v1={expected}"
    assert sign("key", 1_700_000_001, b'{"a":1}') != sign("key", 1_700_000_000, b'{"a":1}')

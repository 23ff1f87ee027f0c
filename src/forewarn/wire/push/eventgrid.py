"""Bulletins in the schema of Azure's Event Grid, as its topic of scheduled events sends them: an array with one.

Azure knows four states there, and none for work that failed: that is told as Completed, with the reason behind the
description.
"""

from __future__ import annotations

from forewarn.core.bulletin import Bulletin, Owner, WebhookTestMessage
from forewarn.core.event import Event
from forewarn.core.fleet import Vm
from forewarn.core.phase import Phase
from forewarn.wire.arm.ids import COMPUTE, VMS, Ids
from forewarn.wire.http import to_json
from forewarn.wire.imds.document import event_members
from forewarn.wire.imds.instance import Site
from forewarn.wire.imds.versions import EVENTS_VERSIONS
from forewarn.wire.push import cloudevents
from forewarn.wire.times import iso

MEDIA_TYPE = "application/json; charset=utf-8"
TEST_EVENT_TYPE = "Forewarn.Webhook.Test"
EVENT_TYPE = "Microsoft.ResourceNotifications.MaintenanceResources.ScheduledEventEmitted"
_API_VERSION = EVENTS_VERSIONS["2020-07-01"]
_STATUS = {
    Phase.SCHEDULED: "Scheduled",
    Phase.STARTED: "Started",
    Phase.COMPLETED: "Completed",
    Phase.CANCELLED: "Canceled",
    Phase.FAILED: "Completed",
}


def render(bulletin: Bulletin, site: Site) -> bytes:
    """The body of a request."""
    event = bulletin.event
    ids = Ids(site.subscription)
    subject = f"{_id_of(ids, bulletin.owner, event)}/providers/microsoft.maintenance/scheduledevents/{event.id}"
    info = {
        "id": subject,
        "name": event.id,
        "type": "microsoft.maintenance/scheduledEvents",
        "location": site.location,
        "properties": _properties(event),
    }
    return to_json(
        [
            {
                "id": bulletin.id,
                "topic": ids.root,
                "subject": subject,
                "data": {"resourceInfo": info},
                "eventType": EVENT_TYPE,
                "dataVersion": "3.0",
                "metadataVersion": "1",
                "eventTime": iso(bulletin.at),
            }
        ]
    )


def render_test(notice: WebhookTestMessage, site: Site) -> bytes:
    """The body of a test message."""
    topic = Ids(site.subscription).root
    return to_json(
        [
            {
                "id": notice.id,
                "topic": topic,
                "subject": f"{topic}/providers/forewarn/webhooks/{notice.webhook}",
                "data": cloudevents.data_of_test(notice),
                "eventType": TEST_EVENT_TYPE,
                "dataVersion": "1.0",
                "metadataVersion": "1",
                "eventTime": iso(notice.at),
            }
        ]
    )


def _properties(event: Event) -> dict[str, object]:
    members = event_members(event, _API_VERSION)
    members["EventStatus"] = _STATUS[event.phase]
    if event.phase is Phase.FAILED:
        members["Description"] = f"{event.description} It failed: {event.reason}".strip()
    return members | {"ScheduledEventApiVersion": _API_VERSION.name}


def _id_of(ids: Ids, owner: Owner | None, event: Event) -> str:
    if owner is None:  # nothing is left of it but the name of its scope
        return f"{ids.root}/providers/{COMPUTE}/{VMS}/{event.scope}"
    return ids.of_single_vm(owner) if isinstance(owner, Vm) else ids.of_set(owner)

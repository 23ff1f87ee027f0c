"""What the numbered tests share: names of the wire, small readers of it, and fleets made for one question."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from tests.running import Guest, RunningService

VERSIONS = ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"]
STRICT_VERSIONS = VERSIONS[1:]
EVENTS = "/metadata/scheduledevents"
NEWEST = f"{EVENTS}?api-version=2020-07-01"
FREEZE = {"kind": "Freeze"}

# One scope that can have an event of every kind: VMs of one scale set, one of them Spot. Each has a host and an
# update domain of its own.
MIXED: dict[str, Any] = {
    "hosts": [{"name": f"host-{n}"} for n in range(6)],
    "scale_sets": [{"name": "mix"}],
    "vms": [
        {
            "name": f"mix_{n}",
            "scale_set": "mix",
            "host": f"host-{n}",
            "update_domain": n,
            "addresses": [f"127.2.0.{n + 1}"],
            **({"priority": "Spot"} if n == 3 else {"terminate_notification": "PT10M"}),
        }
        for n in range(5)
    ],
}

# One host with one tenant: two VMs of one update domain and one of another.
CROWDED: dict[str, Any] = {
    "hosts": [{"name": "host-0"}],
    "availability_sets": [{"name": "db", "update_domains": 2, "spread": False}],
    "vms": [
        {
            "name": f"db-{n}",
            "host": "host-0",
            "availability_set": "db",
            "update_domain": n % 2,
            "addresses": [f"127.2.1.{n + 1}"],
        }
        for n in range(3)
    ],
}


def only(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The one event there is."""
    assert len(events) == 1, events
    return events[0]


def url(version: str) -> str:
    """The document's address at a version."""
    return f"{EVENTS}?api-version={version}"


def start_requests(*ids: str, **extra: Any) -> str:
    """The body of an approval."""
    return json.dumps({**extra, "StartRequests": [{"EventId": event} for event in ids]})


def not_before(event: dict[str, Any]) -> datetime:
    """The instant of a Scheduled event's NotBefore, which has to be RFC 1123 to the letter."""
    text = event["NotBefore"]
    at = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    assert format_datetime(at, usegmt=True) == text
    return at


def scheduled_restart(service: RunningService, vm: str = "web-0") -> tuple[Guest, str]:
    """The guest of a VM whose restart is announced, and the event's id."""
    guest = service.guest(vm)
    guest.document()
    return guest, service.post(f"/v1/vms/{vm}/restart")["event"]["id"]


def announce_every_kind(service: RunningService) -> Guest:
    """One event of each kind in the scope of MIXED, in this order; the guest that can read them."""
    guest = service.guest("mix_0")
    guest.document()
    service.post("/v1/hosts/host-0/maintain", FREEZE)
    service.post("/v1/vms/mix_1/restart")
    service.post("/v1/vms/mix_2/redeploy")
    service.post("/v1/vms/mix_3/evict")
    service.post("/v1/vms/mix_4/delete")
    return guest


def life(service: RunningService, guest: Guest, steps: int = 200) -> Iterator[dict[str, Any]]:
    """The document after every instant at which something happens, until nothing is left in it."""
    for _ in range(steps):
        document = guest.document()
        yield document
        if not document["Events"]:
            return
        service.post("/v1/clock", {"until": "next"})
    raise AssertionError(f"there are events after {steps} steps: {document}")


def exchange(service: RunningService, address: str, request: bytes) -> bytes:
    """All that comes back on a connection that the service has to end."""
    where = ("127.0.0.1", service.metadata_port)
    received = b""
    with socket.create_connection(where, timeout=5, source_address=(address, 0)) as connection:
        connection.sendall(request)
        while chunk := connection.recv(65536):
            received += chunk
    return received

"""ETags: one that was read elsewhere, or earlier, never hides an event."""

from __future__ import annotations

from tests.fleets import SMALL
from tests.running import RunningService, running


def restarted(service: RunningService, verb: str) -> str:
    """The tag under which a guest reads of one event."""
    guest = service.guest("solo")
    guest.document()
    service.post(f"/v1/vms/solo/{verb}")
    return guest.call().headers["etag"]


def test_the_tag_of_another_store_is_not_ours():
    with running(SMALL) as first:
        tag = restarted(first, "restart")
    with running(SMALL) as second:
        restarted(second, "redeploy")

        reply = second.guest("solo").call(headers={"If-None-Match": tag})

    assert reply.status == 200


def test_the_tag_of_a_scope_that_the_vm_has_left_is_not_that_of_its_new_one():
    fleet = {"hosts": [{"name": "h"}, {"name": "i"}], "availability_sets": [{"name": "web", "spread": False}]}
    other = {"name": "a", "host": "h", "availability_set": "web", "addresses": ["127.3.0.2"]}
    x = {"name": "x", "host": "i", "addresses": ["127.3.0.1"]}
    with running({**fleet, "vms": [x, other]}) as service:
        guest = service.guest("x")
        service.guest("a").document()
        guest.document()
        event = service.post("/v1/vms/x/restart")["event"]["id"]
        service.post(f"/v1/events/{event}/cancel")
        alone = guest.call()
        service.operator("PUT", "/v1/fleet", {**fleet, "vms": [other]})
        service.post("/v1/vms/a/restart")
        service.post("/v1/hosts/h/maintain", {"kind": "Freeze"})
        service.operator("PUT", "/v1/fleet", {**fleet, "vms": [other, {**x, "availability_set": "web"}]})

        reply = service.guest("x").call(headers={"If-None-Match": alone.headers["etag"]})

    assert alone.json == {"DocumentIncarnation": 3, "Events": []}
    assert (reply.status, reply.json["DocumentIncarnation"], len(reply.json["Events"])) == (200, 3, 2)

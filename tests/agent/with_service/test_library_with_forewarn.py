"""What programs import, with the real service."""

from __future__ import annotations

from typing import Any

from forewarn.agent import What, watch
from tests.fleets import SMALL
from tests.running import RunningService, running
from tests.waiting import wait_until

QUICK: dict[str, Any] = {"poll_seconds": 0.02}
BOUND = 30


def test_against_the_real_service_an_event_is_approved_and_followed_to_its_end():
    with running(SMALL, guest="web-0") as service:
        endpoint = f"http://127.0.0.1:{service.metadata_port}"
        seen = []
        with watch(endpoint, **QUICK) as changes:
            wait_until(lambda: is_on(service), "the first poll")
            service.post("/v1/vms/web-0/restart", {})
            for change in changes:
                seen.append(change.what)
                if change.what is What.SCHEDULED:
                    change.approve()
                    service.advance(seconds=1)
                elif change.what is What.STARTED:
                    service.advance(minutes=15)
                else:
                    break

    assert seen == [What.SCHEDULED, What.STARTED, What.FINISHED]


def is_on(service: RunningService) -> bool:
    """Whether the guest has asked, which turns the feature on."""
    return service.get("/v1/scopes/web")["is_on"]

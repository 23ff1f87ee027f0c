"""A service for Azure's own clients: a fleet in a resource group called rg, a real clock, and quick machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from forewarn.core.terms import Action
from forewarn.drivers.machines import Trouble
from forewarn.drivers.simulated import SECONDS
from tests.running import RunningService, running

_IN_RG = {"resource_group": "rg"}
FLEET: dict[str, Any] = {
    "hosts": [{"name": f"host-{number}"} for number in range(8)],
    "availability_sets": [{"name": "as1", **_IN_RG}],
    "scale_sets": [
        {"name": "ss1", "capacity": 5, "hosts": [f"host-{n}" for n in range(5)], **_IN_RG},
        {"name": "ss-spot", "capacity": 2, "priority": "Spot", **_IN_RG},
    ],
    "vms": [
        *({"name": name, "host": "host-6", **_IN_RG} for name in ("vm1", "failing", "doomed")),
        {"name": "vm2", "host": "host-7", **_IN_RG},
        {"name": "spot", "priority": "Spot", **_IN_RG},
        *({"name": f"many-{number:03d}", "resource_group": "crowd"} for number in range(120)),
    ],
}


@contextmanager
def quick(fleet: dict[str, Any] | None = None, **settings: Any) -> Iterator[RunningService]:
    """A service on the system clock whose actions take no time."""
    seconds: dict[Action, float] = dict.fromkeys(SECONDS, 0)
    usual = {"clock": "system", "clock_start": None, "lead": 2, "rate_limit": 0, "simulated_seconds": seconds}
    with running(fleet or FLEET, **(usual | settings)) as service:
        yield service


def let_maintenance_wait(service: RunningService) -> None:
    """Announce work, a day ahead, for what the clients will then maintain by themselves; and let one VM fail."""
    for host in ("host-7", "host-2", "host-3"):
        service.post(f"/v1/hosts/{host}/maintain", {"kind": "Freeze", "notice_seconds": 86_400})
    service.service.machines.order("failing", Trouble.FAILS)

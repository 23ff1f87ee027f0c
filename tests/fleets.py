"""Fleets that tests share."""

from __future__ import annotations

from typing import Any

# Every kind of scope; guests are recognised by loopback addresses of their own.
SMALL: dict[str, Any] = {
    "hosts": [{"name": f"host-{n}"} for n in range(6)],
    "availability_sets": [{"name": "web"}],
    "scale_sets": [
        {
            "name": "pool",
            "capacity": 3,
            "hosts": ["host-3", "host-4", "host-5"],
            "addresses": ["127.1.0.1", "127.1.0.2", "127.1.0.3"],
            "terminate_notification": "PT10M",
        },
        {
            "name": "spot",
            "capacity": 2,
            "hosts": ["host-4", "host-5"],
            "addresses": ["127.1.1.1", "127.1.1.2"],
            "priority": "Spot",
        },
    ],
    "cloud_services": [{"name": "legacy"}],
    "vms": [
        {"name": "web-0", "host": "host-0", "availability_set": "web", "addresses": ["127.0.1.1"]},
        {"name": "web-1", "host": "host-1", "availability_set": "web", "addresses": ["127.0.1.2"]},
        {"name": "web-2", "host": "host-2", "availability_set": "web", "addresses": ["127.0.1.3"]},
        {
            "name": "solo",
            "host": "host-0",
            "addresses": ["127.0.2.1"],
            "zone": "1",
            "tags": {"team": "blue", "env": "test"},
        },
        {"name": "twin", "host": "host-3", "addresses": ["127.0.2.2"], "zone": "1"},
        {
            "name": "frugal",
            "host": "host-1",
            "addresses": ["127.0.2.3"],
            "priority": "Spot",
            "eviction_policy": "Delete",
        },
        {"name": "brief", "host": "host-2", "addresses": ["127.0.2.4"], "terminate_notification": "PT5M"},
        {"name": "FrontEnd_IN_0", "host": "host-4", "cloud_service": "legacy", "addresses": ["127.0.3.1"]},
        {"name": "FrontEnd_IN_1", "host": "host-5", "cloud_service": "legacy", "addresses": ["127.0.3.2"]},
    ],
}

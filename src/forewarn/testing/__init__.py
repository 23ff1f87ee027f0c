"""For tests of programs that maintenance happens to: the real service, with a clock that the test moves.

    with Service() as forewarn:
        vm = forewarn.vm("web_0")
        event = forewarn.restart(vm)
        forewarn.clock.until(event, "Started")

With pytest there is a fixture of the name `forewarn`. Nothing is imported before it is used: pytest loads this
package in every project that has forewarn installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forewarn.emulator import Refused
    from forewarn.testing.clock import Clock
    from forewarn.testing.event import Event
    from forewarn.testing.faults import Fault
    from forewarn.testing.guest import Vm
    from forewarn.testing.life import Unmet
    from forewarn.testing.report import ClientReport
    from forewarn.testing.service import Service

__all__ = ["ClientReport", "Clock", "Event", "Fault", "Refused", "Service", "Unmet", "Vm"]

_HOME = {
    "ClientReport": "forewarn.testing.report",
    "Clock": "forewarn.testing.clock",
    "Event": "forewarn.testing.event",
    "Fault": "forewarn.testing.faults",
    "Refused": "forewarn.emulator",
    "Service": "forewarn.testing.service",
    "Unmet": "forewarn.testing.life",
    "Vm": "forewarn.testing.guest",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever has that name
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)

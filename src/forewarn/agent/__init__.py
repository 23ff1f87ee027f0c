"""The program in the guest: watches, prepares, approves, recovers. Standard library only, nothing else of ours.

For programs: `from forewarn.agent import watch, until_maintenance`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forewarn.agent.changes import CannotApprove, Change, What
    from forewarn.agent.events import Event
    from forewarn.agent.library import MaintenanceComing, UntilMaintenance, Watch, until_maintenance, watch
    from forewarn.agent.metadata import EndpointError
    from forewarn.agent.watching import Trouble

__all__ = [
    "CannotApprove",
    "Change",
    "EndpointError",
    "Event",
    "MaintenanceComing",
    "Trouble",
    "UntilMaintenance",
    "Watch",
    "What",
    "until_maintenance",
    "watch",
]

_WHERE = {
    "CannotApprove": "changes",
    "Change": "changes",
    "EndpointError": "metadata",
    "Event": "events",
    "Trouble": "watching",
    "What": "changes",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever it is
    """What programs import, loaded when they do: the agent itself does without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE.get(name, 'library')}"), name)

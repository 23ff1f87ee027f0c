"""Stop and start a systemd unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forewarn.agent.handlers.base import Option, Result, Task


class Systemd:
    """Stops, starts, restarts or reloads a unit."""

    help = "Stops, starts, restarts or reloads a systemd unit. What it stopped is started again, and the reverse."
    options = (
        Option("unit", "text", "The unit, such as `nginx.service`.", is_required=True),
        Option("action", "text", "`stop`, `start`, `restart` or `reload`.", default="stop"),
        Option(
            "undo",
            "flag",
            "Whether it is undone: a unit that ran before is started again, one that did not is stopped.",
            default=True,
        ),
        Option("systemctl", "path", "The program to ask.", default="systemctl"),
    )

    def check(self, options: Mapping[str, Any]) -> list[str]:
        """What is wrong with the options."""
        raise NotImplementedError

    def undoes(self, options: Mapping[str, Any]) -> bool:
        """Whether there is something to undo."""
        raise NotImplementedError

    def run(self, task: Task) -> Result:
        """Do it, or undo it."""
        raise NotImplementedError

    def take_over(self, task: Task) -> Result | None:
        """What came of an attempt of an earlier agent."""
        raise NotImplementedError


HANDLER = Systemd()

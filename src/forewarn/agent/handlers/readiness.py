"""Tell load balancers that this machine is out of service, and wait until its connections are few."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forewarn.agent.handlers.base import Option, Result, Task
from forewarn.agent.handlers.service_state import READINESS

__all__ = ["HANDLER", "READINESS"]


class Readiness:
    """Flips /readyz and /drainz, and waits."""

    help = "Lets the agent's /readyz answer 503 for load balancers, and waits until connections are few."
    options = (
        Option("ports", "numbers", "The local TCP ports whose established connections are counted."),
        Option("most_connections", "number", "So many connections are few enough.", default=0),
        Option(
            "notice_seconds",
            "seconds",
            "How long load balancers take to notice: at least so long is waited.",
            default=5,
        ),
        Option(
            "drain_seconds",
            "seconds",
            "Connections left then are not waited for. Without it: if they do not end, the step has failed.",
        ),
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


HANDLER = Readiness()

"""Wait until load balancers have noticed that this machine is out of service, and its connections are few.

That it is out of service is no state of this handler: /readyz tells it from the journal, from the moment a step of
this kind is begun until it is undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forewarn.agent.case import Direction
from forewarn.agent.handlers.base import Option, Result, Task, with_defaults
from forewarn.agent.handlers.connections import can_be_counted, established
from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.records import settled, settled_result

_LOOK_SECONDS = 0.1


class Readiness:
    """Waits, while /readyz says that this machine is out of service."""

    help = "Lets the agent's /readyz answer 503 for load balancers, and waits until connections are few."
    is_for_all_events = True
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
        said = with_defaults(self.options, options)
        ports = said["ports"] or ()
        problems = [
            f"ports has {port}, which is no port. They are 1 to 65535."
            for port in ports
            if not 0 < port < 65536  # noqa: PLR2004 - so the protocol says
        ]
        if ports and not can_be_counted():
            problems.append(
                "ports cannot be watched here, as there is no /proc/net/tcp. Use drain_seconds instead."
            )
        if said["most_connections"] < 0:
            problems.append("most_connections is below 0. Use 0 to wait for the last one.")
        return problems

    def undoes(self, options: Mapping[str, Any]) -> bool:  # noqa: ARG002 - none of them matters
        """It goes back into service."""
        return True

    def run(self, task: Task) -> Result:
        """Wait; the undo has nothing to wait for."""
        if task.direction is Direction.UNDO:
            return Result(is_done=True, note="back in service")
        return settled(task, lambda: _drain(with_defaults(self.options, task.options), task))

    def take_over(self, task: Task) -> Result | None:
        """What came of it; or it waits anew."""
        return settled_result(task)


def _drain(said: Mapping[str, Any], task: Task) -> Result:
    deadline = Deadline(task.seconds, task.stop)
    ports = set(said["ports"] or ())
    limit = said["drain_seconds"]
    if not deadline.pause(said["notice_seconds"]):
        return Result(is_done=False, note=f"load balancers had no time to notice: {deadline.why()}")
    while True:
        left = established(ports) if ports else 0
        waits_on = left > said["most_connections"] if ports else limit is not None
        if not waits_on:
            return Result(
                is_done=True, note=f"{left} connections left" if ports else "load balancers had time to notice"
            )
        if limit is not None and deadline.passed >= limit:
            return Result(is_done=True, note=f"{left} connections left after {limit:.3g} s" if ports else "")
        if not deadline.pause(_LOOK_SECONDS):
            return Result(is_done=False, note=f"{left} connections left: {deadline.why()}")


HANDLER = Readiness()

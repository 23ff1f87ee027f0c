"""Send a signal to a process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forewarn.agent.handlers.base import Option, Result, Task


class Signal:
    """Signals processes, and waits for their end where that is asked."""

    help = "Sends a signal to a process, found by its pid file, its name or its systemd unit."
    options = (
        Option("pid_file", "path", "The file with its process id."),
        Option("process", "text", "The name of the program; every process with it gets the signal."),
        Option("unit", "text", "The systemd unit whose main process gets the signal."),
        Option("signal", "text", "The signal.", default="SIGTERM"),
        Option(
            "wait_for_exit_seconds",
            "seconds",
            "How long to wait for its end; if it lives on, the step has failed. 0: not at all.",
            default=0,
        ),
        Option("may_be_missing", "flag", "Whether it is fine if there is no such process.", default=False),
        Option("undo_signal", "text", "The signal that undoes it."),
        Option("undo", "command", "Or the program that undoes it, with its arguments."),
        Option("systemctl", "path", "The program that is asked for a unit's main process.", default="systemctl"),
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


HANDLER = Signal()

"""Run a program of your own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forewarn.agent.handlers.base import Option, Result, Task


class Command:
    """Runs a program, and another one to undo it."""

    help = "Runs a program. It gets the event as EVENT_* variables and as JSON on its input; exit status 0 is success."
    options = (
        Option(
            "command",
            "command",
            "The program and its arguments, as a list; with `shell = true`, one text for `/bin/sh`.",
            is_required=True,
        ),
        Option("undo", "command", "The same, for the undo."),
        Option("shell", "flag", "Whether the command is a text for a shell.", default=False),
        Option("user", "text", "The user to run it as. The agent has to be root for that."),
        Option("cwd", "path", "The directory to run it in."),
        Option("environment", "table", "More variables for it."),
        Option(
            "grace_seconds",
            "seconds",
            "When its time is up it gets SIGTERM, with all that it started, and after this time SIGKILL.",
            default=2,
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


HANDLER = Command()

"""Hand the lead of a Patroni cluster to another member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forewarn.agent.handlers.base import Option, Result, Task


class Patroni:
    """Switches over, if this member leads."""

    help = "Hands the lead of a Patroni cluster to another member, if this one has it, and waits until it runs."
    options = (
        Option("url", "text", "This member's REST API.", default="http://127.0.0.1:8008"),
        Option("member", "text", "This member's name. Without it: what its API says."),
        Option("candidate", "text", "Who is to lead. Without it: whom Patroni chooses."),
        Option("username", "text", "For an API with basic authentication."),
        Option("password", "secret", "The same."),
        Option("fail_back", "flag", "Whether the undo gives the lead back to this member.", default=False),
        Option("poll_seconds", "seconds", "How often the cluster is asked.", default=0.5),
        Option("ca_file", "path", "The certificates to trust, instead of the system's."),
        Option("verify_tls", "flag", "Whether the API's certificate is verified.", default=True),
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


HANDLER = Patroni()

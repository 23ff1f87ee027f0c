"""Tell someone, by a webhook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forewarn.agent.handlers.base import Option, Result, Task


class Webhook:
    """Posts JSON, again and again until it arrives or time is up."""

    help = "Posts JSON to a webhook, again and again until it arrives or its time is up. It has no undo."
    options = (
        Option(
            "url",
            "secret",
            "Where to. `${...}` stands for a part of the event, here quoted for a URL.",
            is_required=True,
        ),
        Option(
            "preset",
            "text",
            "`slack` or `teams`: the form that these understand. Without it: the event, with the text.",
        ),
        Option(
            "text",
            "text",
            "What to say. `${...}` stands for a part of the event.",
            default="${summary}",
        ),
        Option(
            "body", "text", "JSON of your own, instead of a preset's; `${...}` is quoted so that it stays JSON."
        ),
        Option("headers", "table", "More headers to send."),
        Option("secrets", "table", "Texts that `${secret.NAME}` stands for, in address, headers and body."),
        Option("request_seconds", "seconds", "How long one try may take.", default=10),
        Option("ca_file", "path", "The certificates to trust, instead of the system's."),
        Option("verify_tls", "flag", "Whether the other side's certificate is verified.", default=True),
        Option("proxy", "text", "The HTTP proxy to go through. Without it: none, whatever the environment says."),
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


HANDLER = Webhook()

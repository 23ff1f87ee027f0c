"""Call an address over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forewarn.agent.handlers.base import Option, Result, Task


class HttpCall:
    """Makes one HTTP request, and another one to undo it."""

    help = "Makes an HTTP request. A status that is expected is success; redirects are not followed."
    options = (
        Option(
            "url",
            "secret",
            "Where to. `${...}` stands for a part of the event, here quoted for a URL.",
            is_required=True,
        ),
        Option("method", "text", "GET, POST, PUT, ...", default="POST"),
        Option("headers", "table", "Headers to send; `${...}` stands for a part of the event."),
        Option(
            "body",
            "text",
            "What to send; `${...}` stands for a part of the event, quoted so that JSON stays JSON.",
        ),
        Option("secrets", "table", "Texts that `${secret.NAME}` stands for, in address, headers and body."),
        Option("expect", "numbers", "The statuses that are success. Without it: 200 to 299."),
        Option(
            "repeatable",
            "flag",
            "Whether the call may be made again when an agent died over it. GET, HEAD, PUT and DELETE always may.",
            default=False,
        ),
        Option(
            "undo",
            "options",
            "The call that undoes it: a table with url, method, headers, body, expect, repeatable.",
        ),
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


HANDLER = HttpCall()

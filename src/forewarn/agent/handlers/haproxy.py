"""Take a server out of an HAProxy, and put it back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forewarn.agent.handlers.base import Option, Result, Task


class Haproxy:
    """Drains servers of an HAProxy over its runtime socket."""

    help = (
        "Sets servers of an HAProxy to drain and waits until their sessions are few; its undo sets them to ready."
    )
    options = (
        Option(
            "socket",
            "text",
            "HAProxy's runtime socket: a path, or HOST:PORT. It needs `level admin`.",
            is_required=True,
        ),
        Option("servers", "texts", "The servers, each as BACKEND/SERVER.", is_required=True),
        Option(
            "most_sessions",
            "number",
            "So many sessions of a server, running and queued, are few enough.",
            default=0,
        ),
        Option("poll_seconds", "seconds", "How often it is asked.", default=0.5),
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


HANDLER = Haproxy()

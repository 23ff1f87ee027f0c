"""`status`: what the running agent sees, does and waits for."""

from __future__ import annotations

import argparse
from typing import Any

from forewarn.agent.commands.calling import Agent
from forewarn.agent.commands.output import say, show_json
from forewarn.agent.commands.reading import settings_of


def run(given: argparse.Namespace) -> int:
    """Ask the agent, and show it."""
    answer = Agent(settings_of(given, is_warning=False)).ask("/events")
    if given.is_json:
        show_json(answer)
        return 0
    events: list[dict[str, Any]] = answer.get("events", [])
    if not events:
        say("There are no events.")
    return 0

"""`approve`, `hold`, `release`, `reset` and `retry`: an operator's order about an event, to the running agent."""

from __future__ import annotations

import getpass
import os
from types import SimpleNamespace
from urllib.parse import quote

from forewarn.agent.commands.calling import RunningAgent
from forewarn.agent.commands.output import say, show_json
from forewarn.agent.commands.reading import settings_of


def run(given: SimpleNamespace) -> int:
    """Tell the agent; it finds the event by the beginning of its id."""
    agent = RunningAgent(settings_of(given, is_warning=False))
    body: dict[str, object] = {"by": _operator()}
    if given.command == "approve":
        body["now"] = given.is_urgent
    if given.command == "retry" and given.step:
        body["step"] = given.step
    answer = agent.tell(f"/events/{quote(given.event, safe='')}/{given.command}", body)
    if given.is_json:
        show_json(answer)
    else:
        say(answer.get("message", "Done."))
    return 0


def _operator() -> str:
    """Who says so, for the audit record; `sudo` knows who it was."""
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "operator"

"""`run`: the agent itself."""

from __future__ import annotations

import argparse

from forewarn.agent.commands.reading import settings_of


def run(given: argparse.Namespace) -> int:
    """Watch, prepare, approve, recover; until told to stop."""
    settings = settings_of(given)
    from forewarn.agent.keeper import run_agent  # noqa: PLC0415 - a wrong file is told before anything is loaded

    return run_agent(settings)

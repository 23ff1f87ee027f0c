"""The keeper: one thread that owns the cases, and joins all the others."""

from __future__ import annotations

from forewarn.agent.settings import Settings


def run_agent(settings: Settings) -> int:
    """Run until told to stop. The exit status: 0 stopped as asked, 1 could not begin, which was said."""
    raise NotImplementedError(settings.source)

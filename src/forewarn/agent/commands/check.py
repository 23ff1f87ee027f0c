"""`check`: everything that is wrong with the configuration, and what looks like a mistake."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

from forewarn.agent.commands.output import FAILED, complain, say, show_json
from forewarn.agent.commands.parser import overrides_in
from forewarn.agent.config import default_file, read_settings
from forewarn.agent.config_problems import ConfigProblems, Problem
from forewarn.agent.settings import Settings


def run(given: SimpleNamespace) -> int:
    """Read it as `run` would, and say what comes of it."""
    try:
        settings = read_settings(Path(given.config) if given.config else None, overrides=overrides_in(given))
    except ConfigProblems as found:
        _tell_problems(found, is_json=given.is_json)
        return FAILED
    if given.is_json:
        show_json({"file": settings.source, "problems": [], "warnings": list(settings.warnings)})
        return 0
    for warning in settings.warnings:
        complain(warning, label="warning")
    say(_summary(settings))
    return 0


def _tell_problems(found: ConfigProblems, *, is_json: bool) -> None:
    if is_json:
        show_json({"problems": _as_json(found.problems), "warnings": list(map(str, found.warnings))})
        return
    for warning in found.warnings:
        complain(str(warning), label="warning")
    for problem in found.problems:
        complain(str(problem))


def _as_json(problems: Sequence[Problem]) -> list[dict[str, str | int]]:
    return [
        {"place": each.place, "line": each.line, "message": each.message, "advice": each.advice}
        for each in problems
    ]


def _summary(settings: Settings) -> str:
    if not settings.source:
        return f"There is no {default_file()}: the agent logs events, and approves nothing."
    steps = sum(len(profile.steps) for profile in settings.profiles.values())
    counts = ((len(settings.rules), "rule"), (len(settings.profiles), "profile"), (steps, "step"))
    words = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts)
    verdict = "can be run, but see what is said above" if settings.warnings else "is fine"
    return f"{settings.source} {verdict}: {words}."

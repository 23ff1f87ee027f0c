"""`check`: everything that is wrong with the configuration, and what looks like a mistake."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

from forewarn.agent.commands.output import FAILED, complain, say, show_json
from forewarn.agent.commands.parser import overrides_in
from forewarn.agent.config import default_file, read_settings
from forewarn.agent.config_problems import ConfigProblems, Problem
from forewarn.agent.ownership import Untrusted, name_of, own_user, refuse_foreign_directory, resolve
from forewarn.agent.settings import Settings


def run(given: SimpleNamespace) -> int:
    """Read it as `run` would, and say what comes of it."""
    try:
        settings = read_settings(Path(given.config) if given.config else None, overrides=overrides_in(given))
    except ConfigProblems as found:
        _tell_problems(found, is_json=given.is_json)
        return FAILED
    try:
        warnings = (*settings.warnings, *_check_files(settings))
    except Untrusted as unsafe:
        problem = Problem("state_dir", 0, unsafe.message, unsafe.advice)
        _tell_problems(ConfigProblems((problem,)), is_json=given.is_json)
        return FAILED
    if given.is_json:
        show_json({"file": settings.source, "problems": [], "warnings": list(warnings)})
        return 0
    for warning in warnings:
        complain(warning, label="warning")
    say(_summary(settings, has_warnings=bool(warnings)))
    return 0


def _check_files(settings: Settings) -> Iterator[str]:
    """Warn of files that other users could change; raise `Untrusted` if an agent of this user refuses them."""
    place, user = settings.state_dir, own_user()
    try:
        owner = place.stat().st_uid if place.exists() else user
        if owner not in {user, 0}:
            raise Untrusted(
                f"{place} belongs to {name_of(owner)}; an agent of {name_of(user)} would refuse it.",
                "Run this check as the user of the agent, or give the directory to that user with chown.",
            )
        refuse_foreign_directory(place, user)
        if settings.audit_file is not None:
            yield from _check_audit_file(settings.audit_file, user)
    except OSError:  # only the agent's user may look
        return


def _check_audit_file(path: Path, user: int) -> Iterator[str]:
    try:
        mode = resolve(path, user).parent.stat().st_mode
    except Untrusted as unsafe:
        yield f"audit_file: {unsafe}"
    else:
        if mode & stat.S_IWOTH:
            yield f"audit_file: every user can write {path.parent} and could replace the file. Name another place."


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


def _summary(settings: Settings, *, has_warnings: bool) -> str:
    if not settings.source:
        return f"There is no {default_file()}: the agent logs events, and approves nothing."
    steps = sum(len(profile.steps) for profile in settings.profiles.values())
    counts = ((len(settings.rules), "rule"), (len(settings.profiles), "profile"), (steps, "step"))
    words = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts)
    verdict = "can be run, with the warnings above" if has_warnings else "is fine"
    return f"{settings.source} {verdict}: {words}."

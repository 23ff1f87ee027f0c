"""`status`: what the running agent sees, does and waits for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from forewarn.agent.commands.calling import RunningAgent
from forewarn.agent.commands.output import fields, say, show_json, span
from forewarn.agent.commands.reading import settings_of


def run(given: SimpleNamespace) -> int:
    """Ask the agent, and show it."""
    answer = RunningAgent(settings_of(given, is_warning=False)).ask("/events?all=1" if given.is_all else "/events")
    if given.is_json:
        show_json(answer)
        return 0
    for line in _headlines(answer):
        say(line)
    if not answer["events"]:
        say("There are no events.")
    for case in answer["events"]:
        say()
        _tell(case)
    return 0


def _headlines(answer: dict[str, Any]) -> list[str]:
    where = f"{answer['endpoint'] or 'the endpoint'}"
    age = answer["poll_age_seconds"]
    seen = f", answered {span(age)} ago" if age is not None else ", which has not answered yet"
    lines = [f"Watching {where}{seen}; this VM is {' or '.join(answer['vm']) or 'not known by name'}."]
    if answer["is_blind"]:
        lines.append(f"BLIND: {answer['trouble']}")
    elif answer["trouble"]:
        lines.append(f"In trouble: {answer['trouble']}")
    if answer["is_dry_run"]:
        lines.append("This is a dry run: nothing is run, nothing is approved.")
    return lines


def _tell(case: dict[str, Any]) -> None:
    event = case["event"]
    say(f"{event['type']} {event['id']} of {', '.join(event['resources']) or 'nothing'}: {case['phase']}")
    left = case["seconds_to_not_before"]
    when = "" if left is None else f"{event['not_before']} (" + (f"in {span(left)})" if left > 0 else "past)")
    fields(
        (
            ("not before", when),
            ("whose", f"this VM's, as {case['vm']}" if case["vm"] else "not this VM's"),
            ("profile", f"{case['profile']}: {case['why']}" if case["why"] else case["profile"]),
            ("steps", [_step(each) for each in case["runs"]]),
            ("approved", f"{case['consent_at']} by {case['consent_by']}" if case["consent"] == "given" else ""),
            ("held", f"by {case['held_by']}" if case["held_by"] else ""),
            ("waits for", list(case["waiting_for"])),
        )
    )


def _step(run: dict[str, Any]) -> str:
    name = f"undo of {run['step']}" if run["direction"] == "undo" else run["step"]
    outcome = "under way" if run["outcome"] == "begun" else run["outcome"]
    tries = f" at try {run['tries']}" if run["tries"] > 1 else ""
    return f"{name}: {outcome}{tries}" + (f" ({run['note']})" if run["note"] else "")

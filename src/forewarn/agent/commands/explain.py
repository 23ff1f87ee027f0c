"""`explain`: what would be done about an event, when, and why."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from forewarn.agent.clock import Clock
from forewarn.agent.commands.output import UNREACHABLE, USAGE, Failure, at, complain, fields, say, show_json, span
from forewarn.agent.commands.reading import invent, names_of, settings_of
from forewarn.agent.events import Document, Event, Unreadable, read_document, read_event, read_instant
from forewarn.agent.forecast import Forecast, Moment, approval_in_words, foresee, undone_after
from forewarn.agent.names import Names
from forewarn.agent.policy import Profile
from forewarn.agent.rules import choose, explain
from forewarn.agent.settings import Settings


def run(given: SimpleNamespace) -> int:
    """Explain the events that were given, made up, or are open now."""
    settings = settings_of(given)
    clock = Clock()
    names = names_of(settings, given.vm)
    events = _events(given, settings, names, clock)
    now = _now(given, clock)
    if given.is_json:
        show_json([_as_json(event, settings, names, now) for event in events])
        return 0
    if not events:
        say("There are no events.")
    for index, event in enumerate(events):
        if index:
            say()
        _tell(event, settings, names, now)
    return 0


def _events(given: SimpleNamespace, settings: Settings, names: Names, clock: Clock) -> Sequence[Event]:
    if given.file and given.type:
        raise Failure("An event comes from FILE or from --type, not from both.", code=USAGE)
    if given.file:
        return _from_file(given.file)
    if given.type:
        return [invent(given, names, _now(given, clock))]
    return _open_now(settings, names, clock)


def _from_file(name: str) -> Sequence[Event]:
    try:
        body = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as problem:
        raise Failure(f"{name} cannot be read: {problem.strerror}.", "Name a file with an event, or -.") from None
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict) and "Events" not in said:
        event = read_event({"EventId": "unnamed", **said} if "EventType" in said else said)
        if event is not None:
            return [event]
    try:
        document = read_document(body)
    except Unreadable as problem:
        raise Failure(f"{name} is neither an event nor a document of them. {problem}.") from None
    return _readable(document, name)


def _readable(document: Document, source: str) -> Sequence[Event]:
    """The events of a document; what cannot be read is said, and never taken for no events."""
    for each in (*document.oddities, *document.repeated):
        complain(f"{source} has {each}.", label="warning")
    if document.oddities and not document.events:
        raise Failure(f"{source} has events, and none that can be read.")
    return document.events


def _open_now(settings: Settings, names: Names, clock: Clock) -> Sequence[Event]:
    from forewarn.agent.endpoints import Endpoints  # noqa: PLC0415 - only where it is asked
    from forewarn.agent.metadata import EndpointError, Metadata  # noqa: PLC0415 - the same

    metadata = Metadata(Endpoints(settings.endpoints, os.environ), settings)
    try:
        answer = metadata.get(is_conditional=False)
        with suppress(EndpointError):  # an imitation may not tell; then it goes by the other names
            names.learn(metadata.compute_name())
    except EndpointError as problem:
        raise Failure(
            f"The endpoint was asked for its events, and did not say: {problem}",
            "Name another with --endpoint, or describe an event with --type.",
            UNREACHABLE,
        ) from None
    finally:
        metadata.close()
    if answer.server_date is not None:
        clock.learn(answer.server_date)
    return _readable(answer.document, answer.endpoint or "The endpoint") if answer.document else ()


def _now(given: SimpleNamespace, clock: Clock) -> datetime:
    """When the events are seen, in whole seconds."""
    instant = read_instant(given.at) if given.at else clock.now()
    if instant is None:
        raise Failure(f"--at: {given.at!r} is no instant; write it like 2026-03-02T12:00:00Z.", code=USAGE)
    return instant.replace(microsecond=0)


def _tell(event: Event, settings: Settings, names: Names, now: datetime) -> None:
    vm = names.which(event.resources)
    profile = choose(event, vm, settings.rules, settings.profiles).profile
    quick, slow = foresee(event, vm, profile, now), foresee(event, vm, profile, now, is_slow=True)
    say(_headline(event, now))
    undone = ", ".join(undone_after(profile))
    fields(
        (
            ("whose", f"this VM's, as {vm}" if vm else "not this VM's"),
            ("rules", explain(event, vm, settings.rules, settings.profiles)),
            ("profile", profile.name),
            ("steps", [_line(moment, slow, now) for moment in quick.moments]),
            ("approval", _approval(event, vm, profile, settings, quick, slow)),
            ("later", _later(profile, undone)),
        )
    )


def _headline(event: Event, now: datetime) -> str:
    status = event.status or "it is not said whether it has started"
    parts = [f"{event.type} of {', '.join(event.resources) or 'nothing'}: {status}"]
    if event.not_before is not None:
        left = (event.not_before - now).total_seconds()
        when = f"in {span(left)}" if left >= 0 else f"{span(left)} ago"
        parts.append(f"not before {at(event.not_before, now)} ({when})")
    if event.source:
        parts.append(f"by {event.source}")
    return ", ".join(parts)


def _line(moment: Moment, slow: Forecast, now: datetime) -> str:
    """When a step runs. One that waits for others begins at the latest when their time is up."""
    name = moment.step if moment.step == moment.uses else f"{moment.step} ({moment.uses})"
    occasion = "" if moment.occasion == "prepare" else f", when it is {moment.occasion}"
    if moment.left_out:
        return f"{at(moment.at, now)}  {name} is left out: {moment.left_out}"
    latest = _latest(moment, slow)
    if latest == moment.at:
        return f"{at(moment.at, now)}  {name}{occasion}, for up to {span(moment.seconds)}"
    begins = f"by {at(latest, now)} at the latest" if latest else "if there is time left"
    return f"then       {name}{occasion}, {begins}, for up to {span(moment.seconds)}"


def _latest(moment: Moment, slow: Forecast) -> datetime | None:
    """When the step begins if those before it use all their time; None: then it is left out."""
    found = (each.at for each in slow.moments if each.step == moment.step and not each.left_out)
    return next(found, None)


def _approval(event: Event, vm: str, profile: Profile, settings: Settings, quick: Forecast, slow: Forecast) -> str:
    if settings.is_dry_run:
        return "It is not approved: this is a dry run."
    if not settings.approves:
        return "It is not approved: approves = false."
    return approval_in_words(event, vm, profile, quick, slow)


def _later(profile: Profile, undone: str) -> list[str]:
    lines = [f"Undone when it is over, and no other event needs it: {undone}."] if undone else []
    for occasion in ("started", "finished", "cancelled"):
        names = [step.name for step in profile.steps if step.on == occasion]
        if names:
            lines.append(f"When it is {occasion}: {', '.join(names)}.")
    return lines


def _as_json(event: Event, settings: Settings, names: Names, now: datetime) -> dict[str, Any]:
    vm = names.which(event.resources)
    choice = choose(event, vm, settings.rules, settings.profiles)
    quick, slow = (foresee(event, vm, choice.profile, now, is_slow=each) for each in (False, True))
    return {
        "event": event.id,
        "type": event.type,
        "status": event.status,
        "resources": event.resources,
        "not_before": event.not_before.isoformat() if event.not_before else None,
        "vm": vm,
        "rules": explain(event, vm, settings.rules, settings.profiles),
        "profile": choice.profile.name,
        "why": choice.why,
        "steps": [
            {
                "step": each.step,
                "uses": each.uses,
                "on": each.occasion,
                "group": each.group,
                "at": each.at.isoformat(),
                "latest_at": latest.isoformat() if (latest := _latest(each, slow)) else None,
                "seconds": each.seconds,
                "left_out": each.left_out,
            }
            for each in quick.moments
        ],
        "approval": _approval(event, vm, choice.profile, settings, quick, slow),
        "approved_from": quick.approved_at.isoformat() if quick.approved_at else None,
        "approved_until": slow.approved_at.isoformat() if slow.approved_at else None,
        "undone": list(undone_after(choice.profile)),
    }

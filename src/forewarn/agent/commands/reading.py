"""What the commands share: the settings that were named, and events that were made up."""

from __future__ import annotations

import socket
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

from forewarn.agent.commands.output import USAGE, Failure, complain
from forewarn.agent.commands.parser import overrides_in
from forewarn.agent.config import read_settings
from forewarn.agent.config_values import closest, seconds, split_text
from forewarn.agent.events import KNOWN_TYPES, Event
from forewarn.agent.names import Names
from forewarn.agent.notices import LEAST_NOTICE_SECONDS, USUAL_NOTICE_SECONDS
from forewarn.agent.settings import Settings

INVENTED_ID = "00000000-0000-0000-0000-000000000000"


def settings_of(given: SimpleNamespace, *, is_warning: bool = True) -> Settings:
    """The settings, as the flags, the environment and the file say; what is doubtful goes to stderr."""
    settings = read_settings(Path(given.config) if given.config else None, overrides=overrides_in(given))
    if is_warning:
        for warning in settings.warnings:
            complain(warning, label="warning")
    return settings


def names_of(settings: Settings, vm: str | None = None) -> Names:
    """The names of this VM, without asking the endpoint."""
    if vm:
        return Names((), "", vm)
    return Names(settings.names, socket.gethostname() if settings.uses_hostname else "")


def invent(given: SimpleNamespace, names: Names, now: datetime, kind: str = "Reboot") -> Event:
    """The event that the options describe."""
    kind = _known_type(given.type or kind)
    notice = _number("--notice", given.notice, LEAST_NOTICE_SECONDS.get(kind, USUAL_NOTICE_SECONDS))
    resources = split_text(given.resources) if given.resources else list(names.known[:1])
    return Event(
        id=INVENTED_ID,
        type=kind,
        resources=tuple(resources),
        not_before=(now + timedelta(seconds=notice)).replace(microsecond=0),
        source=given.source or "Platform",
        description=given.description or "",
        duration_seconds=int(_number("--duration", given.duration, -1)),
    )


def _known_type(said: str) -> str:
    """The type as the endpoint writes it. One that is not known is taken: a later version may have it."""
    known = next((each for each in KNOWN_TYPES if each.lower() == said.lower()), "")
    close = "" if known else closest(said, KNOWN_TYPES)
    if close:
        complain(f"--type {said} is no type that is known today.", f"Did you mean {close}?", label="warning")
    return known or said


def _number(flag: str, said: str | None, default: float) -> float:
    if said is None or said == "-1":
        return default
    try:
        return seconds()(said)
    except ValueError as problem:
        raise Failure(f"{flag}: {problem}.", code=USAGE) from None

"""What a test asks for, read before the service is asked: numbers and words that make no sense are refused here.

The bounds are those of REST.
"""

from __future__ import annotations

from datetime import timedelta

from forewarn.core.terms import Kind, Risk
from forewarn.emulator import Refused
from forewarn.wire.choices import did_you_mean, either
from forewarn.wire.rest import MOST_CHARACTERS, MOST_DURATION_SECONDS, MOST_NOTICE_SECONDS

_MAINTAINED = (Kind.FREEZE, Kind.REBOOT, Kind.REDEPLOY)
_WAYS = ("pause", "live_migration")


def as_notice(seconds: object) -> timedelta | None:
    """The notice that is asked for; None: the least."""
    if seconds is None:
        return None
    most = MOST_NOTICE_SECONDS
    if not isinstance(seconds, int | float) or not -most <= seconds <= most:
        raise Refused(f"notice_seconds cannot be {seconds!r}.", f"Give a number of seconds, at most {most}.")
    return timedelta(seconds=seconds)


def as_duration_seconds(seconds: object) -> int | None:
    """How long the VMs are away; None: as usual."""
    if seconds is None or (isinstance(seconds, int) and -1 <= seconds <= MOST_DURATION_SECONDS):
        return seconds
    remedy = f"Give a whole number from 0 to {MOST_DURATION_SECONDS}, or -1: unknown."
    raise Refused(f"duration_seconds cannot be {seconds!r}.", remedy)


def as_description(text: object) -> str | None:
    """What guests read; None: the usual sentence."""
    if text is None or (isinstance(text, str) and text.isprintable() and len(text) <= MOST_CHARACTERS):
        return text
    remedy = f"Write it in one line of at most {MOST_CHARACTERS} characters."
    raise Refused(f"{text!r} cannot be the description of an event.", remedy)


def as_kind(text: str) -> Kind:
    """What is done to a host."""
    if text in _MAINTAINED:
        return Kind(text)
    known = [str(each) for each in _MAINTAINED]
    near = did_you_mean(str(text), known)
    raise Refused(f"A host cannot be maintained with a {text}.", f"{near} It can be {either(known)}.".strip())


def is_by_live_migration(by: str) -> bool:
    """How it is done."""
    if by not in _WAYS:
        raise Refused(f"Work cannot be done by {by!r}.", f"It can be {either(list(_WAYS))}.")
    return by == "live_migration"


def as_risk(text: str | None) -> Risk | None:
    """How soon a host is expected to fail."""
    known = [str(each) for each in Risk]
    if text is not None and text not in known:
        raise Refused(f"{text!r} is no risk.", f"It can be {either(known)}.")
    return None if text is None else Risk(text)

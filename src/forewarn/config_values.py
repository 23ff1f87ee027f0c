"""What a setting may be: text from a flag or the environment, or whatever TOML knows.

Each of these raises ValueError with a sentence.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path

from forewarn.core.terms import Action, Kind
from forewarn.wire.times import parse_instant

_MOST = 1_000_000_000  # in seconds, some thirty years
_MOST_DAYS = 36_500
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

# How long the platform works on a machine, by the medians of Azure's own events. With the default lead of 5 s an
# event is Started for ten minutes, that of a live migration for five.
_AZURE = "azure"
AZURE_SECONDS: Mapping[Action, float] = {
    Action.FREEZE: 595,
    Action.MIGRATE: 295,
    Action.REBOOT: 595,
    Action.REDEPLOY: 595,
    Action.RESTORE: 595,
}
_HOST_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_.])?")

Address = tuple[str, int]


def parse_address(value: object) -> Address:
    """`HOST:PORT`, `[V6]:PORT` or `:PORT`. Raises ValueError."""
    host, colon, port = as_text(value).rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - TCP's own limit
        raise ValueError(f"{value!r} is no address; write it like 127.0.0.1:8254")
    return host.strip("[]") or "127.0.0.1", int(port)


def show_address(address: Address) -> str:
    """An address as `parse_address` reads it."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def as_text(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text; write it in quotes")  # noqa: TRY004 - told like all the others
    return value


def as_uuid(value: object) -> str:
    """A UUID."""
    text = as_text(value)
    if not _UUID.fullmatch(text):
        raise ValueError(f"{text!r} is no UUID; write it like 00000000-0000-4000-8000-000000000001")
    return text


def as_texts(value: object) -> list[str]:
    """The texts of a list, or those between the commas of one."""
    if isinstance(value, str):
        return [text.strip() for text in value.split(",")]
    if isinstance(value, (list, tuple)):
        return [as_text(each).strip() for each in value]
    raise ValueError(f"{value!r} is neither text nor a list of texts")


def as_path(value: object) -> Path:
    """A path."""
    return Path(as_text(value))


def as_host_names(value: object) -> tuple[str, ...]:
    """Host names without ports, one or several."""
    names = tuple(as_texts(value))
    for name in names:
        if not _HOST_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no host name; write it like metadata.internal, without a port")
    return names


def as_addresses(value: object) -> tuple[Address, ...]:
    """Addresses, one or several."""
    return tuple(map(parse_address, as_texts(value)))


def as_instant(value: object) -> datetime:
    """An instant."""
    text = value.isoformat() if isinstance(value, date) else as_text(value)  # TOML has instants of its own
    try:
        return parse_instant(text)
    except (ValueError, OverflowError):  # the latter where there is no such instant in UTC
        raise ValueError(f"{text!r} is no instant; write it like 2026-03-02T12:00:00Z") from None


def one_of(what: str, *known: str) -> Callable[[object], str]:
    """One of the words that are known."""

    def parse(value: object) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is no {what}; it can be {', '.join(known[:-1])} or {known[-1]}")
        return as_text(value)

    return parse


def as_failed_host_kind(value: object) -> Kind:
    """What guests of a failed host are told."""
    if value not in (Kind.REDEPLOY, Kind.REBOOT):
        raise ValueError(f"{value!r} is not told of a failed host; it can be Redeploy or Reboot")
    return Kind(as_text(value))


def as_yes_or_no(value: object) -> bool:
    """Yes or no, in the usual words."""
    if isinstance(value, bool):
        return value
    text = as_text(value).lower()
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"", "0", "false", "no", "off"}:
        return False
    raise ValueError(f"{value!r} is neither true nor false")


def at_least(least: float) -> Callable[[object], float]:
    """A number that is large enough."""

    def parse(value: object) -> float:
        try:
            number = float("" if isinstance(value, bool) else value)  # type: ignore[arg-type] # what else it is, raises
        except (TypeError, ValueError):
            raise ValueError(f"{value!r} is no number") from None
        except OverflowError:
            raise ValueError(f"such a number is too large; it can be {_MOST} at most") from None
        if not number >= least:
            raise ValueError(f"{value} is too small; it can be {least:g} or more")
        if number > _MOST:
            raise ValueError(f"{value} is too large; it can be {_MOST} at most")
        return number

    return parse


def as_count(value: object) -> int:
    """A whole number."""
    number = at_least(0)(value)
    if not number.is_integer():
        raise ValueError(f"{value} is no whole number")
    return int(number)


def as_positive_count(value: object) -> int:
    """A whole number of at least 1."""
    number = as_count(value)
    if number < 1:
        raise ValueError(f"{value} is too small; it can be 1 or more")
    return number


def as_days(value: object) -> int:
    """A number of days."""
    days = as_count(value)
    if days > _MOST_DAYS:
        raise ValueError(f"{value} is too large; it can be {_MOST_DAYS} at most, or 0 for ever")
    return days


def as_simulated_seconds(value: object) -> dict[Action, float]:
    """`reboot=60,redeploy=120`, the same as a list, or a table; `azure` in a list is AZURE_SECONDS."""
    pairs: list[tuple[str, object]] = []
    if isinstance(value, Mapping):
        pairs = list(value.items())
    else:
        for text in as_texts(value):
            action, _, given = text.partition("=")
            pairs += AZURE_SECONDS.items() if text == _AZURE else [(action.strip(), given)]
    known = {action.value for action in Action}
    for name, seconds in pairs:
        if name not in known:
            raise ValueError(
                f"{name!r} is no action; known are {', '.join(sorted(known))}; {_AZURE} sets them as on Azure"
            )
        if seconds == "":
            raise ValueError(f"{name} has no seconds; write it like {name}=60")
    return {Action(name): at_least(0)(seconds) for name, seconds in pairs}


def as_commands(value: object) -> dict[str, tuple[str, ...]]:
    """`name=command and arguments`, the same as a list, or a table."""
    if isinstance(value, Mapping):
        pairs = list(value.items())
    else:
        texts = value if isinstance(value, (list, tuple)) else [value]
        pairs = [(name.strip(), rest) for name, _, rest in (as_text(each).partition("=") for each in texts)]
    commands = {name: _words(rest) for name, rest in pairs}
    for name, command in commands.items():
        if not command:
            raise ValueError(f"{name!r} has no command; write it like {name or 'web'}=/usr/local/bin/check-web")
    return commands


def _words(command: object) -> tuple[str, ...]:
    """A command and its arguments: a list, or a line that is split as a shell would."""
    return tuple(map(as_text, command) if isinstance(command, list) else shlex.split(as_text(command)))

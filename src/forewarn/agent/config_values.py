"""What a key of the file may be: whatever TOML knows in, what the agent works with out.

Each of these raises ValueError with the end of a sentence. What comes from the environment or a flag is text; it
becomes what a file would say before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import time
from pathlib import Path
from typing import Any

from forewarn.agent.compat import StrEnum
from forewarn.agent.endpoints import read_root
from forewarn.agent.settings import DISCOVER

Address = tuple[str, int]

MOST_SECONDS = 1_000_000_000  # some thirty years
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)\s*")
_LARGEST_PORT = 65535
_YES = {"1", "true", "yes", "on"}
_NO = {"", "0", "false", "no", "off"}


def as_text(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError(f"{_shown(value)} is no text; write it in quotes")  # noqa: TRY004 - told like all the others
    return value


def as_full_text(value: object) -> str:
    """A text with something in it."""
    if not as_text(value).strip():
        raise ValueError("it is empty; write something, or leave it out")
    return as_text(value)


def as_texts(value: object) -> tuple[str, ...]:
    """Texts; one may stand alone."""
    if isinstance(value, str):
        return (as_full_text(value),)
    if isinstance(value, (list, tuple)):
        return tuple(as_full_text(each) for each in value)
    raise ValueError(f'{_shown(value)} is no list of texts; write it like ["one", "two"]')


def as_flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{_shown(value)} is neither true nor false")  # noqa: TRY004 - told like all the others
    return value


def as_number(value: object) -> float:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - nan
        raise ValueError(f"{_shown(value)} is no number")
    return value


def whole(least: int, most: int = MOST_SECONDS) -> Callable[[object], int]:
    """A whole number within bounds."""

    def read(value: object) -> int:
        number = as_number(value)
        if not float(number).is_integer():
            raise ValueError(f"{value} is no whole number")
        return int(_bounded(number, least, most))

    return read


def seconds(least: float = 0) -> Callable[[object], float]:
    """Seconds: a number, or a text such as "90s", "5m" or "1h30m"."""

    def read(value: object) -> float:
        return _bounded(
            _spelled_seconds(value) if isinstance(value, str) else as_number(value), least, MOST_SECONDS
        )

    return read


def as_whole_seconds(value: object) -> int:
    """Seconds without a fraction."""
    return whole(0)(seconds()(value))


def one_of(words: Iterable[str]) -> Callable[[object], str]:
    """One of the words that are known."""
    known = list(words)

    def read(value: object) -> str:
        if value not in known:
            close = closest(str(value), known)
            raise ValueError(
                f"{_shown(value)} is not known; it can be {', '.join(known[:-1])} or {known[-1]}"
                + (f". Did you mean {close}?" if close else "")
            )
        return str(value)

    return read


def member_of(kind: type[StrEnum]) -> Callable[[object], StrEnum]:
    """One of an enumeration."""
    read = one_of([str(each) for each in kind])
    return lambda value: kind(read(value))


def as_path(value: object) -> Path:
    """A path."""
    text = as_full_text(value)
    if "\0" in text:
        raise ValueError(f"{_shown(text)} can be no path")
    return Path(text)


def as_address(value: object) -> Address:
    """`HOST:PORT`, `[V6]:PORT`, or `:PORT` on loopback."""
    host, colon, port = as_text(value).rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _LARGEST_PORT:
        raise ValueError(f"{_shown(value)} is no address; write it like 127.0.0.1:8256")
    return host.strip("[]") or "127.0.0.1", int(port)


def show_address(address: Address) -> str:
    """An address as `as_address` reads it."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def as_listen(value: object) -> Address | None:
    """An address, or false for none."""
    if value is False:
        return None
    if value is True:
        raise ValueError("true says not where; write an address such as 127.0.0.1:8256, or false")
    return as_address(value)


def as_endpoints(value: object) -> tuple[str, ...]:
    """Roots of the endpoint, in the order in which they are asked; `discover` finds them."""
    return tuple(_as_endpoint(each) for each in as_texts(value)) or _nothing("an endpoint")


def as_time(value: object) -> time:
    """A time of day."""
    if isinstance(value, time):
        return value.replace(tzinfo=None)
    try:
        return time.fromisoformat(as_text(value)).replace(tzinfo=None)
    except ValueError:
        raise ValueError(f'{_shown(value)} is no time of day; write it like "22:00"') from None


def as_times(value: object) -> tuple[time, time]:
    """Two times of day; the second may be earlier, and then midnight lies between."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:  # noqa: PLR2004 - from and to
        raise ValueError(f'{_shown(value)} is no pair of times; write it like ["22:00", "06:00"]')
    first, last = as_time(value[0]), as_time(value[1])
    if first == last:
        raise ValueError(
            "both times are the same, so that nothing lies between them; leave the key out for any time"
        )
    return first, last


def as_expression(value: object) -> str:
    """A regular expression."""
    try:
        re.compile(as_full_text(value))
    except re.error as problem:
        raise ValueError(f"{_shown(value)} is no regular expression: {problem}") from None
    return as_text(value)


def as_table(value: object) -> Mapping[str, Any]:
    """A table."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{_shown(value)} is no table")  # noqa: TRY004 - told like all the others
    return value


def from_text(value: str) -> str | bool:
    """What a file would say where the environment or a flag says a word for yes or no."""
    return {**dict.fromkeys(_YES, True), **dict.fromkeys(_NO, False)}.get(value.strip().lower(), value)


def split_text(value: str) -> list[str]:
    """The texts between the commas."""
    return [each.strip() for each in value.split(",") if each.strip()]


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant; empty where none is near."""
    import difflib  # noqa: PLC0415 - only where something is wrong

    by_lower = {each.lower(): each for each in known}
    beginning = [each for each in by_lower if word and each.startswith(word.lower())]
    found = difflib.get_close_matches(word.lower(), by_lower, n=1) or beginning
    return by_lower[found[0]] if found else ""


def _as_endpoint(text: str) -> str:
    return text.strip() if text.strip() == DISCOVER else read_root(text).text


def _spelled_seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    parts = _SPAN.findall(text)
    if not parts or _SPAN.sub("", text).strip():
        raise ValueError(f'{text!r} is no length of time; write it like 90, "90s", "5m" or "1h30m"')
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _bounded(number: float, least: float, most: float) -> float:
    if not number >= least:
        raise ValueError(f"{number:g} is too small; it can be {least:g} or more")
    if number > most:
        raise ValueError(f"{number:g} is too large; it can be {most:g} at most")
    return number


def _nothing(what: str) -> tuple[str, ...]:
    raise ValueError(f"the list is empty; name {what}, or leave the key out")


def _shown(value: object) -> str:
    """A value as the file would write it, cut where it is long."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"  # noqa: PLR2004 - a line has room for more than the value

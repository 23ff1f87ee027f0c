"""What the terminal shows: a sentence for people, JSON for programs. Results to stdout, the rest to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

from forewarn.agent.streams import lose

FAILED, USAGE, UNREACHABLE = 1, 2, 3
_RED, _CYAN = "31", "36"
_DAY, _HOUR, _MINUTE = 86400, 3600, 60


class Failure(Exception):
    """What was asked cannot be done: a sentence, what to do, and the exit code."""

    def __init__(self, message: str, hint: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code


def say(text: str = "") -> None:
    """A line of the result."""
    write(f"{printable(text)}\n")


def show_json(value: object) -> None:
    """A result for programs."""
    write(f"{json.dumps(value, indent=2, ensure_ascii=False)}\n")


def write(text: str) -> None:
    """Write a part of the result to stdout."""
    with _lost_on_failure():
        sys.stdout.write(text)


def write_error(text: str) -> None:
    """Write to stderr. If stderr takes no more, drop the text: the exit code must not change."""
    try:
        sys.stderr.write(text)
    except OSError:
        lose(sys.stderr)


def complain(message: str, hint: str = "", label: str = "error") -> None:
    """Write an error to stderr."""
    write_error(f"{_painted(f'{label}:', _RED)} {printable(message)}\n")
    if hint:
        write_error(f"{_painted('hint:', _CYAN)}  {printable(hint)}\n")


def _painted(text: str, colour: str) -> str:
    """The text in colour where stderr is a terminal that may have some."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty()
    return text if is_plain else f"\x1b[{colour}m\x1b[1m{text}\x1b[0m"


def finish(code: int) -> int:
    """Write what is still to be written. The exit code, which says so if a result went nowhere."""
    try:
        with _lost_on_failure():
            sys.stdout.flush()
    except BrokenPipeError:  # a reader that has seen enough is no failure
        lose(sys.stdout)
    except Failure as failure:
        complain(failure.message)
        code = code or failure.code
    try:
        sys.stderr.flush()
    except OSError:
        lose(sys.stderr)
    return code


@contextmanager
def _lost_on_failure() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        lose(sys.stdout)
        raise Failure(f"The result cannot be written: {problem.strerror or problem}.") from None


def fields(pairs: Iterable[tuple[str, str | list[str]]]) -> None:
    """One thing for people, a line a field; those without a value are left out."""
    shown = [(name, [value] if isinstance(value, str) else value) for name, value in pairs if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, lines in shown:
        for index, line in enumerate(lines):
            say(f"  {name if index == 0 else '':<{width}}  {line}")


def printable(text: str) -> str:
    """A text that does nothing to a terminal but stand there."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def span(seconds: float) -> str:
    """A length of time for people, in its two largest units."""
    left = round(abs(seconds))
    parts = []
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def at(instant: datetime, now: datetime) -> str:
    """An instant for people: the time of day, and the date when it is another day."""
    return f"{instant:%H:%M:%SZ}" if instant.date() == now.date() else f"{instant:%Y-%m-%d %H:%M:%SZ}"

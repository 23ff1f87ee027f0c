"""What the terminal shows: a sentence for people, JSON for programs. Results to stdout, the rest to stderr."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec, TextIO

import click

from forewarn.core.notice import in_words

P = ParamSpec("P")
_LEAST_WIDTH = 8  # of a column whose cells are cut
_COLOUR_OF = {  # by the words of the columns below, in small letters
    "running": "green", "up": "green", "on": "green", "completed": "green", "done": "green",
    "started": "cyan", "open": "cyan",
    "scheduled": "yellow", "paused": "yellow", "postponed": "yellow", "degraded": "yellow", "stopped": "yellow",
    "deallocated": "yellow", "skipped": "yellow", "cancelled": "yellow",
    "failed": "red", "down": "red", "aborted": "red",
}  # fmt: skip
_COLOURED = {"state", "phase", "condition", "outcome", "is"}
_LIST_OF_NAMES = re.compile(r"([\w.-]+)((?:, [\w.-]+){2,})")


def show_json(value: object, *, on_one_line: bool = False) -> None:
    """A value for programs; on one line where more of them follow."""
    click.echo(json.dumps(value, indent=None if on_one_line else 2, ensure_ascii=False))


def painted(text: str, **style: Any) -> str:  # noqa: ANN401 - as click has it
    """The text in colour, unless NO_COLOR is set; click takes the colour out where the output is no terminal."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if is_plain else click.style(text, **style)


def leave_the_reader(stream: TextIO | None = None) -> None:
    """A reader that has seen enough gets no more: what is still unwritten goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, (stream or sys.stdout).fileno())
    os.close(nowhere)


class Reader:
    """Whoever reads a stream of a command that is to go on when they leave."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._has_left = False
        self.problem: OSError | None = None  # why they could not read on, where they did not just leave

    def tell(self, write: Callable[[], object]) -> None:
        """Let it be written, if anybody is still there."""
        if self._has_left:
            return
        try:
            write()
        except OSError as problem:
            self._has_left = True
            self.problem = None if isinstance(problem, BrokenPipeError) else problem
            leave_the_reader(self._stream)

    def write(self, text: str) -> int:
        """As that of a file."""
        self.tell(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """The same."""
        self.tell(self._stream.flush)


def printable(text: str) -> str:
    """A text that does nothing to a terminal but stand there."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], nothing: str) -> None:
    """Rows for people; on a narrow terminal the widest columns give way, then every row becomes a block."""
    if not rows:
        click.echo(nothing)
        return
    texts = [["" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    widths = [max(len(each) for each in column) for column in zip(columns, *texts, strict=True)]
    excess = sum(widths) + 2 * (len(widths) - 1) - _terminal_width()
    for index in sorted(range(len(widths)), key=lambda column: -widths[column]):
        least = max(len(columns[index]), min(_LEAST_WIDTH, widths[index]))
        given = max(0, min(excess, widths[index] - least))
        widths[index] -= given
        excess -= given
    if excess > 0:
        _blocks(columns, texts)
        return
    header = [fit(name.upper(), width).ljust(width) for name, width in zip(columns, widths, strict=True)]
    click.echo(painted("  ".join(header).rstrip(), bold=True))
    for row in texts:
        cells = [fit(cell, width).ljust(width) for cell, width in zip(row, widths, strict=True)]
        last = max((index for index, cell in enumerate(row) if cell), default=-1)
        cells = [cell if index < last else cell.rstrip() for index, cell in enumerate(cells[: last + 1])]
        click.echo("  ".join(_in_colour(name, cell) for name, cell in zip(columns, cells, strict=False)))


def _in_colour(column: str, cell: str) -> str:
    word = cell.rstrip()
    colour = _COLOUR_OF.get(word.lower()) if column in _COLOURED else None
    return cell if colour is None else painted(word, fg=colour) + cell[len(word) :]


def _blocks(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for index, row in enumerate(rows):
        if index:
            click.echo()
        fields(list(zip(columns, row, strict=True)))


def fit(text: str, width: int) -> str:
    """A text that has so much room; what is cut off leaves a mark."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000


def fields(pairs: Sequence[tuple[str, object]]) -> None:
    """One object for people, a line a field, wrapped where need be; those without a value are left out."""
    shown = [(name, value) for name, value in pairs if value not in (None, "", [])]
    width = max((len(name) for name, _ in shown), default=0)
    room = max(_LEAST_WIDTH, _terminal_width() - width - 4)
    for name, value in shown:
        texts = (printable(str(each)) for each in (value if isinstance(value, list) else [value]))
        for index, line in enumerate(line for text in texts for line in _wrapped(text, room)):
            click.echo(f"  {name if index == 0 else '':<{width}}  {line}")


def _wrapped(text: str, room: int) -> list[str]:
    if len(text) <= room:
        return [text]
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)  # names stay whole


def clock(text: str | None, now: str | None = None) -> str:
    """An instant for people: the time of day, and the date when it is not the same day as `now`."""
    if text is None:
        return ""
    at = parse(text)
    today = parse(now).date() if now else at.date()
    return f"{at:%H:%M:%SZ}" if at.date() == today else f"{at:%Y-%m-%d %H:%M:%SZ}"


def parse(text: str) -> datetime:
    """The instant in an answer of the service."""
    return datetime.fromisoformat(text)


def between(first: str, last: str) -> str:
    """A length of time for people, in whole seconds.

    A NotBefore is rounded up to the next second, so the rest of a second is no part of what was promised.
    """
    return in_words(timedelta(seconds=(parse(last) - parse(first)) // timedelta(seconds=1)))


def span(first: str, last: str) -> str:
    """A long time for people, in its two largest units: `3 days 4 h`."""
    left = round((parse(last) - parse(first)).total_seconds())
    parts = []
    for size, unit in ((86400, "day"), (3600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            parts.append(counted(count, unit) if unit == "day" else f"{count} {unit}")
    return " ".join(parts[:2]) or "no time"


def instant(at: datetime) -> str:
    """An instant for people, to the second."""
    return f"{at:%Y-%m-%d %H:%M:%SZ}"


def short(event: str | None) -> str:
    """The beginning of an id."""
    return event[:8].lower() if event else ""


def natural(text: str) -> tuple[list[str | int], str]:
    """A key to sort names by as people count: api-2 before api-10."""
    parts = re.split(r"([0-9]+)", text)
    return [int(part) if index % 2 else part.lower() for index, part in enumerate(parts)], text


def in_order(values: Sequence[str], most: int = 8) -> str:
    """Some names in natural order, and how many more there are."""
    return names(sorted(values, key=natural), most)


def shortened(wait: str) -> str:
    """A reason for waiting that fits a table: `web-0 and 9 more` for a long list of names."""
    return _LIST_OF_NAMES.sub(lambda found: f"{found[1]} and {found[2].count(', ')} more", wait)


def names(values: Sequence[str], most: int = 8) -> str:
    """Some names, and how many more there are."""
    shown = " ".join(values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def counted(number: int, what: str) -> str:
    """`1 host`, `2 hosts`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def dropped_if_stderr_fails(tell: Callable[P, None]) -> Callable[P, None]:
    """Let a function that writes to stderr fail silently: a full disk there must not change the exit code."""

    @wraps(tell)
    def guarded(*given: P.args, **more: P.kwargs) -> None:
        Reader(sys.stderr).tell(lambda: tell(*given, **more))

    return guarded


@dropped_if_stderr_fails
def complain(message: str, hint: str = "") -> None:
    """What went wrong, to stderr."""
    lines = [printable(line) for line in message.splitlines()] or [""]
    click.echo(f"{painted('error:', fg='red', bold=True)} {lines[0]}", err=True)
    for line in lines[1:]:
        click.echo(f"       {line}", err=True)
    if hint:
        suggest_next(hint)


def suggest_next(hint: str) -> None:
    """Print a hint to stderr."""
    click.echo(f"{painted('hint:', fg='cyan', bold=True)}  {printable(hint)}", err=True)

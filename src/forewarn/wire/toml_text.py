"""TOML texts: their tables, or the line that is in the way and what to do about it.

Whatever is read here can be shown, compared and converted: nothing in it is nested too deep for that.
"""

from __future__ import annotations

import tomllib
from typing import Any

from forewarn.wire.toml_lines import deepest_line, syntax_problem

MOST_LEVELS = 64  # no file of ours has more than five


class BadToml(Exception):
    """A text that is no TOML, or none that anybody could use."""

    def __init__(self, line: int, what: str, remedy: str) -> None:
        super().__init__(f"{what} {remedy}")
        self.line = line
        self.what = what
        self.remedy = remedy


def read_toml_text(text: str) -> dict[str, Any]:
    """The tables of a text, or `BadToml`."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        line, what = syntax_problem(text, problem)
        raise BadToml(line, f"{what}.", "Mend the TOML syntax.") from None
    except RecursionError:
        raise _too_deep(text) from None
    if _levels(tables) > MOST_LEVELS:
        raise _too_deep(text)
    return tables


def _too_deep(text: str) -> BadToml:
    what = f"It is nested too deep: lists and tables go {MOST_LEVELS} levels down at most."
    return BadToml(deepest_line(text), what, "Write it flatter.")


def _levels(value: object) -> int:
    """How many lists and tables lie in each other, up to one more than there may be."""
    level, inner = 0, [value]
    while inner and level <= MOST_LEVELS:
        inner = [each for outer in inner for each in _parts(outer)]
        level += 1
    return level


def _parts(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []

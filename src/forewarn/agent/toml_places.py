"""Which line of a TOML text a value stands on.

`tomllib` reads values and forgets lines; this reads lines and forgets values. It follows texts that `tomllib` has
read, so it need not judge them; where it is lost all the same, it stops, and what it has found stands.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import field
from typing import Any, Union

from forewarn.agent import toml_reader
from forewarn.agent.compat import dataclass

Path = tuple[Union[str, int], ...]  # ("profiles", "drain", "steps", 2, "timeout_seconds")

_AT = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")
_GAP = re.compile(r"(?:\s|#[^\n]*)*")
_BLANKS = re.compile(r"[ \t]*")
_KEY = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\[\s\S]|[^\\])*?"{3,5}'  # it may escape quotes, and end in quotes of its own
    r"|'''[\s\S]*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
)
_PLAIN = re.compile(r"[^,\]}#\n]+")
_MOST_LEVELS = 64
_HEADER_END = re.compile(r"\]{1,2}")


@dataclass(slots=True)
class Places:
    """Lines by the path of a value."""

    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """The line of the value, else of the nearest table around it; 0 where there is none."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0


class _Lost(Exception):
    """The text is not what it should be."""


def find_places(text: str) -> Places:
    """The lines of all tables, keys and elements."""
    walk = _Walk(text)
    with suppress(_Lost, RecursionError):
        walk.document()
    return walk.places


def is_too_deep(value: object) -> bool:
    """Whether lists and tables lie in each other so deep that it could not be shown."""
    inner = [value]
    for _ in range(_MOST_LEVELS):
        inner = [each for outer in inner for each in _parts(outer)]
    return bool(inner)


def _parts(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def syntax_problem(text: str, problem: toml_reader.TOMLDecodeError) -> tuple[int, str]:
    """The line of what `tomllib` could not read, and what it says about it."""
    place = _AT.search(str(problem))
    line = int(place[1]) if place and place[1] else text.rstrip().count("\n") + 1
    return line, _AT.sub("", str(problem))


class _Walk:
    """One way through a text, from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places = Places()
        self._at = 0
        self._line = 1
        self._counted_to = 0
        self._last_of: dict[Path, int] = {}  # arrays of tables, and how far they have got

    def document(self) -> None:
        """Everything: headers, and the statements below them."""
        base: Path = ()
        self._skip(_GAP)
        while self._at < len(self.text):
            if self._takes("[["):
                base = self._header(is_element=True)
            elif self._takes("["):
                base = self._header(is_element=False)
            else:
                self._statement(base)
            self._skip(_GAP)

    def _header(self, *, is_element: bool) -> Path:
        line, keys = self._current_line(), self._keys()
        path: Path = ()
        for key in keys[:-1]:
            path = self._into((*path, key))
            self._note(path, line)
        path += (keys[-1],)
        self._note(path, line)
        if is_element:
            self._last_of[path] = self._last_of.get(path, -1) + 1
        path = self._into(path)
        # A table may have been named by one of its parts before; its own header says better where it is.
        self.places.lines[path] = line
        self._skip(_HEADER_END)
        return path

    def _into(self, path: Path) -> Path:
        """The path, or the last element so far where it is an array of tables."""
        return (*path, self._last_of[path]) if path in self._last_of else path

    def _statement(self, base: Path) -> None:
        line, keys = self._current_line(), self._keys()
        path = base
        for key in keys:
            path += (key,)
            self._note(path, line)
        if not self._takes("="):
            raise _Lost
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip(_BLANKS)
        if self._takes("["):
            self._array(path)
        elif self._takes("{"):
            self._inline_table(path)
        elif not (self._skip(_STRING) or self._skip(_PLAIN)):
            raise _Lost

    def _array(self, path: Path) -> None:
        index = 0
        self._skip(_GAP)
        while not self._takes("]"):
            self._note((*path, index), self._current_line())
            self._value((*path, index))
            index += 1
            self._skip(_GAP)
            self._takes(",")
            self._skip(_GAP)

    def _inline_table(self, path: Path) -> None:
        self._skip(_GAP)
        while not self._takes("}"):
            self._statement(path)
            self._skip(_GAP)
            self._takes(",")
            self._skip(_GAP)

    def _keys(self) -> list[str]:
        """A key with its dots, in parts."""
        keys: list[str] = []
        while not keys or self._takes("."):
            self._skip(_BLANKS)
            found = _KEY.match(self.text, self._at)
            if not found:
                raise _Lost
            keys.append(_bare(found[0]))
            self._at = found.end()
            self._skip(_BLANKS)
        return keys

    def _note(self, path: Path, line: int) -> None:
        self.places.lines.setdefault(path, line)

    def _takes(self, sign: str) -> bool:
        is_there = self.text.startswith(sign, self._at)
        self._at += len(sign) if is_there else 0
        return is_there

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self.text, self._at)
        self._at = found.end() if found else self._at
        return bool(found)

    def _current_line(self) -> int:
        self._line += self.text.count("\n", self._counted_to, self._at)
        self._counted_to = self._at
        return self._line


def _bare(key: str) -> str:
    """A key without its quotes."""
    if key.startswith("'"):
        return key[1:-1]
    if key.startswith('"'):
        return str(toml_reader.loads(f"key = {key}")["key"])
    return key

"""Which line of a TOML text a value stands on.

`tomllib` reads values and forgets lines; this reads lines and forgets values. It follows table headers and keys,
and steps over strings and brackets that span lines. What it does not find is on the line of its table.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|[A-Za-z0-9_-]+)[^=#\n]*=")
_STRING_OR_COMMENT = re.compile(
    r'"""(?:\\[\s\S]|[^\\])*?"{3,5}'  # a string may escape quotes, and end in quotes of its own
    r"|'''[\s\S]*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
)
_STRING_OR_BRACKET = re.compile(rf"{_STRING_OR_COMMENT.pattern}|[\[\]{{}}]")
_AT = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")


@dataclass(slots=True)
class TomlLines:
    """Lines by section, position in the section, and key."""

    lines: dict[tuple[str, int, str], int] = field(default_factory=dict)

    def line(self, section: str, index: int, key: str = "") -> int:
        """The line of the key, else of its table, else of the section's beginning; 0 where there is none."""
        for place in ((section, index, key), (section, index, ""), (section, 0, "")):
            if place in self.lines:
                return self.lines[place]
        return 0


def syntax_problem(text: str, problem: tomllib.TOMLDecodeError) -> tuple[int, str]:
    """The line of what `tomllib` could not read, and what it says about it."""
    place = _AT.search(str(problem))
    line = int(place[1]) if place and place[1] else text.rstrip().count("\n") + 1
    return line, _AT.sub("", str(problem))


def deepest_line(text: str) -> int:
    """The line of the statement with the most brackets and dots: where a text is nested deepest."""
    deepest, most, position, number = 1, 0, 0, 1
    while position < len(text):
        end = _end_of_statement(text, position)
        statement = text[position:end]
        if (depth := len(re.findall(r"[\[{.]", _STRING_OR_COMMENT.sub("", statement)))) > most:
            deepest, most = number, depth
        number += statement.count("\n")
        position = end
    return deepest


def find_lines(text: str) -> TomlLines:
    """The lines of all tables and keys."""
    found = TomlLines()
    counts: dict[str, int] = {}
    section, index = "", 0
    position, number = 0, 1
    while position < len(text):
        end = _end_of_statement(text, position)
        statement = text[position:end]
        if header := _HEADER.match(statement):
            section = header[1].strip().strip("\"'")
            index = counts.get(section, -1) + 1
            counts[section] = index
            found.lines.setdefault((section, index, ""), number)
            _note_parent(found, counts, section, number)
        elif key := _KEY.match(statement):
            name = key[1].strip("\"'")
            found.lines.setdefault((section, index, name), number)
            if not section:
                found.lines.setdefault((name, 0, ""), number)
        number += statement.count("\n")
        position = end
    return found


def _note_parent(found: TomlLines, counts: dict[str, int], header: str, number: int) -> None:
    """`[vms.tags]` is the key `tags` of the last of the `[[vms]]` so far."""
    parent, dot, rest = header.partition(".")
    if dot:
        parent, key = parent.strip(" \"'"), rest.partition(".")[0].strip(" \"'")
        for place in ((parent, counts.get(parent, 0), ""), (parent, counts.get(parent, 0), key)):
            found.lines.setdefault(place, number)


def _end_of_statement(text: str, position: int) -> int:
    """Where the line that begins here ends, strings and brackets that go on included."""
    depth = 0
    while True:
        line_end = text.find("\n", position)
        line_end = len(text) if line_end < 0 else line_end + 1
        match = _STRING_OR_BRACKET.search(text, position, len(text))
        while match and match.start() < line_end:
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
            position = match.end()
            if position > line_end:
                line_end = text.find("\n", position)
                line_end = len(text) if line_end < 0 else line_end + 1
            match = _STRING_OR_BRACKET.search(text, position)
        if depth <= 0 or line_end >= len(text):
            return line_end
        position = line_end

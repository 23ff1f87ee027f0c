from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent import toml_reader
from forewarn.agent.toml_places import find_places, syntax_problem
from tests.waiting import ROOT

TEXT = '''\
# a comment with [brackets] and = signs
endpoint = [
  "http://one",   # the first
  "http://two",
]
words = """
[not.a.table]
key = "not a key"
"""

[[rules]]
types = ["Freeze"]

[[rules]]
profile = "drain"
"between" = ['22:00', "06:00"]

[profiles."night shift"]
lead_seconds = 3
[[profiles."night shift".steps]]
uses = "command"
[[profiles."night shift".steps]]
uses = "http"
secrets = { one = "a", two = { file = "b" } }
[profiles."night shift".steps.headers]
accept = "all"

[peers]
members.web-1 = "10.0.0.5:8257"
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("endpoint",), 2),
        (("endpoint", 1), 4),
        (("words",), 6),
        (("rules", 0), 11),
        (("rules", 0, "types", 0), 12),
        (("rules", 1, "between", 1), 16),
        (("profiles", "night shift"), 18),
        (("profiles", "night shift", "steps", 0, "uses"), 21),
        (("profiles", "night shift", "steps", 1, "secrets", "two", "file"), 24),
        (("profiles", "night shift", "steps", 1, "headers", "accept"), 26),
        (("peers", "members", "web-1"), 29),
        (("rules", 1, "absent"), 14),
        (("absent",), 0),
    ],
    ids=lambda value: "/".join(map(str, value)) if isinstance(value, tuple) else str(value),
)
def test_a_value_is_found_on_its_line_and_what_is_not_there_on_that_of_its_table(path: tuple[Any, ...], line: int):
    assert find_places(TEXT).line(path) == line


def test_every_value_of_a_file_has_a_line_that_names_its_key():
    for text in (
        TEXT,
        *(file.read_text(encoding="utf-8") for file in sorted(Path(ROOT, "examples").glob("*.toml"))),
    ):
        places, lines = find_places(text), text.splitlines()

        for path in leaves(toml_reader.loads(text)):
            key = next(part for part in reversed(path) if isinstance(part, str))
            assert path in places.lines, path
            if isinstance(path[-1], str):
                assert key in lines[places.line(path) - 1], path


@pytest.mark.parametrize(
    "text", ["key", "[", "a = [1, ", "a = {", "= 3", "a.", '"unclosed', "[[a]", "a = " + "[" * 9999]
)
def test_a_text_that_is_no_toml_ends_the_search_and_nothing_else(text: str):
    assert find_places(text).line(("absent",)) == 0


def test_a_mistake_in_the_syntax_has_its_line():
    text = "a = 1\nb = \n"

    with pytest.raises(toml_reader.TOMLDecodeError) as caught:
        toml_reader.loads(text)

    assert syntax_problem(text, caught.value) == (2, "Invalid value")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from leaves(child, (*path, key))
    if path:
        yield path

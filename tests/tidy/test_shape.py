"""Files and functions that fit a head, and names that say something."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath

from tests.tidy.rules import PYTHON, SOURCE, assert_kept, functions, nodes

MOST_LINES = 500
MOST_LINES_OF_A_FUNCTION = 60
LONG_FUNCTIONS = {
    ("src/forewarn/store/migrations/versions/0001_first.py", "upgrade"): "a migration is a record, not a program",
}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_EMPTY_WORDS = {"manager", "managers", "helper", "helpers", "util", "utils", "utility", "utilities"}


def long_files(path: str, text: str) -> Iterator[str]:
    lines = len(text.splitlines())
    if lines > MOST_LINES:
        yield f"{path}: {lines} lines, {MOST_LINES} at most. Look for the seam and make two files of it."


def long_functions(path: str, text: str) -> Iterator[str]:
    for function in functions(text):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > MOST_LINES_OF_A_FUNCTION and (path, function.name) not in LONG_FUNCTIONS:
            yield (
                f"{path}:{function.lineno}: {function.name} has {lines} lines, not {MOST_LINES_OF_A_FUNCTION} at "
                "most. Decide at the top, and put what is computed into functions of its own."
            )


def silent_modules(path: str, text: str) -> Iterator[str]:
    if not ast.get_docstring(nodes(text)[0]):
        yield f"{path}:1: no docstring. Say what lives here, and the one rule of the file."


def empty_names(path: str, text: str) -> Iterator[str]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    names = [(node.lineno, node.name) for node in nodes(text) if isinstance(node, kinds)]
    for line, name in [(1, part.partition(".")[0]) for part in PurePath(path).parts] + names:
        if _EMPTY_WORDS & {word.lower() for word in _WORDS.findall(name)}:
            yield f"{path}:{line}: {name} says nothing. Name it after what it does or holds."


def test_no_file_is_longer_than_500_lines():
    assert_kept(long_files, PYTHON, planted=["pass\n" * 501], fine=["pass\n" * 500])


def test_no_function_is_longer_than_60_lines():
    body = "def plan():\n" + "    pass\n" * 59

    assert_kept(
        long_functions,
        PYTHON,
        planted=[f"{body}    pass\n", f"async {body}    pass\n"],
        fine=[body],
    )


def test_every_function_that_may_be_long_is_still_long():
    still = {
        (path, function.name)
        for path, text in PYTHON.items()
        for function in functions(text)
        if (function.end_lineno or 0) - function.lineno >= MOST_LINES_OF_A_FUNCTION
    }

    assert set(LONG_FUNCTIONS) - still == set(), "take these out of LONG_FUNCTIONS"


def test_every_module_says_what_it_is():
    assert_kept(silent_modules, SOURCE, planted=["import os\n", ""], fine=['"""What lives here."""\n'])


def test_the_name_of_a_module_class_or_function_says_what_it_does_or_holds():
    assert_kept(
        empty_names,
        PYTHON,
        planted=["class EventManager: ...\n", "def time_utils(): ...\n", "async def HTTPHelper(): ...\n"],
        fine=["from contextlib import contextmanager\n", "def utilise(): ...\n"],
    )
    assert list(empty_names("tests/helpers.py", "")), "a module's own name is not seen"

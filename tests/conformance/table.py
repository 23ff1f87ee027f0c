"""The conformance table: every statement of the contract, the tests that show it, and whether it holds.

    .venv/bin/python -m tests.conformance.table           runs those tests and writes docs/reference/conformance.md
    .venv/bin/python -m tests.conformance.table --check   runs nothing; fails if the page and the tests differ

Which test shows what is said by its markers, `conformance(N)` and `client(N)`, as pytest itself collects them.
Nothing of the product is imported here: pytest rewrites only what it loads itself.
"""

from __future__ import annotations

import argparse
import difflib
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
STATEMENTS = Path(__file__).parent / "statements.txt"
PAGE = ROOT / "docs" / "reference" / "conformance.md"
KINDS = ("conformance", "client")
IN_WORDS = {True: "holds", False: "**does not hold**"}

_STATEMENT = re.compile(r"(client )?(\d+)\. (.+)")
_COMMAND = ".venv/bin/python -m tests.conformance.table"

Key = tuple[str, int]


@dataclass(frozen=True)
class Statement:
    """One numbered statement."""

    section: str
    key: Key
    text: str


@dataclass(eq=False)  # pytest keeps its plugins in sets
class Census:
    """A pytest plugin that writes down which tests carry a number, and how they ended."""

    shown_by: dict[Key, list[pytest.Item]] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for kind in KINDS:
                for marker in item.iter_markers(kind):
                    self.shown_by.setdefault((kind, *marker.args), []).append(item)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)
        elif report.when == "call":
            self.passed.add(report.nodeid)

    def tests(self, key: Key) -> list[str]:
        """Links to the tests that show a statement, each once, in the order of collection."""
        items = self.shown_by.get(key, [])
        return list(dict.fromkeys(f"[{_name(item)}]({os.path.relpath(item.path, PAGE.parent)})" for item in items))

    def holds(self, key: Key) -> bool:
        """Whether there are tests of a statement, and all of them passed."""
        items = self.shown_by.get(key, [])
        return bool(items) and all(item.nodeid in self.passed - self.failed for item in items)


def _name(item: pytest.Item) -> str:
    """The test's name without its parameters."""
    return getattr(item, "originalname", None) or item.name


def read_statements(text: str) -> Iterator[Statement]:
    """The statements, with the heading that each stands under."""
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif match := _STATEMENT.fullmatch(line):
            kind = "client" if match[1] else "conformance"
            yield Statement(section, (kind, int(match[2])), match[3])


def _marked_files() -> list[Path]:
    """The files that mention one of the markers: to collect all the others takes seconds."""
    marked = re.compile(rf"\bmark\.({'|'.join(KINDS)})\b")
    return [file for file in sorted((ROOT / "tests").rglob("test_*.py")) if marked.search(file.read_text("utf-8"))]


def take_census(*, runs: bool) -> Census:
    """Collect the tests that carry a number, and run them where that is wanted."""
    census, output = Census(), io.StringIO()
    arguments = [*map(str, _marked_files()), "-m", " or ".join(KINDS), "-p", "no:cacheprovider", "-p", "no:xdist"]
    with redirect_stdout(sys.stdout if runs else output):
        status = pytest.main(arguments if runs else [*arguments, "--collect-only"], plugins=[census])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.exit(f"{output.getvalue()}error: pytest ended with {status!r}; the table was not made")
    return census


def find_gaps(statements: Iterable[Statement], census: Census) -> list[str]:
    """Statements without a test, and tests of statements that do not exist."""
    known = [statement.key for statement in statements]
    missing = [key for key in known if key not in census.shown_by]
    unknown = [key for key in census.shown_by if key not in known]
    return [f"no test shows {kind} {number}" for kind, number in missing] + [
        f"there is no {kind} {number}, which {', '.join(census.tests((kind, number)))} would show"
        for kind, number in unknown
    ]


def row_of(statement: Statement, census: Census) -> str:
    """A statement's row, but for its last cell."""
    number = statement.key[1]
    text = statement.text.replace("|", r"\|")
    return f"| {number} | {text} | {'<br>'.join(census.tests(statement.key))} |"


def write_page(statements: list[Statement], census: Census) -> str:
    """The page, as Markdown."""
    outcomes = {statement.key: census.holds(statement.key) for statement in statements}
    counts = ", ".join(
        f"{sum(outcomes[key] for key in outcomes if key[0] == kind)} of "
        f"{sum(key[0] == kind for key in outcomes)} {what}"
        for kind, what in (("conformance", "statements"), ("client", "points of what real clients do"))
    )
    parts = [
        "# Conformance",
        "What the metadata endpoint and the ARM surface promise, and the tests that show it over a socket.",
        "(r) marks our own decisions where the real service is silent.",
        f"Hold: {counts}.",
        f"Written by `{_COMMAND}`, which runs the tests.",
    ]
    for section, group in groupby(statements, key=lambda statement: statement.section):
        rows = [f"{row_of(each, census)} {IN_WORDS[outcomes[each.key]]} |" for each in group]
        head = ["| | statement | shown by | |", "|--:|---|---|---|"]
        parts.append("\n".join([f"## {section}\n", *head, *rows]))
    return "\n\n".join(parts) + "\n"


def differences(page: str, statements: Iterable[Statement], census: Census) -> list[str]:
    """How the page's rows differ from what was collected, whatever their last cells say."""
    rows = [
        line.rpartition("|")[0].rpartition("|")[0] + "|" for line in page.splitlines() if line.startswith("| ")
    ]
    there = [row for row in rows if row.split("|")[1].strip()]
    expected = [row_of(statement, census) for statement in statements]
    return [line for line in difflib.ndiff(there, expected) if line[0] in "+-"]


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(prog=_COMMAND, description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="run no test; compare the page with the tests")
    is_check = parser.parse_args().check
    statements = list(read_statements(STATEMENTS.read_text(encoding="utf-8")))
    census = take_census(runs=not is_check)
    problems = find_gaps(statements, census)
    if is_check:
        page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        problems += differences(page, statements, census)
    else:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(write_page(statements, census), encoding="utf-8")
        problems += [
            f"{' '.join(map(str, each.key))} does not hold" for each in statements if not census.holds(each.key)
        ]
    if problems:
        hint = f"hint: {_COMMAND} writes it anew" if is_check else f"see {PAGE.relative_to(ROOT)}"
        print("\n".join([*problems, hint]), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

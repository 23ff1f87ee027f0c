"""The page on the bugs of other agents names tests that there are, one or more for each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tidy.rules import functions

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/bugs-of-other-agents.md").read_text()
ROWS = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("|")][2:]
FILES = sorted((ROOT / "tests/agent").rglob("test_*.py"))


@pytest.fixture(scope="module")
def there() -> set[str]:
    """The tests of the agent."""
    return {each.name for file in FILES for each in functions(file.read_text()) if each.name.startswith("test_")}


def test_no_bug_is_left_out():
    assert len(ROWS) == 30


@pytest.mark.parametrize("row", ROWS, ids=[row[1].strip() for row in ROWS])
def test_every_bug_has_a_test_that_is_there(row: list[str], there: set[str]):
    where, what, here = row
    named = set(re.findall(r"`(test_\w+)`", here))

    assert where.strip()
    assert what.strip()
    assert named
    assert named <= there

"""The page on the bugs of others names the tests that there are, and all of them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tidy.rules import functions

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/bugs-of-others.md").read_text()
FILES = sorted((ROOT / "tests/rollouts").glob("test_known_bugs*.py"))


def test_the_page_names_every_test_of_a_known_bug_and_no_other():
    there = {each.name for file in FILES for each in functions(file.read_text()) if each.name.startswith("test_")}
    named = re.findall(r"`(test_\w+)`", PAGE)

    assert len(there) > 10
    assert sorted(named) == sorted(there)


def test_every_row_of_the_page_says_where_it_was_what_went_wrong_and_why_not_here():
    lines = [line for line in PAGE.splitlines() if line.startswith("|")]
    rows = [line.strip("|").split("|") for line in lines[2:]]

    assert len(rows) == 18
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)
    assert all("`test_" in row[2] or row[2].strip().startswith("Cannot happen:") for row in rows)

"""The page of uses: each use has a file and a test that runs it, and the table leads to all of them."""

from __future__ import annotations

import pytest

from tests.docs.reading import anchors
from tests.tree import texts
from tests.uses.page import PAGE, block, sections
from tools.markdown import anchor

TESTS = {path: text for path, text in texts(".py", under=("tests/uses",)).items() if "/test_" in path}


@pytest.mark.parametrize("title", sections())
def test_every_use_has_a_file_that_a_test_runs(title: str):
    assert block(title, "toml")
    assert any(f'"{title}"' in text for text in TESTS.values()), f"no test takes the file of {title}"


def test_the_table_leads_to_every_use():
    assert [title for title in sections() if f"](#{anchor(title)})" not in PAGE] == []
    assert anchors(PAGE) >= {anchor(title) for title in sections()}

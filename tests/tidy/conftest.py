"""What the tidy tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tidy.rules import nodes


@pytest.fixture(autouse=True, scope="package")
def _let_go_of_syntax_trees() -> Iterator[None]:
    yield
    nodes.cache_clear()

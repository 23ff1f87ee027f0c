"""What tests of rollouts share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rollouts.shop import Shop


@pytest.fixture
def shop() -> Iterator[Shop]:
    opened = Shop()
    yield opened
    opened.close()

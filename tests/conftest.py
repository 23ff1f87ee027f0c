"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fleets import SMALL
from tests.running import RunningService, running


@pytest.fixture
def service() -> Iterator[RunningService]:
    """A fresh service with a fleet of every kind of scope, on a virtual clock."""
    with running(SMALL) as started:
        yield started

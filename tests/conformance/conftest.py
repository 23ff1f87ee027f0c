"""Services that the numbered tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.wire import CROWDED, MIXED
from tests.running import RunningService, running


@pytest.fixture
def mixed() -> Iterator[RunningService]:
    """A service whose one scope can have an event of every kind."""
    with running(MIXED) as started:
        yield started


@pytest.fixture
def crowded() -> Iterator[RunningService]:
    """A service with one host, on which two update domains of one set sit."""
    with running(CROWDED) as started:
        yield started

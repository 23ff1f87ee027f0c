"""What tests of REST share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rollouts.bench import grid
from tests.running import RunningService, running


@pytest.fixture
def grown() -> Iterator[RunningService]:
    """Three update domains with two hosts each, and one set over all of them."""
    with running(grid(domains=3, hosts_per_domain=2)) as started:
        yield started

"""What the tests of the test kit share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from forewarn.testing import Service
from tests.testing.project import Project


@pytest.fixture
def service() -> Iterator[Service]:
    """A service as a test without the plugin has it."""
    with Service(seed=1) as opened:
        yield opened


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)

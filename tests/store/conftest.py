"""A store on each of the two databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from forewarn.store.sql import SqlStore
from tests.store.databases import fresh_database


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def address(database: str, tmp_path: Path) -> str:
    return fresh_database(database, tmp_path)


@pytest.fixture
def store(address: str) -> Iterator[SqlStore]:
    opened = SqlStore(address)
    yield opened
    opened.close()

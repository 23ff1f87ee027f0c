"""Databases are closed when what they were opened for fails: Python 3.13 reports connections that are not."""

from __future__ import annotations

import sqlite3
import sqlite3.dbapi2
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

from forewarn.config import Settings
from forewarn.drivers.machines import Machines
from forewarn.errors import ForewarnError
from forewarn.service import Service


@pytest.fixture
def opened() -> Iterator[list[sqlite3.Connection]]:
    """Every SQLite connection that the test opens."""
    connections: list[sqlite3.Connection] = []

    class Noted(sqlite3.Connection):
        def __init__(self, *given: object, **more: object) -> None:
            super().__init__(*given, **more)
            connections.append(self)

    connect = partial(sqlite3.connect, factory=Noted)
    with patch.object(sqlite3, "connect", connect), patch.object(sqlite3.dbapi2, "connect", connect):
        yield connections


def is_closed(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError as problem:
        return "closed" in str(problem)
    return False


def test_a_file_of_machines_that_is_refused_is_closed(opened: list[sqlite3.Connection], tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "machines.db")) as other:
        other.execute("CREATE TABLE effects (operation TEXT, vm TEXT)")

    with pytest.raises(ForewarnError, match="another version"):
        Machines.open(tmp_path / "machines.db")

    assert len(opened) == 2
    assert all(map(is_closed, opened))


def test_a_service_that_cannot_read_its_store_closes_its_databases(
    opened: list[sqlite3.Connection], tmp_path: Path
):
    settings = Settings(store=f"sqlite:///{tmp_path}/forewarn.db", machines=tmp_path / "machines.db")
    Service(settings).let_go()
    with closing(sqlite3.connect(tmp_path / "forewarn.db")) as vandal:
        vandal.execute("DROP TABLE webhooks")
    opened.clear()

    with pytest.raises(ForewarnError, match="webhooks"):
        Service(settings)

    assert len(opened) == 2
    assert all(map(is_closed, opened))

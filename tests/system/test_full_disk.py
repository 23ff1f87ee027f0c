"""A disk that is really full: SQLite on a small file system of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.crash.test_outages import assert_outage_is_seen_and_ends, serving

pytestmark = pytest.mark.system


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_full_disk_under_sqlite_is_noticed_while_idle_and_the_store_used_again_when_there_is_room(
    tmp_path: Path, small_disk: Path, figures
):
    ballast = small_disk / "ballast"

    def fill() -> None:
        with ballast.open("wb", buffering=0) as file, suppress(OSError):  # of which there is no space left
            while file.write(bytes(4096)):
                pass

    with serving(tmp_path, f"sqlite:///{small_disk}/store.db") as service:
        assert_outage_is_seen_and_ends(service, fill, ballast.unlink, figures)

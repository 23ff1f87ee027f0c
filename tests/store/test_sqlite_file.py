"""The SQLite file of a store: one service at a time, and no commit is confirmed that does not reach the path."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from forewarn.errors import StoreError, StoreUnavailable
from forewarn.store.sql import SqlStore
from tests.store.samples import HOST, MARK, commit

OPEN = "import sys; from forewarn.store.sql import SqlStore; SqlStore(sys.argv[1]).close()"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(file: Path) -> Iterator[SqlStore]:
    opened = SqlStore(f"sqlite:///{file}")
    keep_something(opened)
    yield opened
    opened.close()


def keep_something(store: SqlStore) -> None:
    with store.transaction() as transaction:
        transaction.keep_mark(MARK, 0)


def beside(file: Path, ending: str) -> Path:
    return file.with_name(f"{file.name}{ending}")


def run_sql(file: Path, *statements: str) -> None:
    """Another program uses the file: in a process of its own, as SQLite shares what it knows within one."""
    program = (
        "import sqlite3, sys; connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for statement in sys.argv[2:]: connection.execute(statement)\n"
        "connection.close()"
    )
    subprocess.run([sys.executable, "-c", program, str(file), *statements], check=True)


# The lock.


def same_path(file: Path) -> Path:
    return file


def symlink(file: Path) -> Path:
    link = file.with_name("link.db")
    link.symlink_to(file)
    return link


def hard_link(file: Path) -> Path:
    link = file.with_name("hard.db")
    link.hardlink_to(file)
    return link


def linked_directory(file: Path) -> Path:
    link = file.parent / "there"
    link.symlink_to(file.parent)
    return link / file.name


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("other_name", [same_path, symlink, hard_link, linked_directory])
def test_second_service_on_the_same_file_is_refused_under_any_name(file: Path, other_name: Callable[[Path], Path]):
    address = f"sqlite:///{other_name(file)}"

    with pytest.raises(StoreError) as here:
        SqlStore(address)
    elsewhere = subprocess.run([sys.executable, "-c", OPEN, address], capture_output=True, text=True, check=False)

    assert "in use by another forewarn service" in here.value.message
    assert elsewhere.returncode == 1
    assert "in use by another forewarn service" in elsewhere.stderr


@pytest.mark.usefixtures("store")
def test_lock_needs_no_file_that_could_be_removed(file: Path):
    assert sorted(each.name for each in file.parent.iterdir()) == ["store.db", "store.db-shm", "store.db-wal"]


def test_lock_file_left_by_an_older_version_does_not_matter(file: Path):
    beside(file, ".lock").touch()

    store = SqlStore(f"sqlite:///{file}")

    keep_something(store)
    store.close()
    assert beside(file, ".lock").exists()  # it is nobody's business


def test_refused_second_service_leaves_the_locks_of_sqlite_in_place(file: Path, store: SqlStore):
    with pytest.raises(StoreError):
        SqlStore(f"sqlite:///{file}")

    run_sql(file, "SELECT count(*) FROM hosts")  # the last one to close the file would remove its log

    keep_something(store)
    assert beside(file, "-wal").exists()


def test_file_is_free_again_once_the_store_is_closed(file: Path):
    address = f"sqlite:///{file}"
    SqlStore(address).close()

    elsewhere = subprocess.run([sys.executable, "-c", OPEN, address], capture_output=True, text=True, check=False)
    SqlStore(address).close()

    assert (elsewhere.returncode, elsewhere.stderr) == (0, "")


# Secrets.


@pytest.mark.parametrize("name", [same_path, symlink, linked_directory])
def test_private_file_has_a_private_log_and_index_under_any_name(file: Path, name: Callable[[Path], Path]):
    file.touch(0o644)
    with closing(SqlStore(f"sqlite:///{name(file)}")) as store:
        keep_something(store)
        store.make_private()
        modes = {each.name: each.stat().st_mode & 0o777 for each in file.parent.iterdir() if each.is_file()}

    assert {modes[beside(file, ending).name] for ending in ("", "-wal", "-shm")} == {0o600}


# Commits that do not reach the path.


def delete(file: Path) -> None:
    file.unlink()


def delete_everything(file: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        beside(file, ending).unlink()


def replace(file: Path) -> None:
    copy = file.with_name("copy.db")
    copy.write_bytes(file.read_bytes())
    copy.replace(file)


def empty(file: Path) -> None:
    os.truncate(file, 0)


def delete_log(file: Path) -> None:
    beside(file, "-wal").unlink()


def delete_index(file: Path) -> None:
    beside(file, "-shm").unlink()


def empty_log(file: Path) -> None:
    os.truncate(beside(file, "-wal"), 0)


def cut_log_in_half(file: Path) -> None:
    log = beside(file, "-wal")
    os.truncate(log, log.stat().st_size // 2)


def cut_end_of_log(file: Path) -> None:
    log = beside(file, "-wal")
    os.truncate(log, log.stat().st_size - 100)


ATTACKS = [
    delete,
    delete_everything,
    replace,
    empty,
    delete_log,
    delete_index,
    empty_log,
    cut_log_in_half,
    cut_end_of_log,
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_commit_is_not_confirmed_when_the_file_was_lost_before_it(
    file: Path, store: SqlStore, attack: Callable[[Path], None]
):
    attack(file)

    with pytest.raises(StoreUnavailable) as lost, store.transaction():
        pytest.fail("a transaction began")
    assert str(file) in lost.value.message
    assert "restart the service" in lost.value.hint


@pytest.mark.parametrize("attack", ATTACKS)
def test_commit_is_not_confirmed_when_the_file_is_lost_during_it(
    file: Path, store: SqlStore, attack: Callable[[Path], None]
):
    def write() -> None:
        with store.transaction() as transaction:
            transaction.write(commit(1, HOST), MARK, 0)
            attack(file)

    with pytest.raises(StoreUnavailable):
        write()


def test_file_that_is_overwritten_in_place_by_an_older_copy_is_noticed(file: Path, store: SqlStore):
    run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    backup = file.with_name("backup.db")
    subprocess.run(["cp", file, backup], check=True)  # another process, as closing the file drops SQLite's locks
    with store.transaction() as transaction:
        transaction.write(commit(1, HOST), MARK, 0)
    run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")

    subprocess.run(["cp", backup, file], check=True)

    for _ in range(2):
        with pytest.raises(StoreUnavailable) as lost, store.transaction():
            pytest.fail("a transaction began")
    assert "Restart the service" in lost.value.hint


def test_retargeted_symlink_is_noticed(file: Path):
    SqlStore(f"sqlite:///{file}").close()
    link, other = symlink(file), file.with_name("other.db")
    SqlStore(f"sqlite:///{other}").close()
    store = SqlStore(f"sqlite:///{link}")
    keep_something(store)
    link.unlink()
    link.symlink_to(other)

    with pytest.raises(StoreUnavailable):
        keep_something(store)
    store.close()


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_store_goes_on_when_the_file_is_put_back(file: Path, store: SqlStore, ending: str):
    away = file.with_name("away")
    beside(file, ending).rename(away)
    with pytest.raises(StoreUnavailable):
        keep_something(store)

    away.rename(beside(file, ending))

    with store.transaction() as transaction:
        transaction.write(commit(1, HOST), MARK, 0)
    with closing(sqlite3.connect(file)) as reader:
        assert reader.execute("SELECT name FROM hosts").fetchall() == [(HOST.name,)]


def test_reading_makes_no_new_file_in_place_of_a_lost_one(file: Path, store: SqlStore):
    file.unlink()

    with pytest.raises(StoreUnavailable), store.reading():
        pytest.fail("something was read")
    assert not file.exists()


def test_damaged_log_is_not_copied_into_the_database_at_the_end(file: Path):
    store = SqlStore(f"sqlite:///{file}")
    run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    with store.transaction() as transaction:
        transaction.write(commit(1, HOST), MARK, 0)
    cut_log_in_half(file)
    with pytest.raises(StoreUnavailable):
        keep_something(store)

    store.close()

    with closing(sqlite3.connect(file)) as reader:
        assert reader.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    SqlStore(f"sqlite:///{file}").close()


@pytest.mark.parametrize(
    "statement",
    [
        "PRAGMA wal_checkpoint(PASSIVE)",
        "PRAGMA wal_checkpoint(RESTART)",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "DELETE FROM polls",
        "SELECT count(*) FROM hosts",
    ],
)
def test_other_programs_may_use_the_file_as_sqlite_lets_them(file: Path, store: SqlStore, statement: str):
    for number in range(1, 4):
        run_sql(file, "BEGIN", f"INSERT INTO polls VALUES ('scope {number}', 0)", "COMMIT", statement)
        keep_something(store)

    with closing(sqlite3.connect(file)) as reader:
        assert reader.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_log_that_starts_over_many_times_is_no_damage(file: Path, store: SqlStore):
    with closing(sqlite3.connect(file)) as reader:
        for _ in range(2500):  # SQLite starts it over after a thousand pages
            keep_something(store)
        log = beside(file, "-wal").stat().st_size

        assert reader.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert log < 1500 * 4120


def test_database_cut_in_half_is_noticed_by_the_probe(file: Path, store: SqlStore):
    run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    keep_something(store)
    store.verify_room()

    os.truncate(file, file.stat().st_size // 2)

    with pytest.raises(StoreUnavailable, match="was truncated"):
        store.verify_room()


_EMPTY_INDEX = """
import os, sys
from forewarn.errors import StoreUnavailable
from forewarn.store.sql import SqlStore

store = SqlStore(f"sqlite:///{sys.argv[1]}")
os.truncate(f"{sys.argv[1]}-shm", 0)
try:
    with store.transaction():
        pass
except StoreUnavailable:
    os._exit(7)  # SQLite would look into the index, and the kernel end the process
"""


def test_emptied_index_is_noticed_before_sqlite_looks_into_it(file: Path):
    ended = subprocess.run([sys.executable, "-c", _EMPTY_INDEX, str(file)], check=False)

    assert ended.returncode == 7

"""Opening a store: fresh, older, newer, foreign, unreachable; and when the migration tool is imported."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from forewarn.errors import StoreError
from forewarn.store.codec import Codec
from forewarn.store.migrate import upgrade
from forewarn.store.sql import SqlStore
from forewarn.store.tables import REVISIONS, TABLE_OF, metadata
from tests.store.databases import fresh_database
from tests.store.samples import HOST, MARK, commit


def engine(address: str) -> sa.Engine:
    url = sa.make_url(address)
    return sa.create_engine(
        url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url,
        isolation_level="AUTOCOMMIT",
    )


def schema(address: str) -> dict[str, object]:
    """Everything about the tables that matters, in a form that can be compared."""
    made = engine(address)
    inspector = sa.inspect(made)
    found = {
        table: (
            {column["name"]: (str(column["type"]), column["nullable"]) for column in inspector.get_columns(table)},
            inspector.get_pk_constraint(table)["constrained_columns"],
            sorted((index["name"], tuple(index["column_names"])) for index in inspector.get_indexes(table)),
        )
        for table in sorted(inspector.get_table_names())
    }
    made.dispose()
    return found


def make_older(address: str, revision: str) -> None:
    """Leave a store there as an older forewarn would."""
    made = engine(address)
    with made.connect() as connection:
        upgrade(connection, revision)
    made.dispose()


def test_a_fresh_store_has_the_same_tables_as_one_that_was_migrated_from_the_first(
    database: str, address: str, tmp_path: Path
):
    make_older(address, REVISIONS[0])
    fresh = fresh_database(database, tmp_path)

    SqlStore(address).close()
    SqlStore(fresh).close()

    assert schema(address) == schema(fresh)


def test_an_older_store_is_migrated_and_keeps_what_it_held(address: str):
    make_older(address, REVISIONS[0])
    made = engine(address)
    with made.connect() as connection:
        connection.execute(
            metadata.tables["hosts"]
            .insert()
            .values(
                name="old", fault_domain=0, tags="{}", condition="up", is_declared=True, is_gone=False, version=1
            )
        )
    made.dispose()

    store = SqlStore(address)
    with store.transaction() as transaction:
        names = [host.name for host in transaction.everything()]
    store.close()

    assert names == ["old"]


def test_a_store_of_a_newer_version_is_refused_and_left_alone(address: str):
    SqlStore(address).close()
    made = engine(address)
    with made.connect() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    before = schema(address)

    with pytest.raises(StoreError) as refused:
        SqlStore(address)

    assert "written by a newer forewarn (schema 9999" in refused.value.message
    assert schema(address) == before
    made.dispose()


def test_the_migration_tool_is_imported_only_when_there_is_something_to_migrate(tmp_path: Path):
    fresh = fresh_database("sqlite", tmp_path)
    older = fresh_database("sqlite", tmp_path)
    make_older(older, REVISIONS[0])
    program = (
        "import sys; from forewarn.store.sql import SqlStore; "
        "SqlStore(sys.argv[1]).close(); print('alembic' in sys.modules)"
    )

    def imports_it(address: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", program, address], capture_output=True, text=True, check=True
        ).stdout.strip()

    assert imports_it(fresh) == "False"  # made in one step
    assert imports_it(fresh) == "False"  # up to date
    assert imports_it(older) == "True"


def test_the_tables_have_the_fields_of_the_values_in_their_order():
    for kind, table in TABLE_OF.items():
        columns = [column.name for column in table.columns if column.name != "id" or "id" in Codec(kind).columns]
        assert columns == Codec(kind).columns, table.name


def test_a_sqlite_store_survives_a_power_cut():
    store = SqlStore("sqlite://")
    with store.transaction() as transaction:
        assert transaction.connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
    store.close()


def test_a_sqlite_file_is_kept_in_wal_mode(tmp_path: Path):
    store = SqlStore(f"sqlite:///{tmp_path}/store.db")
    with store.transaction() as transaction:
        mode = transaction.connection.exec_driver_sql("PRAGMA journal_mode").scalar()
    store.close()

    assert mode == "wal"


def test_two_stores_in_memory_share_nothing():
    one, other = SqlStore("sqlite://"), SqlStore("sqlite://")
    with one.transaction() as transaction:
        transaction.write(commit(1, HOST), MARK, 0)

    with other.transaction() as transaction:
        assert list(transaction.everything()) == []
    one.close()
    other.close()


def test_every_store_in_memory_has_the_tables_of_a_fresh_file(tmp_path: Path):
    SqlStore(f"sqlite:///{tmp_path}/store.db").close()
    with sqlite3.connect(f"{tmp_path}/store.db") as file:
        fresh = file.execute("SELECT * FROM sqlite_master ORDER BY name").fetchall()
        marked = file.execute("SELECT * FROM marks").fetchall()
    file.close()

    for _ in range(2):
        store = SqlStore("sqlite://")
        with store.transaction() as transaction:
            ask = transaction.connection.exec_driver_sql
            assert [row[:2] + row[4:] for row in ask("SELECT * FROM sqlite_master ORDER BY name")] == [
                row[:2] + row[4:] for row in fresh
            ]
            assert list(map(tuple, ask("SELECT * FROM marks"))) == marked
        store.close()


def test_a_store_in_memory_that_is_closed_has_let_go_of_its_database():
    store = SqlStore("sqlite://")
    with store.transaction() as transaction:
        database = transaction.connection.connection.driver_connection

    store.close()

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        database.execute("SELECT 1")


def test_a_store_that_was_killed_is_not_locked(tmp_path: Path):
    address = f"sqlite:///{tmp_path}/store.db"
    program = (
        "import os, sys; from forewarn.store.sql import SqlStore; SqlStore(sys.argv[1]); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, address], check=False)

    SqlStore(address).close()

    assert Path(f"{tmp_path}/store.db").exists()


@pytest.mark.parametrize(
    ("address", "says", "hint"),
    [
        ("sqlite:////no/such/directory/store.db", "there is no directory /no/such/directory", "mkdir -p"),
        ("mysql://here/there", "is no store that forewarn knows", "sqlite:///PATH"),
        ("not an address", "is no store address", "sqlite:///PATH"),
        ("postgresql://nobody@127.0.0.1:1/nothing", "cannot be opened", "PostgreSQL"),
    ],
    ids=["no directory", "unknown database", "no address", "nobody there"],
)
def test_a_store_that_cannot_be_opened_says_why_and_what_to_do(address: str, says: str, hint: str):
    with pytest.raises(StoreError) as refused:
        SqlStore(address)

    assert says in refused.value.message
    assert hint in refused.value.hint


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://nobody:s3cret@127.0.0.1:1/nothing",
        "postgresql://nobody@127.0.0.1:1/nothing?password=s3cret",
        "postgresqlx://nobody:s3cret@127.0.0.1/nothing",
        "postgresql://nobody:s3cret@127.0.0.1:port/nothing",
        "nobody:s3cret@127.0.0.1",
        "sqlite://nobody:s3cret@127.0.0.1/nothing",
    ],
    ids=["nobody there", "in the query", "unknown database", "no port", "no address", "a file"],
)
def test_a_password_is_never_in_the_message(address: str):
    with pytest.raises(StoreError) as refused:
        SqlStore(address)

    assert "127.0.0.1" in refused.value.message
    assert "s3cret" not in refused.value.message + refused.value.hint


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database, and long enough to be read as one's header" * 20)
    before = file.read_bytes()

    with pytest.raises(StoreError) as refused:
        SqlStore(f"sqlite:///{file}")

    assert "cannot be opened" in refused.value.message
    assert file.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path):
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE hosts (ip TEXT)")
    other.close()

    with pytest.raises(StoreError) as refused:
        SqlStore(f"sqlite:///{tmp_path}/other.db")

    assert "tables of another program" in refused.value.message

"""What is kept can be read beside whoever writes, and found without looking through all of it."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from forewarn.core.phase import Phase
from forewarn.errors import StoreUnavailable
from forewarn.store import history
from forewarn.store.sql import SqlStore
from forewarn.store.tables import events
from tests.store.databases import fresh_database
from tests.store.samples import EVENT, MARK, OPERATION, commit

IDS = [f"{number:08X}-DDE1-550B-8297-BDF189DF2712" for number in (0x1, 0xAB1, 0xAB2, 0xABCDEF12, 0xFFFFFFFF)]


@pytest.fixture(autouse=True)
def kept(store: SqlStore) -> None:
    """Events of one operation that has ended."""
    found = [replace(EVENT, id=each, number=number) for number, each in enumerate(IDS)]
    with store.transaction() as transaction:
        transaction.write(commit(1, replace(OPERATION, phase=Phase.COMPLETED), *found), MARK, 0)


def test_another_thread_reads_what_is_committed_while_somebody_writes(store: SqlStore):
    found: list[str] = []

    def read() -> None:
        with store.reading() as connection:
            found.extend(connection.execute(sa.select(events.c.id)).scalars())

    with store.transaction() as transaction:
        transaction.connection.execute(events.delete())
        reader = threading.Thread(target=read)
        reader.start()
        reader.join(60)

    assert store.reads_apart
    assert sorted(found) == sorted(IDS)


def test_what_was_answered_is_read_by_whoever_asks_next(store: SqlStore):
    with store.reading() as connection:
        before = history.find_events(connection, "00000AB1")
    with store.transaction() as transaction:
        transaction.connection.execute(events.delete())

    with store.reading() as connection:
        after = history.find_events(connection, "00000AB1")

    assert (len(before), after) == (1, [])


def test_a_store_in_memory_is_read_where_it_is_written():
    store = SqlStore("sqlite://")
    with store.transaction() as transaction:
        transaction.write(commit(1, OPERATION, EVENT), MARK, 0)

    with store.reading() as connection:
        found = history.find_events(connection, EVENT.id)
    with store.transaction() as transaction:
        number = transaction.number
    store.close()

    assert not store.reads_apart
    assert ([each.id for each in found], number) == ([EVENT.id], 1)


def test_a_query_that_fails_is_a_store_that_does_not_answer(store: SqlStore):
    with pytest.raises(StoreUnavailable), store.reading() as connection:
        connection.exec_driver_sql("SELECT nothing FROM nowhere")

    with store.reading() as connection:
        assert len(history.find_events(connection, "F")) == 1


@pytest.mark.parametrize(
    ("beginning", "numbers"),
    [
        ("0", [0, 1, 2]),
        ("00000ab", [1, 2]),
        ("00000AB1", [1]),
        ("00000AB1-", [1]),
        ("00000ab2-dde1-55", [2]),
        ("abcdef12", [3]),
        (IDS[4], [4]),
        ("F", [4]),
        ("FFFFFFFF-DDE1-550B-8297-BDF189DF27120", []),
        ("00000AB1D", []),
        ("-", []),
        ("0000_", []),
        ("%", []),
        ("G", []),
        ("\U0010ffff", []),
        ("É", []),
    ],
)
def test_events_are_found_by_their_beginning_and_by_nothing_else(
    store: SqlStore, beginning: str, numbers: list[int]
):
    with store.reading() as connection:
        found = [each.id for each in history.find_events(connection, beginning)]

    assert found == [IDS[number] for number in numbers]


def test_the_beginning_of_an_id_is_looked_up_in_the_key(tmp_path: Path):
    store = SqlStore(fresh_database("sqlite", tmp_path))
    statements: list[str] = []
    with store.reading() as connection:
        sa.event.listen(
            connection, "before_cursor_execute", lambda _c, _u, statement, *_: statements.append(statement)
        )
        history.find_events(connection, "00000AB")
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statements[-1]}", ("0", "F", 3, 0)).all()
    store.close()

    assert "SEARCH" in plan[0].detail
    assert "SCAN" not in plan[0].detail

"""What a store promises, on SQLite and on PostgreSQL alike: this suite is the contract."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from forewarn.core.phase import Phase
from forewarn.core.rollout import RolloutState, TurnState, Work
from forewarn.core.terms import Kind, VmState
from forewarn.errors import StaleWrite, StoreError, StoreUnavailable
from forewarn.store.sql import SqlStore
from tests.store.databases import fresh_database
from tests.store.samples import (
    ATTEMPT,
    CLOUD_SERVICE,
    DEED,
    EVENT,
    EVERYTHING,
    HOST,
    MARK,
    NOW,
    OPERATION,
    ROLLOUT,
    SCOPE,
    TURN,
    VM,
    commit,
)


def write(store: SqlStore, *commits) -> None:
    for changes in commits:
        with store.transaction() as transaction:
            transaction.write(changes, MARK, 0)


def everything(store: SqlStore) -> list:
    with store.transaction() as transaction:
        return list(transaction.everything())


def news(store: SqlStore, since: int) -> list:
    with store.transaction() as transaction:
        return list(transaction.news(since))


def test_store_that_lost_commits_is_refused_until_it_is_opened_again(store: SqlStore, address: str):
    write(store, commit(1, HOST), commit(2, VM))
    with closing(SqlStore(address, exclusive=False)) as other, other.transaction() as transaction:
        transaction.connection.exec_driver_sql("UPDATE marks SET number = 1")

    for _ in range(2):
        with pytest.raises(StoreUnavailable) as refused, store.transaction():
            pytest.fail("a transaction began")
    store.close()
    with closing(SqlStore(address)) as reopened, reopened.transaction() as transaction:
        number = transaction.number

    assert "Restart the service" in refused.value.hint
    assert number == 1


def test_a_fresh_store_holds_nothing(store: SqlStore):
    with store.transaction() as transaction:
        found = list(transaction.everything())
        state = (transaction.number, transaction.shown, transaction.mark(), transaction.polls())

    assert found == []
    assert state == (0, 0, None, {})


def test_what_is_written_is_read_back_the_same(store: SqlStore):
    changes = commit(1, *EVERYTHING, deeds=(DEED,))

    write(store, changes)

    assert everything(store) == list(changes.entities)


def test_values_with_every_optional_field_empty_are_read_back_the_same(store: SqlStore):
    bare = (
        replace(HOST, zone=None, tags={}),
        replace(SCOPE, placement_group=None, on_since=None),
        replace(VM, home=None, set_name=None, instance=None, placement_group=None, zone=None, addresses=(),
                interface=None, port=None, computer_name=None, terminate_notification=None, tags={}),
        replace(ROLLOUT, work=Work(Kind.REBOOT), reason=""),
        replace(TURN, zone=None, operation=None, touched=(), domains=(), announced_at=None, ended_at=None),
        replace(OPERATION, kind=None, host=None, started_at=None, begin_at=None, targets=(), rollout=None),
        replace(EVENT, update_domain=None, approvals=(), started_at=None),
        replace(ATTEMPT, destination=None, outcome=None, ended_at=None),
    )  # fmt: skip
    changes = commit(1, *bare)

    write(store, changes)

    assert everything(store) == list(changes.entities)


def test_what_was_written_is_there_after_the_store_is_opened_again(address: str):
    changes = commit(1, *EVERYTHING)
    first = SqlStore(address)
    write(first, changes)
    first.close()

    second = SqlStore(address)
    found = everything(second)
    second.close()

    assert found == list(changes.entities)


def test_ended_operations_and_what_is_gone_are_left_out_of_everything(store: SqlStore):
    write(store, commit(1, *EVERYTHING))
    gone = (
        replace(HOST, is_gone=True),
        replace(CLOUD_SERVICE, is_gone=True),
        replace(SCOPE, is_gone=True),
        replace(VM, state=VmState.DELETED),
        replace(ROLLOUT, state=RolloutState.COMPLETED, ended_at=NOW),
        replace(TURN, state=TurnState.DONE),
        replace(OPERATION, phase=Phase.COMPLETED, ended_at=NOW),
        replace(EVENT, phase=Phase.COMPLETED, ended_at=NOW),
    )

    write(store, commit(2, *gone, seen=(1,) * len(gone)))

    assert {type(entity).__name__ for entity in everything(store)} == {"AvailabilitySet", "ScaleSet"}


def test_an_event_that_was_cancelled_stays_with_its_open_operation(store: SqlStore):
    write(store, commit(1, OPERATION, EVENT))

    write(store, commit(2, replace(EVENT, phase=Phase.CANCELLED), seen=(1,)))

    assert [getattr(entity, "phase", None) for entity in everything(store)] == [Phase.STARTED, Phase.CANCELLED]


def test_news_are_all_that_was_written_since_ended_and_deleted_things_included(store: SqlStore):
    write(store, commit(1, *EVERYTHING))
    later = commit(2, replace(VM, state=VmState.DELETED), replace(OPERATION, phase=Phase.FAILED), seen=(1, 1))

    write(store, later)

    assert news(store, 1) == list(later.entities)
    assert news(store, 2) == []
    assert len(news(store, 0)) == len(EVERYTHING)


def test_a_row_that_somebody_else_changed_keeps_the_whole_commit_out(store: SqlStore):
    write(store, commit(1, HOST, VM), commit(2, replace(HOST, zone="9"), seen=(1,)))
    before = everything(store)

    with pytest.raises(StaleWrite):
        write(store, commit(3, replace(VM, zone="9"), replace(HOST, zone="8"), seen=(1, 1)))

    assert everything(store) == before
    with store.transaction() as transaction:
        assert transaction.number == 2


def test_a_new_row_under_a_name_that_is_taken_keeps_the_whole_commit_out(store: SqlStore):
    write(store, commit(1, HOST))

    with pytest.raises(StaleWrite):
        write(store, commit(2, VM, HOST))

    assert everything(store) == [replace(HOST, version=1)]


def test_a_commit_made_from_an_older_state_is_kept_out(store: SqlStore):
    write(store, commit(1, HOST))

    with pytest.raises(StaleWrite):
        write(store, commit(1, VM))

    assert everything(store) == [replace(HOST, version=1)]


def test_a_block_that_raises_keeps_nothing(store: SqlStore):
    def write_and_fail() -> None:
        with store.transaction() as transaction:
            transaction.write(commit(1, *EVERYTHING), MARK, 0)
            transaction.keep_polls({"web": NOW})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()

    with store.transaction() as transaction:
        assert (transaction.number, list(transaction.everything()), transaction.polls()) == (0, [], {})


@pytest.mark.parametrize(
    ("fresh", "gone"),
    [
        (HOST, replace(HOST, is_gone=True)),
        (SCOPE, replace(SCOPE, is_gone=True)),
        (replace(VM, state=VmState.RUNNING), replace(VM, state=VmState.DELETED)),
    ],
    ids=["host", "scope", "VM"],
)
def test_a_name_may_be_used_again_once_it_is_gone(store: SqlStore, fresh, gone):
    write(store, commit(1, fresh), commit(2, gone, seen=(1,)))

    write(store, commit(3, fresh))

    assert everything(store) == [replace(fresh, version=3)]


def test_the_mark_says_what_the_clocks_showed_and_what_was_shown(store: SqlStore):
    with store.transaction() as transaction:
        transaction.write(commit(1, HOST), MARK, 0)
    later = replace(MARK, elapsed=timedelta(seconds=99), now=NOW + timedelta(hours=1))
    with store.transaction() as transaction:
        transaction.keep_mark(later, 1)

    with store.transaction() as transaction:
        assert (transaction.mark(), transaction.shown, transaction.number) == (later, 1, 1)


def test_polls_are_kept_renewed_and_forgotten(store: SqlStore):
    later = NOW + timedelta(minutes=1)
    with store.transaction() as transaction:
        transaction.keep_polls({"web": NOW, "pool": NOW, "gone": NOW})
    with store.transaction() as transaction:
        transaction.keep_polls({"web": later})
        transaction.forget_polls(["gone"])

    with store.transaction() as transaction:
        assert transaction.polls() == {"web": later, "pool": NOW}


def test_a_transaction_waits_for_the_one_before_and_sees_what_it_wrote(address: str):
    first, second = SqlStore(address, exclusive=False), SqlStore(address, exclusive=False)
    inside, seen = threading.Event(), []

    def other() -> None:
        inside.wait(60)
        with second.transaction() as transaction:
            seen.append(transaction.number)

    thread = threading.Thread(target=other)
    thread.start()
    with first.transaction() as transaction:
        inside.set()
        thread.join(0.3)
        was_waiting = thread.is_alive()
        transaction.write(commit(1, HOST), MARK, 0)
    thread.join(60)
    first.close()
    second.close()

    assert was_waiting
    assert seen == [1]


def test_a_second_service_on_the_same_store_is_refused_in_a_sentence(address: str, store: SqlStore):
    with pytest.raises(StoreError) as refused:
        SqlStore(address)

    assert "in use by another forewarn service" in refused.value.message
    assert "--store" in refused.value.hint


def test_a_store_is_free_again_once_it_is_closed(address: str):
    SqlStore(address).close()

    again = SqlStore(address)
    again.close()

    assert again.address


def test_ten_thousand_rows_in_one_commit(store: SqlStore):
    vms = tuple(replace(VM, name=f"vm-{n:05d}", instance=n) for n in range(10_000))

    write(store, commit(1, *vms))
    write(store, commit(2, *(replace(vm, zone="2") for vm in vms), seen=(1,) * len(vms)))

    found = everything(store)
    assert len(found) == 10_000
    assert all((vm.zone, vm.version) == ("2", 2) for vm in found)


def test_a_broken_connection_is_told_and_mended(tmp_path: Path):
    address = fresh_database("postgresql", tmp_path)
    store = SqlStore(address)
    write(store, commit(1, HOST))
    engine = sa.create_engine(sa.make_url(address).set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        connection.exec_driver_sql(f"{others} AND datname = current_database()")
    engine.dispose()

    with pytest.raises(StoreUnavailable):
        write(store, commit(2, VM))
    found = everything(store)
    store.close()

    assert found == [replace(HOST, version=1)]

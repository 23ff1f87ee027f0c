"""The simulated machines remember what was done to them, wherever the store is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from forewarn.clock import SystemClock, VirtualClock
from forewarn.core.operation import Attempt
from forewarn.core.terms import Action
from forewarn.drivers.base import NotBegun
from forewarn.drivers.machines import Machines, Trouble
from forewarn.drivers.simulated import SimulatedDriver
from forewarn.errors import StoreUnavailable
from forewarn.store import opening
from forewarn.store.sql import SqlStore
from tests.crash.process import ServiceProcess
from tests.running import wait_until
from tests.store.databases import fresh_database
from tests.store.postgresql_proxy import PostgresqlProxy

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
Reopen = Callable[[], Machines]


def connect_to(address: str) -> Callable[[], sa.Connection]:
    url = sa.make_url(address).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    return engine.connect


@pytest.fixture(params=["file", "postgresql"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """Opens the same ledger, again and again."""
    opened: list[Machines] = []
    connect = connect_to(fresh_database("postgresql", tmp_path)) if request.param == "postgresql" else None

    def open_it() -> Machines:
        opened.append(Machines.open(tmp_path / "machines.db") if connect is None else Machines.on_server(connect))
        return opened[-1]

    yield open_it
    for each in opened:
        each.close()


def attempt(operation: str, vm: str) -> Attempt:
    return Attempt(operation, vm, Action.REBOOT, NOON, NOON + timedelta(hours=1), "host")


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_deleted_file_of_machines_is_reported_and_not_taken_for_machines_nothing_was_done_to(
    tmp_path: Path, suffix: str
):
    with closing(Machines.open(tmp_path / "machines.db")) as machines:
        machines.act(attempt("a", "one"), VirtualClock(NOON), timedelta(minutes=1))
        (tmp_path / f"machines.db{suffix}").unlink()

        with pytest.raises(StoreUnavailable):
            machines.effect_of("a", "one")
        with pytest.raises(StoreUnavailable):
            machines.act(attempt("b", "one"), VirtualClock(NOON), timedelta(minutes=1))


def test_ledger_keeps_every_effect_in_order_for_the_next_process(reopen: Reopen):
    machines, clock = reopen(), VirtualClock(NOON)
    for operation, vm in (("a", "one"), ("b", "two"), ("a", "one")):
        machines.act(attempt(operation, vm), clock, timedelta(minutes=1))

    found = reopen()

    assert [(each.operation, each.vm) for each in found.ledger()] == [("a", "one"), ("b", "two"), ("a", "one")]
    effect = found.effect_of("b", "two")
    assert effect is not None
    assert (effect.began_at, effect.left(clock)) == (NOON, timedelta(minutes=1))
    assert found.effect_of("b", "one") is None


def test_trouble_that_was_ordered_strikes_as_often_as_it_was_ordered(reopen: Reopen):
    machines, clock = reopen(), VirtualClock(NOON)
    machines.order("one", Trouble.HANGS)
    machines.order("one", Trouble.FAILS)
    machines.order("two", Trouble.FAILS, times=2)
    for vm in ("one", "two", "one", "two", "one", "two"):
        machines.act(attempt("a", vm), clock, timedelta(minutes=1))

    troubles = [each.trouble for each in reopen().ledger()]

    assert troubles == [Trouble.HANGS, Trouble.FAILS, Trouble.FAILS, Trouble.FAILS, None, None]


def test_reboot_is_carried_out_once_though_its_first_attempt_reaches_postgresql_late(tmp_path: Path):
    database, clock, reboot = fresh_database("postgresql", tmp_path), SystemClock(), attempt("a", "one")
    with (
        PostgresqlProxy(database) as proxy,
        closing(SqlStore(proxy.address)) as store,
        closing(Machines.on_server(store.connect_apart)) as machines,
        connect_to(database)() as onlooker,
    ):
        driver = SimulatedDriver(machines, clock)

        def sessions() -> int:
            others = "datname = current_database() AND pid <> pg_backend_pid()"
            found = onlooker.exec_driver_sql(f"SELECT count(*) FROM pg_stat_activity WHERE {others}")
            return int(found.scalar_one())

        before = sessions()
        proxy.hold_back(b"INSERT INTO machine_effects")
        with pytest.raises(exc.OperationalError):
            driver.begin(reboot)
        if isinstance(driver.check(reboot), NotBegun):
            driver.begin(reboot)
        proxy.deliver()
        wait_until(lambda: sessions() == before, "the session of the first attempt to end")

        assert len(machines.ledger()) == 1


def test_machines_wait_for_the_end_of_an_earlier_session_and_give_up_while_it_lasts(tmp_path: Path):
    database = fresh_database("postgresql", tmp_path)
    with closing(SqlStore(database)) as store, connect_to(database)() as earlier:
        earlier.exec_driver_sql(f"SELECT pg_advisory_lock({opening._APART_LOCK})")
        with pytest.raises(StoreUnavailable):
            store.connect_apart()
        earlier.invalidate()

        with closing(Machines.on_server(store.connect_apart)) as machines:
            assert machines.ledger() == []


def test_ledger_leaves_out_as_many_lines_as_were_seen_though_numbers_are_missing(reopen: Reopen):
    machines, clock = reopen(), VirtualClock(NOON)
    for vm in ("one", "two", "three"):
        machines.act(attempt("a", vm), clock, timedelta(minutes=1))
    machines.kept.execute(f"DELETE FROM {machines.effects} WHERE vm = 'two'")

    assert [[each.vm for each in machines.ledger(seen)] for seen in (0, 1, 2)] == [["one", "three"], ["three"], []]


def test_reboot_is_carried_out_once_when_the_service_is_killed_amid_it_on_postgresql(tmp_path: Path):
    store, fleet = fresh_database("postgresql", tmp_path), tmp_path / "fleet.toml"
    fleet.write_text('[[hosts]]\nname = "host"\n[[vms]]\nname = "one"\nhost = "host"\n')
    arguments = (f"--store={store}", f"--fleet={fleet}", "--lead=2", "--simulated-seconds=reboot=5")
    service = ServiceProcess(tmp_path, *arguments)

    def begun() -> int:
        return len([line for line in service.log if line["event"] == "action begins"])

    service.start()
    machines = Machines.on_server(connect_to(store))
    try:
        accepted = service.call("POST", "/v1/vms/one/restart")[1]["operation"]["id"]
        wait_until(lambda: len(machines.ledger()) == 1, "the reboot to begin")
        service.kill()
        service.start()
        wait_until(
            lambda: service.call("GET", f"/v1/operations/{accepted}")[1]["phase"] == "Completed",
            "the reboot to end",
        )
        effects = [(each.operation, each.vm, each.action) for each in machines.ledger()]
    finally:
        service.kill()
        machines.close()

    assert effects == [(accepted, "one", "reboot")]
    assert begun() == 1

"""A store that goes away under a running service: noticed while nothing is due, told everywhere, survived."""

from __future__ import annotations

import os
import resource
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from forewarn.drivers.machines import Machines
from forewarn.store.sql import SqlStore
from tests.crash.process import ServiceProcess
from tests.running import wait_until
from tests.store.databases import fresh_database, postgresql_pids
from tests.store.postgresql_proxy import PostgresqlProxy

FLEET = """
[[hosts]]
name = "host"
[[vms]]
name = "one"
host = "host"
[[vms]]
name = "two"
host = "host"
"""
_LESS_THAN_A_COMMIT = 4096  # bytes; and more than the service logs
Figures = Callable[[str], None]


@contextmanager
def serving(directory: Path, store: str, *arguments: str) -> Iterator[ServiceProcess]:
    fleet = directory / "fleet.toml"
    fleet.write_text(FLEET)
    service = ServiceProcess(directory, f"--store={store}", f"--fleet={fleet}", *arguments)
    service.start()
    try:
        yield service
    finally:
        service.kill()


def outages(service: ServiceProcess) -> list[str]:
    """What the log says of the store."""
    return [
        line["event"] for line in service.log if line["event"].startswith(("store", "tick", "polls", "history"))
    ]


def is_seen_everywhere(service: ServiceProcess) -> bool:
    return (
        service.call("GET", "/readyz")[0] == 503
        and service.metric("forewarn_plane_healthy") == 0
        and outages(service)[-1:] == ["store unavailable"]
    )


def is_over_everywhere(service: ServiceProcess) -> bool:
    return (
        service.call("GET", "/readyz")[0] == 200
        and service.metric("forewarn_plane_healthy") == 1
        and outages(service)[-1:] == ["store available"]
    )


def assert_outage_is_seen_and_ends(
    service: ServiceProcess, begin: Callable[[], None], end: Callable[[], None], figures: Figures
) -> None:
    """While nobody asks for anything, and nothing is due."""
    began = time.monotonic()
    begin()
    try:
        wait_until(lambda: outages(service)[-1:] == ["store unavailable"], "the log to tell of the outage")
        logged = time.monotonic() - began
        wait_until(lambda: is_seen_everywhere(service), "readiness, metric and log to tell of the outage")
        seen = time.monotonic() - began
        refused = service.call("POST", "/v1/vms/one/restart")
    finally:
        end()
    ended = time.monotonic()
    wait_until(lambda: is_over_everywhere(service), "the outage to be over")
    figures(
        f"logged after {logged:.1f} s, seen everywhere after {seen:.1f} s, "
        f"over everywhere {time.monotonic() - ended:.1f} s after its end"
    )
    assert (refused[0], refused[1]["error"]["code"]) == (503, "StoreUnavailable")
    assert service.call("POST", "/v1/vms/two/restart")[0] == 202
    told = outages(service)  # a busy machine may have brought about shorter outages of its own
    assert told == ["store unavailable", "store available"] * (len(told) // 2)


def forget_last_commit(store: str) -> None:
    """Take the database back by one commit, as a restored backup would."""
    with closing(SqlStore(store, exclusive=False)) as other, other.transaction() as transaction:
        transaction.connection.exec_driver_sql("UPDATE marks SET number = number - 1")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_store_that_went_back_in_time_stops_all_work_until_the_service_is_restarted(tmp_path: Path, kind: str):
    store = fresh_database(kind, tmp_path)
    with serving(tmp_path, store) as service:
        accepted = service.call("POST", "/v1/vms/one/restart")
        forget_last_commit(store)
        wait_until(lambda: is_seen_everywhere(service), "readiness, metric and log to tell of the lost commit")
        refused = service.call("POST", "/v1/vms/two/restart")
        told = [line for line in service.log if line["event"] == "store unavailable"]
        service.stop()
        service.start()
        again = service.call("POST", "/v1/vms/two/restart")

    assert accepted[0] == 202
    assert (refused[0], refused[1]["error"]["code"]) == (503, "StoreUnavailable")
    assert len(told) == 1
    assert "Restart the service" in told[0]["hint"]
    assert again[0] == 202


# PostgreSQL.


def refuse(proxy: PostgresqlProxy) -> None:
    proxy.refuse()


def swallow(proxy: PostgresqlProxy) -> None:
    proxy.swallow()


@pytest.mark.parametrize("begin", [refuse, swallow])
def test_unreachable_postgresql_is_noticed_while_idle_and_used_again_when_it_is_back(
    tmp_path: Path, begin: Callable[[PostgresqlProxy], None], figures: Figures
):
    with (
        PostgresqlProxy(fresh_database("postgresql", tmp_path)) as proxy,
        serving(tmp_path, proxy.address) as service,
    ):
        assert_outage_is_seen_and_ends(service, lambda: begin(proxy), proxy.let_through, figures)


def signal_postgresql(which: signal.Signals) -> None:
    for pid in postgresql_pids():
        os.kill(pid, which)


def test_frozen_postgresql_is_noticed_while_idle_and_used_again_when_it_goes_on(tmp_path: Path, figures: Figures):
    with serving(tmp_path, fresh_database("postgresql", tmp_path)) as service:
        assert_outage_is_seen_and_ends(
            service,
            lambda: signal_postgresql(signal.SIGSTOP),
            lambda: signal_postgresql(signal.SIGCONT),
            figures,
        )


def ask(service: ServiceProcess, method: str, path: str) -> socket.socket:
    """Ask for something, and do not wait for the answer."""
    asking = socket.create_connection(("127.0.0.1", service.operator_port))
    asking.sendall(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n".encode())
    return asking


def test_service_stops_while_postgresql_swallows_everything(tmp_path: Path, figures: Figures):
    with (
        PostgresqlProxy(fresh_database("postgresql", tmp_path)) as proxy,
        serving(tmp_path, proxy.address) as service,
    ):
        service.call("GET", "/v1/history")  # so that the next reader finds an open connection, and waits on it
        proxy.swallow()
        askers = [ask(service, "POST", "/v1/vms/one/restart"), ask(service, "GET", "/v1/history")]
        began = time.monotonic()
        code = service.stop()
        figures(f"ended {time.monotonic() - began:.1f} s after SIGTERM, with code {code}")
        for asker in askers:
            asker.close()

    assert code in {0, 1}


# SQLite.


def test_full_disk_is_noticed_while_idle_and_the_store_used_again_when_there_is_room(
    tmp_path: Path, figures: Figures
):
    """The limit on the size of files stands for the disk; the real one is full in tests/system."""
    file = tmp_path / "store.db"
    with serving(tmp_path, f"sqlite:///{file}") as service:

        def limit(size: int) -> None:
            resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        assert_outage_is_seen_and_ends(
            service, lambda: limit(_LESS_THAN_A_COMMIT), lambda: limit(resource.RLIM_INFINITY), figures
        )


def test_lost_sqlite_file_stops_all_work_until_it_is_put_back(tmp_path: Path):
    file, ledger = tmp_path / "store.db", tmp_path / "machines.db"
    with serving(tmp_path, f"sqlite:///{file}", f"--machines={ledger}", "--lead=2") as service:
        machines = Machines.open(ledger)
        service.call("POST", "/v1/vms/one/restart")
        wait_until(lambda: len(machines.ledger()) == 1, "the first reboot")

        file.rename(tmp_path / "away.db")
        refused = service.call("POST", "/v1/vms/two/restart")
        wait_until(lambda: is_seen_everywhere(service), "readiness, metric and log to tell of the lost file")
        touched = [effect.vm for effect in machines.ledger()]
        (tmp_path / "away.db").rename(file)
        wait_until(lambda: is_over_everywhere(service), "the service to go on")
        accepted = service.call("POST", "/v1/vms/two/restart")
        wait_until(lambda: len(machines.ledger()) == 2, "the second reboot")
        machines.close()

    assert (refused[0], refused[1]["error"]["code"]) == (503, "StoreUnavailable")
    assert touched == ["one"]
    assert accepted[0] == 202

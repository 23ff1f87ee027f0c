"""Transactions that are in flight when an event is announced: finished, or cancelled; never cut off."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.running import call, free_port, wait_until
from tests.uses.machine import Machine, a_machine, program
from tests.uses.page import block, filled


class Worker:
    """The program that does the transactions, in the machine, and those who ask it to."""

    def __init__(self, machine: Machine, port: int, database: Path) -> None:
        self.port, self._database = port, database
        self.answers: list[int] = []
        machine.start(*program("worker", port, database))
        wait_until(self._listens, "the worker to listen")

    def _listens(self) -> bool:
        try:
            return self.takes_work
        except OSError:
            return False

    @property
    def takes_work(self) -> bool:
        return self.tell("GET", "/work") == 200

    def tell(self, method: str, path: str) -> int:
        return call("127.0.0.1", self.port, method, path, b"").status

    def ask(self, name: str) -> threading.Thread:
        """Ask for a transaction, which then waits until it is let go."""
        asking = threading.Thread(target=lambda: self.answers.append(self.tell("POST", f"/work?{name}")))
        asking.start()
        return asking

    @property
    def ledger(self) -> list[tuple[str, str]]:
        database = sqlite3.connect(self._database)
        try:
            return database.execute("SELECT name, side FROM ledger ORDER BY rowid").fetchall()
        finally:
            database.close()


@contextmanager
def working(place: Path) -> Iterator[tuple[Machine, Worker]]:
    port = free_port()
    config = filled(block("Transactions in flight", "toml"), {"127.0.0.1:8080": f"127.0.0.1:{port}"})
    with a_machine(place, config) as machine:
        yield machine, Worker(machine, port, place / "ledger.db")


def test_what_is_in_flight_is_finished_and_new_work_refused_before_the_approval(tmp_path: Path):
    with working(tmp_path) as (machine, worker):
        asked = worker.ask("early")
        event = machine.announce()
        wait_until(lambda: not worker.takes_work, "new work to be refused")
        refused = worker.tell("POST", "/work?late")
        was_in_flight, was_started = asked.is_alive(), machine.has_started(event)
        worker.tell("PATCH", "/work")
        asked.join(60)
        machine.wait_for_approval(event)
        ledger = worker.ledger
        machine.finish(event)
        again = worker.tell("POST", "/work?again")
        finish = machine.step(event, "finish")

    assert refused == 503
    assert was_in_flight
    assert not was_started, "the approval waits for what is in flight"
    assert worker.answers == [200]
    assert ledger == [("early", "debit"), ("early", "credit")]
    assert finish["outcome"] == "done"
    assert again == 200, "after the event it takes work again"


def test_what_takes_too_long_is_cancelled_before_the_approval_and_long_before_the_deadline(tmp_path: Path):
    with working(tmp_path) as (machine, worker):
        asked = worker.ask("slow")
        event = machine.announce()
        machine.wait_for_approval(event)
        asked.join(60)
        ledger = worker.ledger
        machine.finish(event)
        steps = {name: machine.step(event, name) for name in ("finish", "cancel")}
        worker.tell("PATCH", "/work")
        again = worker.tell("POST", "/work?again")

    assert worker.answers == [409], "whoever asked was told"
    assert ledger == [], "and nothing of it is left"
    assert (steps["finish"]["outcome"], steps["cancel"]["outcome"]) == ("failed", "done")
    assert again == 200

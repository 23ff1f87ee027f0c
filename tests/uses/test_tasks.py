"""Tasks that a machine cannot finish before its event: another one takes them."""

from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path
from typing import Any

from tests.running import ROOT, wait_until
from tests.uses.machine import a_machine, end_of, is_running, program
from tests.uses.page import block, filled, put

LONG = 100_000  # turns of a task that does not come to its end here


class Queue:
    """The tasks that the workers share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ask("PRAGMA journal_mode = WAL")
        self.ask("CREATE TABLE tasks (id INTEGER PRIMARY KEY, turns INTEGER, owner TEXT, put_back_by TEXT)")
        self.ask("CREATE TABLE done (id INTEGER, by TEXT)")

    def ask(self, words: str, *values: object) -> list[Any]:
        database = sqlite3.connect(self.path, isolation_level=None, timeout=30)
        try:
            return database.execute(words, values).fetchall()
        finally:
            database.close()

    def add(self, turns: int) -> int:
        return int(self.ask("INSERT INTO tasks (turns) VALUES (?) RETURNING id", turns)[0][0])

    def owner(self, task: int) -> str | None:
        return self.ask("SELECT owner FROM tasks WHERE id = ?", task)[0][0]

    @property
    def done(self) -> list[int]:
        return sorted(task for (task,) in self.ask("SELECT id FROM done"))


def test_a_task_that_cannot_be_finished_goes_to_another_vm_and_every_task_is_done_once(tmp_path: Path):
    queue = Queue(tmp_path / "queue.db")
    pid_file = tmp_path / "worker.pid"
    here = program("queue_worker", "web-0", queue.path, pid_file)
    there = program("queue_worker", "web-1", queue.path, tmp_path / "other.pid")
    script = f"#!/bin/sh\ncd {ROOT}\n{shlex.join(here)} < /dev/null > /dev/null 2>&1 &\n"
    places = {"/run/worker.pid": pid_file, "/usr/local/bin/start-worker": put(tmp_path / "start-worker", script)}
    with a_machine(tmp_path, filled(block("Handing tasks to other VMs", "toml"), places)) as machine:
        try:
            long = queue.add(LONG)
            machine.start(*here)
            wait_until(lambda: queue.owner(long) == "web-0", "the task to be taken")
            other = machine.start(*there)
            short = [queue.add(3) for _ in range(5)]
            event = machine.announce()
            machine.wait_for_approval(event)
            handed = queue.ask("SELECT put_back_by, turns FROM tasks WHERE id = ?", long)[0]
            was_running = is_running(int(pid_file.read_text()))
            wait_until(lambda: queue.owner(long) == "web-1", "web-1 to take the task")
            machine.finish(event)
            last = queue.add(3)
            wait_until(lambda: queue.done == [*short, last], "the short tasks")
            other.terminate()
            other.wait(60)
            wait_until(lambda: queue.owner(long) == "web-0", "the worker to take tasks again")
        finally:
            end_of(pid_file)

    assert handed[0] == "web-0"
    assert 0 < handed[1] < LONG, "what was done of it is not done again"
    assert not was_running, "the worker had ended before the approval"
    assert queue.ask("SELECT by FROM done WHERE id = ?", last) == [("web-0",)]

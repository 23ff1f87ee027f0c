"""A worker that takes tasks from a queue which it shares with others. A task has a number of turns to do.

python -m tests.uses.programs.queue_worker NAME DATABASE PID-FILE

SIGTERM: it takes no more. A task with few turns left is finished, another one put back with what was done of it.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import threading
from pathlib import Path

NAME, DATABASE, PID_FILE = sys.argv[1], sys.argv[2], Path(sys.argv[3])
FEW = 20
TOLD: list[str] = []  # to come to an end; whoever breaks in as a signal's handler does may take no lock
TURN = threading.Event()  # that never comes to an end before its time


def take(queue: sqlite3.Connection) -> tuple[int, int] | None:
    """A task of one's own, and how many turns it has left."""
    return queue.execute(
        "UPDATE tasks SET owner = ? WHERE id = (SELECT id FROM tasks WHERE owner IS NULL ORDER BY id LIMIT 1)"
        " RETURNING id, turns",
        (NAME,),
    ).fetchone()


def work_on(queue: sqlite3.Connection, task: int, turns: int) -> None:
    while turns and not (TOLD and turns > FEW):
        TURN.wait(0.01)
        turns -= 1
    if turns:
        queue.execute(
            "UPDATE tasks SET owner = NULL, turns = ?, put_back_by = ? WHERE id = ?", (turns, NAME, task)
        )
    else:
        queue.execute("INSERT INTO done VALUES (?, ?)", (task, NAME))
        queue.execute("UPDATE tasks SET turns = 0 WHERE id = ?", (task,))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: TOLD.append("to end"))
    PID_FILE.write_text(str(os.getpid()), encoding="ascii")
    shared = sqlite3.connect(DATABASE, isolation_level=None, timeout=30)
    while not TOLD:
        taken = take(shared)
        if taken is None:
            TURN.wait(0.02)
        else:
            work_on(shared, *taken)
    shared.close()

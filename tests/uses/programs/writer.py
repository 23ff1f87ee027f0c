"""Commits rows to whoever leads, one after the other, and notes every one that it was told is committed.

python -m tests.uses.programs.writer CONNINFO FILE, until its input ends.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import psycopg

CONNINFO, FILE = sys.argv[1], Path(sys.argv[2])
IS_OVER = threading.Event()


def write() -> None:
    number = 0
    with FILE.open("a", encoding="ascii") as noted:
        while not IS_OVER.is_set():
            try:
                with psycopg.connect(CONNINFO, autocommit=True, connect_timeout=5) as leader:
                    while not IS_OVER.is_set():
                        number += 1  # also after a failure: whether that row is there is not known
                        leader.execute("INSERT INTO rows VALUES (%s)", (number,))
                        noted.write(f"{number}\n")
                        noted.flush()
            except psycopg.Error:
                IS_OVER.wait(0.05)


if __name__ == "__main__":
    writing = threading.Thread(target=write)
    writing.start()
    sys.stdin.read()
    IS_OVER.set()
    writing.join()

"""Clients that never pause, each request over a connection of its own; a line for every answer, or for its lack.

python -m tests.uses.programs.load PORT CLIENTS FILE, until its input ends.
"""

from __future__ import annotations

import http.client
import sys
import threading
from pathlib import Path

PORT, CLIENTS, FILE = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
IS_OVER = threading.Event()
LOCK = threading.Lock()


def ask() -> str:
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        return f"{answer.status} {answer.read().decode().splitlines()[0]}"
    except (OSError, http.client.HTTPException) as problem:
        return f"failed {problem!r}"
    finally:
        connection.close()


def ask_on() -> None:
    while not IS_OVER.is_set():
        line = ask()
        with LOCK, FILE.open("a") as file:
            file.write(f"{line}\n")
        if line.startswith("failed"):
            IS_OVER.wait(0.05)


if __name__ == "__main__":
    clients = [threading.Thread(target=ask_on) for _ in range(CLIENTS)]
    for each in clients:
        each.start()
    sys.stdin.read()
    IS_OVER.set()
    for each in clients:
        each.join()

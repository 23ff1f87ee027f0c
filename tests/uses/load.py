"""Requests from a process of clients, all the time, and what came of them."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.running import ROOT, wait_until
from tests.uses.machine import end, program


class Load:
    """What the clients have got so far."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def answers(self) -> list[str]:
        return self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else []

    @property
    def failures(self) -> Counter[str]:
        return Counter(line for line in self.answers if not line.startswith("200 "))

    def wait_for(self, name: str, count: int = 5) -> None:
        """Until so many more answers came from a server."""
        wanted = self.answers.count(f"200 {name}") + count
        wait_until(lambda: self.answers.count(f"200 {name}") >= wanted, f"{count} answers of {name}")


@contextmanager
def load(place: Path, port: int, clients: int = 8) -> Iterator[Load]:
    """Clients for the length of a block; all their requests have come to their end after it."""
    file = place / "answers"
    process = subprocess.Popen(program("load", port, clients, file), cwd=ROOT, stdin=subprocess.PIPE)
    try:
        yield Load(file)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        end(process)

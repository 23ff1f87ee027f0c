"""Find and end the descendants of a process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_GENTLE_ROUNDS = 40
_ROUND_SECONDS = 0.05
_MOST_ROUNDS = 400

Wait = Callable[[float], None]  # wait that long or until a child ends, and reap it


def below(top: int) -> dict[int, str]:
    """The running descendants of a process: ids and names."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and (found := _look_at(int(entry.name))):
            parents[int(entry.name)] = found
    inside = {top}
    for _ in range(len(parents)):  # a generation a round
        more = {process for process, (parent, _) in parents.items() if parent in inside} - inside
        if not more:
            break
        inside |= more
    return {process: parents[process][1] for process in sorted(inside - {top})}


def _look_at(process: int) -> tuple[int, str] | None:
    """The parent and name of a process; None if it has ended."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    state, parent = rest.split()[:2]
    return None if state in {"Z", "X"} else (int(parent), name)


def network_of(process: int) -> int | None:
    """The network namespace of a process."""
    try:
        return Path(f"/proc/{process}/ns/net").stat().st_ino
    except OSError:
        return None


def end_all(find: Callable[[], dict[int, str]], wait: Wait, *, gently: bool) -> dict[int, str]:
    """End the found processes and what they start meanwhile; return those found first."""
    first = find()
    if gently and first:
        _send(first, signal.SIGTERM, signal.SIGCONT)
        for _ in range(_GENTLE_ROUNDS):
            if not find():
                return first
            wait(_ROUND_SECONDS)
    for _ in range(_MOST_ROUNDS):
        left = find()
        if not left:
            break
        _send(left, signal.SIGKILL)
        wait(_ROUND_SECONDS)
    return first


def _send(processes: dict[int, str], *numbers: int) -> None:
    for process in processes:
        for number in numbers:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, number)

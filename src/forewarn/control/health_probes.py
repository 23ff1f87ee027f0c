"""How a health check is run: an address is asked, a command is started. Each ends in a bounded time.

Commands are those that whoever runs the service has named; a fleet can only refer to them.
"""

from __future__ import annotations

import http.client
import os
import secrets
import select
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from forewarn import __version__
from forewarn.control.http_call import HttpCall

_LONGEST_REASON = 200
_KEPT_BYTES = 4096  # of what a command has written: its last words
_MARK = "FOREWARN_CHECK"  # a variable by which a command's processes are found, also those that left its session
_MOST_ROUNDS = 40  # of ending what the processes start meanwhile
_LOOK_SECONDS = 0.05  # how long after its end a command is noticed to have ended
_IF_IT_HAS_ENDED = (
    os.WEXITED | os.WNOHANG | os.WNOWAIT
)  # its number is not given to another until its group is gone


@dataclass(frozen=True, slots=True)
class ProbeTimeouts:
    """How long a check may take, before it counts as a bad answer."""

    address_seconds: float = 5.0
    command_seconds: float = 30.0

    @property
    def longest_seconds(self) -> float:
        """When every check is over, with some room for the machine that it runs on."""
        return max(self.address_seconds, self.command_seconds) + 5


def ask_address(url: str, seconds: float) -> str | None:
    """None if it answers 2xx; else what it does instead."""
    try:
        status = HttpCall(url, seconds).make("GET", None, {"User-Agent": f"forewarn/{__version__}"}).status
    except TimeoutError:
        return f"did not answer within {seconds:g} s"
    except (OSError, http.client.HTTPException) as problem:
        return f"did not answer ({_in_short(problem)})"[:_LONGEST_REASON]
    return None if 200 <= status < 300 else f"answered {status}"  # noqa: PLR2004 - HTTP's own


def _in_short(problem: Exception) -> str:
    said = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return said or type(problem).__name__


def run_command(command: Sequence[str], set_name: str, seconds: float) -> str | None:
    """None if it ends with 0; else how it ends. All that it has started dies with it."""
    mark = secrets.token_hex(16)
    try:
        process = subprocess.Popen(  # noqa: S603 - named by whoever runs the service
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "FOREWARN_SET": set_name, _MARK: mark},
            start_new_session=True,
        )
    except OSError as problem:
        return f"could not be started: {command[0]}: {_in_short(problem)}"[:_LONGEST_REASON]
    with process:
        try:
            said = _last_words(process, time.monotonic() + seconds)
        finally:
            _end_all(process.pid, f"{_MARK}={mark}".encode())
    if said is None:
        return f"did not end within {seconds:g} s"
    if process.returncode == 0:
        return None
    lines = said.decode(errors="replace").strip().splitlines()
    return (f"ended with {process.returncode}" + (f": {lines[-1]}" if lines else ""))[:_LONGEST_REASON]


def _end_all(top: int, mark: bytes) -> None:
    """Kill a command that is not collected yet, its group, and every process that it or its children started."""
    for _ in range(_MOST_ROUNDS):
        family = _family(top, mark)  # first: orphans no longer tell whose they were
        with suppress(ProcessLookupError):
            os.killpg(top, signal.SIGKILL)
        if not family:
            return
        for pid in family:
            with suppress(OSError):  # gone meanwhile, or another user's
                os.kill(pid, signal.SIGKILL)
        threading.Event().wait(_LOOK_SECONDS)


def _family(top: int, mark: bytes) -> set[int]:
    """The live processes below a process, and those that have its mark in their environment."""
    parents: dict[int, int] = {}
    family: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone meanwhile, or another user's
            state, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if state not in {b"Z", b"X"}:
                parents[int(entry.name)] = int(parent)
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    family.add(int(entry.name))
    while more := {pid for pid, parent in parents.items() if parent in family | {top}} - family:
        family |= more
    return family


def _last_words(process: subprocess.Popen[bytes], deadline: float) -> bytes | None:
    """What it has written at the end, once it has ended; None: it has not, and its time is over."""
    pipe, said = process.stdout.fileno() if process.stdout else -1, b""
    readable = select.poll()
    readable.register(pipe, select.POLLIN)
    while True:
        has_ended = os.waitid(os.P_PID, process.pid, _IF_IT_HAS_ENDED) is not None
        left = deadline - time.monotonic()
        if left <= 0:
            return said if has_ended else None
        if readable.poll(0 if has_ended else 1000 * min(left, _LOOK_SECONDS)):
            block = os.read(pipe, 65536)
            said = (said + block)[-_KEPT_BYTES:]
            if not block:
                readable.unregister(pipe)
        elif has_ended:
            return said

"""What Linux tells about processes. Elsewhere there is nothing to read, and the answers say so."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path, PurePath

from forewarn.agent.compat import dataclass

_PROC = Path("/proc")
_LONGEST_NAME = 15  # the kernel cuts names of programs there


@dataclass(frozen=True, slots=True)
class Process:
    """One process, which no later one with the same number can be taken for."""

    pid: int
    started: int  # in ticks since the machine came up
    name: str = ""
    group: int = 0
    session: int = 0
    is_dead: bool = False  # over, and not yet collected by its parent


def read_stat(line: str) -> Process | None:
    """A line of /proc/PID/stat."""
    head, _, tail = line.rpartition(")")
    fields = tail.split()
    try:
        pid, _, name = head.partition(" (")
        return Process(
            int(pid), int(fields[19]), name, int(fields[2]), int(fields[3]), is_dead=fields[0] in {"Z", "X", "x"}
        )
    except (ValueError, IndexError):
        return None


def process(pid: int) -> Process | None:
    """The process of that number; None where there is none that lives."""
    try:
        found = read_stat((_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return None if found is None or found.is_dead else found


def is_alive(known: Process) -> bool:
    """Whether it is still that process."""
    if not known.started:  # there is nothing to tell it by but that it leads its group
        return _leads_its_group(known.pid)
    found = process(known.pid)
    return found is not None and found.started == known.started


def processes() -> Iterator[Process]:
    """All that live."""
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit() and (found := process(int(entry.name))):
            yield found


def named(name: str) -> list[Process]:
    """Those whose program has that name, without ourselves and the kernel's own."""
    alike = [each for each in processes() if each.name == name[:_LONGEST_NAME] and each.pid != os.getpid()]
    return [
        each for each in alike if (said := _program(each.pid)) and (len(name) <= _LONGEST_NAME or said == name)
    ]


def members(session: int) -> list[Process]:
    """The processes of a session that live; none where there is no telling."""
    return [each for each in processes() if each.session == session]


def is_session_alive(session: int) -> bool:
    """Whether a process of the session lives; where there is no telling, one of its leader's group."""
    if _PROC.is_dir():
        return bool(members(session))
    try:
        os.killpg(session, 0)
    except OSError:
        return False
    return True


def send_signal(target: Process, number: int) -> None:
    """Signal that process, never a later one with its number. `OSError` where it is gone, or not ours."""
    if not hasattr(os, "pidfd_open"):
        os.kill(target.pid, number)
        return
    handle = os.pidfd_open(target.pid)
    try:
        if is_alive(target):
            signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


def see_how_children_end() -> None:
    """Have the status of what is run kept for us: who ignores SIGCHLD is told of none, and all seems to succeed.

    For the main thread; `ValueError` elsewhere.
    """
    if hasattr(signal, "SIGCHLD") and signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def boot_id() -> str:
    """The name of the machine's present boot; empty where it has none."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def is_session_of(pid: int, user: int) -> bool:
    """Whether it leads a session, and is that user's alone. Where there is no /proc, only our own can be told."""
    try:
        if os.getsid(pid) != pid:
            return False
    except OSError:
        return False
    return is_of(pid, user) if _PROC.is_dir() else user == os.geteuid()


def is_of(pid: int, user: int) -> bool:
    """Whether a process is that user's alone."""
    try:
        said = (_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    users = next((line.split()[1:] for line in said.splitlines() if line.startswith("Uid:")), [])
    return set(users) == {str(user)}


def has_variable(pid: int, name: str, value: str) -> bool:
    """Whether a process was started with that in its environment. One that may not be asked has not told."""
    try:
        said = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return os.fsencode(f"{name}={value}") in said.split(b"\0")


def _leads_its_group(pid: int) -> bool:
    try:
        return os.getpgid(pid) == pid
    except OSError:
        return False


def _program(pid: int) -> str:
    """The name it was called by; empty for what is part of the kernel."""
    try:
        called = (_PROC / str(pid) / "cmdline").read_bytes().partition(b"\0")[0]
    except OSError:
        return ""
    return PurePath(called.decode("utf-8", "replace")).name

"""`forewarn sandbox` as a process, run by root or by somebody who is not."""

from __future__ import annotations

import os
import pty
import select
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.running import ROOT, START, as_typed, wait_until
from tests.system.serving import FOREWARN

_MARK = "FOREWARN_TEST_PROCESS"
_ROOT_ID = 0
_OTHERS_MAY_READ = 0o755
_RUN_SECONDS = 60


def _as_nobody() -> tuple[str, ...]:
    """How to run something as a user without rights, who can read Python and the project, wherever they are.

    What lies below a folder that is closed to him is laid out again above it, in a mount namespace of its own.
    """
    lines = ["set -e", "kept=$(mktemp -d)", "trap 'rmdir $kept' EXIT"]
    hidden: dict[Path, list[str]] = {}
    for path in dict.fromkeys((Path(sys.base_prefix), Path(sys.prefix), ROOT)):
        closed = [each for each in reversed(path.parents) if not each.stat().st_mode & stat.S_IXOTH]
        if closed:
            hidden.setdefault(closed[0], []).append(shlex.quote(str(path)))
    for folder, paths in hidden.items():
        lines += ["mount -t tmpfs -o mode=755 none $kept"]
        lines += [f"mkdir -p $kept{path} && mount --bind {path} $kept{path}" for path in paths]
        lines += [f"mount --rbind $kept{shlex.quote(str(folder))} {shlex.quote(str(folder))}"]
        lines += ["umount -l $kept"]
    lines += ["rmdir $kept", "trap - EXIT"]
    lines += ['exec setpriv --reuid nobody --regid nogroup --clear-groups "$@"']
    return ("unshare", "--mount", "--propagation", "private", "bash", "-c", "\n".join(lines), "bash")


WHO = {"root": (), "an ordinary user": _as_nobody()}
VIRTUAL = ("--clock", "virtual", "--clock-start", START.isoformat())


class Sandboxes:
    """Sandboxes of one user, in a folder that he may read."""

    def __init__(self, who: tuple[str, ...], folder: Path) -> None:
        self._who = who
        self.folder = folder

    @property
    def is_root(self) -> bool:
        return not self._who

    def command(self, *arguments: str) -> list[str]:
        """The command line; what is ignored where the tests run no shell below could trap."""
        return as_typed(*self._who, FOREWARN, "sandbox", *arguments)

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run one to its end."""
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            timeout=_RUN_SECONDS,
            check=False,
            env=bare_environment() | variables,
            cwd=self.folder,
        )

    @contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """One that runs meanwhile."""
        process = subprocess.Popen(
            self.command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=bare_environment(),
            cwd=self.folder,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=_RUN_SECONDS)


class Terminal:
    """What runs at a terminal of its own, as the leader of its session."""

    def __init__(self, process: int, ours: int) -> None:
        self.process = process
        self._ours = ours
        self._seen = ""

    def read_until(self, wanted: str) -> str:
        """What is on the screen, once this is."""
        while wanted not in self._seen:
            assert select.select([self._ours], [], [], _RUN_SECONDS)[0], f"no {wanted!r} in {self._seen!r}"
            self._seen += os.read(self._ours, 1024).decode(errors="replace")
        return self._seen

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def hang_up(self) -> None:
        """As when a window is closed, or a connection ends."""
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    def wait(self) -> int:
        """Its exit code."""
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@contextmanager
def at_a_terminal(command: list[str]) -> Iterator[Terminal]:
    """Run a command where somebody sits and presses keys."""
    process, ours = pty.fork()
    if process == 0:
        os.execvpe(command[0], command, bare_environment())
    terminal = Terminal(process, ours)
    try:
        yield terminal
    finally:
        terminal.hang_up()  # on all that is still there


def bare_environment() -> dict[str, str]:
    """An environment in which `forewarn` and `python` are ours, with a mark of this test process."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"PATH": path, "LC_ALL": "C.UTF-8", _MARK: str(os.getpid())}


@contextmanager
def readable_folder() -> Iterator[Path]:
    """A folder that everybody may read."""
    assert os.geteuid() == _ROOT_ID, "these tests have to be run by root"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(_OTHERS_MAY_READ)
        yield folder


def in_network(number: str) -> list[int]:
    """Our processes in a network, which a program has printed with `readlink /proc/self/ns/net`.

    The kernel gives the number of a network that is gone to the next one, perhaps in another worker.
    """
    mark = f"{_MARK}={os.getpid()}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            is_inside = entry.name.isdecimal() and str((entry / "ns" / "net").readlink()) == number
            if is_inside and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def has_pending(process: int, number: int) -> bool:
    """Whether a signal waits until the process hears it."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return any(int(line.split()[1], 16) >> (number - 1) & 1 for line in lines if line.startswith("ShdPnd:"))


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def is_empty(number: str) -> None:
    """Wait until nothing is left in a network."""
    wait_until(lambda: not in_network(number), f"the network {number} to be empty: {in_network(number)}")

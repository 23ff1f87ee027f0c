"""What the agent costs, and how soon it acts: memory, CPU, start, and from a change on the server to a handler.

    make bench                      (or: .venv/bin/python -m benchmarks.agent --seconds 60 --turns 30)

Idle is one poll a second of a real service, with a file of rules and nothing going on. Memory is what the kernel
says (VmRSS, in kB of 1024 bytes), next to that of a Python that does nothing; CPU is the agent's own time, next
to a loop of curl and sleep that asks as often. A handler counts as started when the program that it runs has
written its first byte.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.parts import TARGET, BenchmarkFailed, ForewarnServer, free_port
from tools.agent_file import build

MOST_MEBIBYTES = 20.0
MOST_CPU_PERCENT = 0.2
MOST_MILLISECONDS = 20.0
_PYTHON = [sys.executable, "-I", "-S"]
_FOREWARN = str(Path(sys.executable).parent / "forewarn")
_SETTLE_SECONDS = 5
_FILE = """
wait_seconds = {wait_seconds}
poll_seconds = 1
[[rules]]
profile = "drain"
[profiles.drain]
approval = "never"
[[profiles.drain.steps]]
name = "note"
uses = "command"
command = ["/bin/sh", "-c", "echo do > {pipe}"]
undo = ["/bin/sh", "-c", "echo undo > {pipe}"]
"""


class Place:
    """A service, the agent's file, and a pipe in which handlers tell that they run."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.pyz = directory / "forewarn-agent.pyz"
        build(self.pyz)
        self.server = ForewarnServer(directory, 100)
        self.server.start()
        self.vm = "vm-000050"
        self._pipe = directory / "pipe"
        os.mkfifo(self._pipe)
        # Open in both directions: there is always a reader, and never an end.
        self._told = os.open(self._pipe, os.O_RDWR | os.O_NONBLOCK)

    def agent(self, beginning: Sequence[str], wait_seconds: int) -> list[str]:
        file = self._directory / f"agent-{wait_seconds}.toml"
        file.write_text(_FILE.format(wait_seconds=wait_seconds, pipe=self._pipe))
        endpoint = f"http://127.0.0.1:{self.server.port}"
        state = tempfile.mkdtemp(dir=self._directory)
        return [
            *beginning, "run", "--config", str(file), "--endpoint", endpoint, "--state-dir", state,
            "--listen", f"127.0.0.1:{free_port()}",
        ]  # fmt: skip

    def wait_for(self, word: str, seconds: float = 30) -> float:
        """When a handler told this word."""
        deadline = time.monotonic() + seconds
        while select.select([self._told], [], [], max(0.0, deadline - time.monotonic()))[0]:
            at = time.monotonic()
            if word in os.read(self._told, 1000).decode().split():
                return at
        raise BenchmarkFailed(f"no handler said {word} within {seconds} s")

    def operator(self, method: str, path: str) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.operator_port, timeout=30)
        connection.request(method, path, "{}")
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status >= 300:
            raise BenchmarkFailed(f"{method} {path} was answered {answer.status}: {content.decode()}")
        said: dict[str, Any] = json.loads(content)
        return said

    def stop(self) -> None:
        self.server.stop()
        os.close(self._told)


@contextmanager
def running(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
        if process.poll() is not None:
            raise BenchmarkFailed(f"{' '.join(command)} ended with {process.returncode}")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


def mebibytes_of(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
    return kilobytes / 1024


def cpu_of(pid: int) -> float:
    """Seconds on a core, of all threads, and of children that have ended."""
    own = sum(int(each.read_text().split()[0]) for each in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return own + (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def idle(title: str, command: Sequence[str], seconds: float, *, is_bound: bool) -> bool:
    """Print what a process costs that has nothing to do; whether that is within bounds."""
    with running(command) as process:
        time.sleep(_SETTLE_SECONDS)
        before, began_at = cpu_of(process.pid), time.monotonic()
        time.sleep(seconds)
        percent = (cpu_of(process.pid) - before) / (time.monotonic() - began_at) * 100
        mebibytes = mebibytes_of(process.pid)
    print(f"  {title:<40}{mebibytes:>8.1f} MiB{percent:>10.3f} % of a core", flush=True)
    return not is_bound or (mebibytes < MOST_MEBIBYTES and percent < MOST_CPU_PERCENT)


def measure_idle(place: Place, seconds: float) -> bool:
    print(
        f"\nidle for {seconds:.0f} s, one poll a second (aim: under {MOST_MEBIBYTES:g} MiB, {MOST_CPU_PERCENT} %)"
    )
    url = f"http://127.0.0.1:{place.server.port}{TARGET}"
    curl = f"while sleep 1; do curl -s -o /dev/null -H Metadata:true '{url}'; done"
    is_good = idle("forewarn-agent.pyz", place.agent([*_PYTHON, str(place.pyz)], 0), seconds, is_bound=True)
    is_good &= idle("forewarn agent, installed", place.agent([_FOREWARN, "agent"], 0), seconds, is_bound=True)
    idle(
        "forewarn-agent.pyz, with long wait", place.agent([*_PYTHON, str(place.pyz)], 30), seconds, is_bound=False
    )
    idle("python3 -I -S that only waits", [*_PYTHON, "-c", "import signal; signal.pause()"], 1, is_bound=False)
    if shutil.which("curl"):
        idle("sh with curl and sleep", ["/bin/sh", "-c", curl], seconds, is_bound=False)
    return is_good


def measure_latency(place: Place, wait_seconds: int, turns: int) -> list[float]:
    """Milliseconds from the operator's request to the first byte of a handler's program, turn by turn."""
    took = []
    with running(place.agent([*_PYTHON, str(place.pyz)], wait_seconds)):
        time.sleep(_SETTLE_SECONDS)
        for turn in range(turns):
            time.sleep(0.5 + 0.1 * (turn % 10))  # at any time between two polls
            began_at = time.monotonic()
            event = place.operator("POST", f"/v1/vms/{place.vm}/restart")["event"]["id"]
            took.append((place.wait_for("do") - began_at) * 1000)
            place.operator("POST", f"/v1/events/{event}/cancel")
            place.wait_for("undo")
    return took


def measure_latencies(place: Place, turns: int) -> bool:
    print(
        f"\nfrom a change on the server to a handler's start, {turns} turns (aim: under {MOST_MILLISECONDS:g} ms)"
    )
    medians = []
    for title, wait_seconds in (("with long wait", 30), ("with plain polling, one a second", 0)):
        took = sorted(measure_latency(place, wait_seconds, turns))
        medians.append(statistics.median(took))
        print(f"  {title:<40}{medians[-1]:>8.1f} ms median{took[0]:>9.1f} least{took[-1]:>9.1f} most", flush=True)
    return medians[0] < MOST_MILLISECONDS


def measure_start(place: Place, turns: int) -> None:
    print(f"\nstart, median of {turns}")
    bare = [_timed([*_PYTHON, "-c", "pass"]) for _ in range(turns)]
    version = [_timed([*_PYTHON, str(place.pyz), "--version"]) for _ in range(turns)]
    first = [_to_first_poll(place) for _ in range(turns)]
    print(f"  {'python3 -I -S that does nothing':<40}{statistics.median(bare):>8.0f} ms")
    print(f"  {'forewarn-agent.pyz --version':<40}{statistics.median(version):>8.0f} ms")
    print(f"  {'forewarn-agent.pyz run, to its first poll':<40}{statistics.median(first):>8.0f} ms")


def _timed(command: Sequence[str]) -> float:
    began_at = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.monotonic() - began_at) * 1000


def _to_first_poll(place: Place) -> float:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        command = place.agent([*_PYTHON, str(place.pyz)], 0)
        command[command.index("--endpoint") + 1] = f"http://127.0.0.1:{listener.getsockname()[1]}"
        began_at = time.monotonic()
        with running(command):
            connection, _ = listener.accept()
            took = (time.monotonic() - began_at) * 1000
            connection.close()
    return took


def main() -> int:
    """Run it all; 1 when an aim is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long to watch an idle agent")
    parser.add_argument("--turns", type=int, default=30, help="how many changes to time")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory))
        try:
            measure_start(place, 11)
            is_good = measure_latencies(place, arguments.turns)
            is_good &= measure_idle(place, arguments.seconds)
        finally:
            place.stop()
    print(f"\nwithin its aims: {'yes' if is_good else 'NO'}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())

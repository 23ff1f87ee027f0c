"""Attacks on the operators' port, and what guests notice of them.

    .venv/bin/python -m benchmarks.attacks                          all of them
    .venv/bin/python -m benchmarks.attacks forms --seconds 20
    .venv/bin/python -m benchmarks.attacks --source OTHER/CHECKOUT  the same against another checkout's service

Each attack starts the real service, measures a guest's polls before and during the attack in one run, and prints
their median and 99th percentile with the service's memory and descriptors. The service has one core to itself. The
guest and the attacker share the other cores, and an attacker that could use a whole core (heads, pipes, forms) has
the lowest priority, so that the guest's figures show the service and not the attacker. On a machine with one core
they all share it.

    idle    silent connections, as many as the attacker can open; the service may open 1,024 files
    heads   requests whose headers never end
    pipes   pipelined requests whose responses are never read
    forms   sign-in forms of 60 KB, all percent-escapes, on 32 connections
    reads   the whole history as CSV, asked for 25 times a second and never taken
"""

from __future__ import annotations

import argparse
import http.client
import multiprocessing
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from benchmarks.history import history_line
from benchmarks.parts import TARGET, BenchmarkFailed, cpu_of, free_port, wait_for
from forewarn.core.event import EVENTS_PER_COMMIT, Event
from forewarn.core.world import Changes
from forewarn.store.sql import SqlStore

_POLL_SECONDS = 0.005
_VM = "vm-7"
_FILES = 1024
_CORES = sorted(os.sched_getaffinity(0))
_TENANT = "00000000-0000-4000-8000-000000000002"
_POLL = f"GET {TARGET} HTTP/1.1\r\nHost: localhost\r\nMetadata: true\r\n\r\n".encode()

Attack = Callable[[int, "Synchronized[int]", float], None]


class Service:
    """The service of a checkout, on a core of its own."""

    def __init__(self, source: Path, directory: Path) -> None:
        self.port, self.operator_port = free_port(), free_port()
        self._log = (directory / "service.log").open("w+b")
        fleet = directory / "fleet.toml"
        fleet.write_text(f'[[hosts]]\nname = "host-0"\n[[vms]]\nname = "{_VM}"\nhost = "host-0"\n')
        command = [
            sys.executable, "-c", "from forewarn.cli.entry import main; main()", "serve",
            f"--store=sqlite:///{directory}/store.db", f"--fleet={fleet}", f"--metadata=127.0.0.1:{self.port}",
            f"--guest={_VM}", f"--operator=127.0.0.1:{self.operator_port}", "--rate-limit=0", "--history-days=0",
        ]  # fmt: skip
        environment = os.environ | {"PYTHONPATH": str(source / "src")}
        self.process = subprocess.Popen(command, env=environment, stdout=self._log, stderr=self._log)
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (_FILES, _FILES))
        _use_core(self.process.pid, first=True)
        wait_for(self.port, self.process)

    @property
    def rss_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    @property
    def descriptors(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    def stop(self) -> float:
        """Seconds from SIGTERM to the end."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(120)
        took = time.monotonic() - began
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        return took

    def events_logged(self, word: str) -> int:
        self._log.flush()
        return Path(self._log.name).read_text(errors="replace").count(word)


def _use_core(process: int = 0, *, first: bool) -> None:
    if len(_CORES) > 1:
        os.sched_setaffinity(process, _CORES[:1] if first else _CORES[1:])


def write_history(store_file: Path, events: int) -> None:
    """Let so many events have ended."""
    store = SqlStore(f"sqlite:///{store_file}")
    for first in range(0, events, 500):
        with store.transaction() as transaction:
            number, mark = transaction.number + 1, transaction.mark()
            lines = [entity for line in range(first, min(first + 500, events)) for entity in history_line(line)]
            entities = tuple(
                replace(each, version=number, number=number * EVENTS_PER_COMMIT + index)
                if isinstance(each, Event)
                else replace(each, version=number)
                for index, each in enumerate(lines, 1)
            )
            assert mark is not None
            transaction.write(Changes(number, entities, (0,) * len(entities), ()), mark, number)
    store.close()


# The guest.


def poll(port: int, seconds: float, *, new_connections: bool) -> tuple[list[float], int]:
    """How long each poll took, in milliseconds, and how many failed; on one connection, or on a new one each."""
    took: list[float] = []
    failed = 0
    wire: socket.socket | None = None
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        began = time.perf_counter()
        try:
            if wire is None:
                wire = socket.create_connection(("127.0.0.1", port), timeout=5)
            wire.sendall(_POLL)
            if not wire.recv(65536).startswith(b"HTTP/1.1 200"):
                raise ConnectionError
        except OSError:
            failed += 1
            _close(wire)
            wire = None
            time.sleep(_POLL_SECONDS)
            continue
        took.append((time.perf_counter() - began) * 1000)
        if new_connections:
            _close(wire)
            wire = None
        time.sleep(_POLL_SECONDS)
    _close(wire)
    return took, failed


def _close(wire: socket.socket | None) -> None:
    if wire is not None:
        wire.close()


# The attackers, each in a process of its own.


def idle(port: int, count: Synchronized[int], seconds: float) -> None:
    ends, held = time.monotonic() + seconds, []
    while time.monotonic() < ends:
        try:
            held.append(socket.create_connection(("127.0.0.1", port), timeout=1))
            count.value += 1
        except OSError:
            time.sleep(0.01)
        if len(held) > 4000:
            held.pop(0).close()
        time.sleep(0.001)


def heads(port: int, count: Synchronized[int], seconds: float) -> None:
    """Bytes of headers that were taken, on one connection after the other."""
    ends, piece = time.monotonic() + seconds, b"X-Filler: " + b"x" * 8000 + b"\r\n"
    while time.monotonic() < ends and count.value < 300 * 2**20:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as wire:
            wire.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            while time.monotonic() < ends and count.value < 300 * 2**20:
                wire.sendall(piece)
                count.value += len(piece)
        time.sleep(0.01)
    time.sleep(max(0.0, ends - time.monotonic()))


def pipes(port: int, count: Synchronized[int], seconds: float) -> None:
    ends, request = time.monotonic() + seconds, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200
    while time.monotonic() < ends:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as wire:
            while time.monotonic() < ends:
                wire.sendall(request)
                count.value += 200
        time.sleep(0.01)


def forms(port: int, count: Synchronized[int], seconds: float) -> None:
    ends = time.monotonic() + seconds
    body = b"grant_type=client_credentials&client_id=x&client_secret=" + b"%41" * 20_000
    head = (
        f"POST /{_TENANT}/oauth2/v2.0/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
    ).encode()
    lock = threading.Lock()

    def post() -> None:
        while time.monotonic() < ends:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
                while time.monotonic() < ends:
                    wire.sendall(head + body)
                    if not wire.recv(65536):
                        break
                    with lock:
                        count.value += 1

    threads = [threading.Thread(target=post, daemon=True) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 10)


def reads(port: int, count: Synchronized[int], seconds: float) -> None:
    began = time.monotonic()
    while (now := time.monotonic()) < began + seconds:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as wire:
            wire.sendall(b"GET /v1/history?format=csv HTTP/1.1\r\nHost: localhost\r\n\r\n")
            count.value += 1
            time.sleep(0.002)
        time.sleep(max(0.0, began + count.value / 25 - now))


ATTACKS: dict[str, tuple[Attack, str]] = {
    "idle": (idle, "connections opened"),
    "heads": (heads, "bytes of headers sent"),
    "pipes": (pipes, "requests sent"),
    "forms": (forms, "forms answered"),
    "reads": (reads, "reads abandoned"),
}


def _attack(attack: Attack, port: int, count: Synchronized[int], seconds: float) -> None:
    _use_core(first=False)
    if attack in (heads, pipes, forms):  # these would take a whole core
        os.nice(19)
    attack(port, count, seconds)


# The run.


def run(name: str, source: Path, events: int, seconds: float) -> dict[str, Any]:
    """Measure before and during one attack."""
    attack, what = ATTACKS[name]
    with tempfile.TemporaryDirectory() as directory:
        service = Service(source, Path(directory))
        if name == "reads":
            service.stop()
            write_history(Path(directory) / "store.db", events)
            service = Service(source, Path(directory))
        new_connections = name == "idle"
        poll(service.port, 1, new_connections=new_connections)
        before, failed_before = poll(service.port, seconds, new_connections=new_connections)
        if failed_before:
            raise BenchmarkFailed(f"{failed_before} polls failed before the attack began")
        found: dict[str, Any] = {"rss before": service.rss_mb, "files before": service.descriptors}
        count: Synchronized[int] = multiprocessing.Value("q", 0)
        attacker = multiprocessing.Process(
            target=_attack, args=(attack, service.operator_port, count, seconds + 1)
        )
        attacker.start()
        time.sleep(1)
        peak: dict[str, float] = {"rss": 0, "files": 0}
        is_over = threading.Event()

        def watch() -> None:
            while not is_over.wait(0.1):
                with suppress(OSError, StopIteration):
                    peak["rss"] = max(peak["rss"], service.rss_mb)
                    peak["files"] = max(peak["files"], service.descriptors)

        watching = threading.Thread(target=watch)
        watching.start()
        cpu = cpu_of(service.process.pid)
        during, failed = poll(service.port, seconds, new_connections=new_connections)
        found["service CPU during %"] = (cpu_of(service.process.pid) - cpu) / seconds * 100
        is_over.set()
        watching.join()
        found |= {"rss peak": peak["rss"], "files peak": peak["files"], what: count.value}
        found["failed during"] = failed
        found["median before ms"], found["p99 before ms"] = _figures(before)
        found["median during ms"], found["p99 during ms"] = _figures(during)
        found["next operator waits s"] = _ask(service.operator_port)
        found["SIGTERM s"] = service.stop()
        found["log: limit reached"] = service.events_logged("operator connection limit reached")
        found["log: descriptors"] = service.events_logged("file descriptors exhausted")
        attacker.join(seconds + 20)
        if attacker.is_alive():
            attacker.kill()
            attacker.join()
    return found


def _figures(took: list[float]) -> tuple[float, float]:
    if len(took) < 2:
        return float("nan"), float("nan")
    return statistics.median(took), statistics.quantiles(took, n=100)[98]


def _ask(port: int) -> float:
    """How long one operator waits for a page of the history right after the attack; at most three minutes."""
    began = time.monotonic()
    while time.monotonic() - began < 180:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=180)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/v1/history?limit=1")
            if connection.getresponse().status == http.HTTPStatus.OK:
                break
        connection.close()
        time.sleep(0.05)
    return time.monotonic() - began


def main() -> int:
    """Run the attacks."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.attacks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("attack", nargs="*", help=f"one of {', '.join(ATTACKS)}; without it all")
    parser.add_argument("--seconds", type=float, default=10, help="length of each half of a run")
    parser.add_argument("--events", type=int, default=20_000, help="in the history")
    parser.add_argument("--source", type=Path, nargs="+", default=[Path()], help="checkouts to attack in turn")
    arguments = parser.parse_args()
    if unknown := set(arguments.attack) - set(ATTACKS):
        raise BenchmarkFailed(f"there is no attack {', '.join(unknown)}; there are {', '.join(ATTACKS)}")
    _use_core(first=False)
    for name in arguments.attack or ATTACKS:
        found = {
            str(each): run(name, each.resolve(), arguments.events, arguments.seconds) for each in arguments.source
        }
        print(f"\n{name:<26}" + "".join(f"{source[-16:]:>18}" for source in found))
        for what in next(iter(found.values())):
            print(f"  {what:<24}" + "".join(f"{figures[what]:>18,.2f}" for figures in found.values()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

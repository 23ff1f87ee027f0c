"""Does memory level off under connections, events, rollouts and streams that come and go?

    make soak MINUTES=30            (or: .venv/bin/python -m benchmarks.churn --minutes 30)

A real service with a file store runs under a steady load: guests that poll over new connections and approve what
they see, restarts, rollouts, streams that are opened and dropped, lists and history. Every five seconds it
records resident memory, descriptors, threads and the store's size. Memory has levelled off when the last third of
the run grew by less than 2 % of its mean. The command fails when it has not, or when descriptors or threads grew.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.parts import TARGET, BenchmarkFailed, cpu_of, free_port, wait_for

HOSTS, VMS = 20, 200
SAMPLE_SECONDS = 5.0
MOST_GROWTH = 0.02  # of the mean, over the last third
_FOREWARN = Path(sys.executable).parent / "forewarn"


@dataclass(frozen=True)
class Sample:
    """What the process used at one moment."""

    seconds: float
    rss_mb: float
    descriptors: int
    threads: int
    store_mb: float


class ChurnService:
    """`forewarn serve` with a fleet of 200 VMs, a file store and quick machines."""

    def __init__(self, directory: Path, store: str | None) -> None:
        self.port, self.operator_port = free_port(), free_port()
        self._directory = directory
        self._store = store or f"sqlite:///{directory}/churn.db"
        self._log = directory / "service.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        fleet = self._directory / "fleet.toml"
        rows = [f'[[hosts]]\nname = "host-{number}"\n' for number in range(HOSTS)]
        rows += [
            f'[[vms]]\nname = "vm-{number}"\nhost = "host-{number % HOSTS}"\naddresses = ["{address(number)}"]\n'
            for number in range(VMS)
        ]
        fleet.write_text("".join(rows))
        command = [
            str(_FOREWARN), "serve", f"--fleet={fleet}", f"--store={self._store}", "--rate-limit=0", "--lead=2",
            f"--metadata=127.0.0.1:{self.port}", f"--operator=127.0.0.1:{self.operator_port}", "--guest=vm-0",
            "--simulated-seconds=reboot=1", "--simulated-seconds=freeze=1",
        ]  # fmt: skip
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for(self.port, self._process)

    def stop(self) -> int:
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(30)

    def sample(self, began: float) -> Sample:
        status = Path(f"/proc/{self.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        files = (each for each in self._directory.glob("churn.db*") if each.is_file())
        return Sample(
            seconds=time.monotonic() - began,
            rss_mb=int(fields["VmRSS"].split()[0]) / 1024,
            descriptors=sum(1 for _ in Path(f"/proc/{self.pid}/fd").iterdir()),
            threads=int(fields["Threads"]),
            store_mb=sum(each.stat().st_size for each in files) / 1e6,
        )

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.operator_port, timeout=30)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            raw = answer.read()
            is_json = answer.getheader("Content-Type", "").startswith("application/json")
            return answer.status, json.loads(raw) if raw and is_json else None
        finally:
            connection.close()

    def poll(self, vm: int, approve: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        """One poll, or one approval, of a guest over a connection of its own."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=30, source_address=(address(vm), 0)
        )
        try:
            headers = {"Metadata": "true", "X-Request-Id": str(random.random())}
            if approve:
                body = json.dumps({"StartRequests": [{"EventId": event} for event in approve]})
                connection.request("POST", TARGET, body, headers)
            else:
                connection.request("GET", TARGET, headers=headers)
            answer = connection.getresponse()
            raw = answer.read()
            return [] if approve or answer.status != http.HTTPStatus.OK else json.loads(raw)["Events"]
        finally:
            connection.close()


def address(vm: int) -> str:
    return f"127.1.{vm // 250}.{vm % 250 + 1}"


class Load:
    """Threads that each repeat one act at a steady rate until told to stop."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def repeat(self, name: str, act: Callable[[random.Random], None], per_second: float) -> None:
        def run() -> None:
            dice = random.Random(name)
            while not self._stop.wait(1 / per_second):
                try:
                    act(dice)
                except (OSError, http.client.HTTPException):
                    self.counts[f"{name} failed"] += 1
                else:
                    self.counts[name] += 1

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)


class Acts:
    """What comes and goes."""

    def __init__(self, service: ChurnService) -> None:
        self._service = service

    def poll(self, dice: random.Random) -> None:
        vm = dice.randrange(VMS)
        waiting = tuple(each["EventId"] for each in self._service.poll(vm) if each["EventStatus"] == "Scheduled")
        if waiting:
            self._service.poll(vm, waiting)

    def restart(self, dice: random.Random) -> None:
        self._service.call("POST", f"/v1/vms/vm-{dice.randrange(VMS)}/restart")

    def roll_out(self, dice: random.Random) -> None:
        hosts = [f"host-{each}" for each in dice.sample(range(HOSTS), 3)]
        body = {"kind": "Freeze", "hosts": hosts, "recovery_seconds": 0, "notice_seconds": 900}
        status, rollout = self._service.call("POST", "/v1/rollouts", body)
        if status == http.HTTPStatus.CREATED and dice.random() < 0.5:
            self._service.call("POST", f"/v1/rollouts/{rollout['id']}/abort")

    def listen(self, dice: random.Random) -> None:
        with socket.create_connection(("127.0.0.1", self._service.operator_port), timeout=30) as stream:
            stream.sendall(b"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            for _ in range(dice.randrange(1, 4)):
                stream.recv(65536)

    def read(self, dice: random.Random) -> None:
        pages = ("/v1/events", "/v1/vms", "/v1/history?limit=50", "/v1/audit?limit=50", "/metrics", "/v1/rollouts")
        self._service.call("GET", dice.choice(pages))

    def burst(self, dice: random.Random) -> None:
        """Many connections at once, half of them to guests' pages, half to operators'; some never ask."""
        ports = [self._service.port] * 50 + [self._service.operator_port] * 50
        sockets = [socket.create_connection(("127.0.0.1", port), timeout=30) for port in ports]
        try:
            asking = [each for each in sockets if dice.random() < 0.8]
            for each in asking:
                each.sendall(b"GET /v1/vms HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            for each in asking[::2]:
                each.recv(65536)
        finally:
            for each in sockets:
                each.close()

    def download(self, dice: random.Random) -> None:
        """History as CSV; every second reader hangs up."""
        with socket.create_connection(("127.0.0.1", self._service.operator_port), timeout=30) as reader:
            reader.sendall(b"GET /v1/history?format=csv HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            while dice.random() < 0.5 and reader.recv(65536):
                pass


def put_under_load(service: ChurnService, load: Load) -> None:
    acts = Acts(service)
    for number in range(3):
        load.repeat(f"polls {number}", acts.poll, 25)
    load.repeat("restarts", acts.restart, 4)
    load.repeat("rollouts", acts.roll_out, 0.2)
    load.repeat("streams", acts.listen, 2)
    load.repeat("reads", acts.read, 2)
    load.repeat("bursts", acts.burst, 0.5)
    load.repeat("downloads", acts.download, 1)


def growth(samples: list[Sample]) -> float:
    """How much memory grew over the last third, in parts of its mean there: by the line of least squares."""
    last = samples[len(samples) * 2 // 3 :]
    slope = statistics.linear_regression([each.seconds for each in last], [each.rss_mb for each in last]).slope
    return slope * (last[-1].seconds - last[0].seconds) / statistics.mean(each.rss_mb for each in last)


def show(samples: list[Sample]) -> None:
    print(f"{'minute':>7}{'RSS MB':>9}{'descriptors':>13}{'threads':>9}{'store MB':>10}")
    step = max(1, len(samples) // 30)
    for each in [*samples[::step], samples[-1]]:
        row = f"{each.seconds / 60:>7.1f}{each.rss_mb:>9.1f}{each.descriptors:>13}{each.threads:>9}"
        print(f"{row}{each.store_mb:>10.1f}")


def judge(samples: list[Sample]) -> list[str]:
    """What did not level off, in sentences."""
    problems = []
    grew = growth(samples)
    print(f"memory over the last third: {grew:+.1%} (at most {MOST_GROWTH:.0%})")
    if grew > MOST_GROWTH:
        problems.append(f"Memory still grows: {grew:+.1%} over the last third.")
    middle, last = samples[len(samples) // 3 : len(samples) * 2 // 3], samples[len(samples) * 2 // 3 :]
    for name in ("descriptors", "threads"):
        before, after = (statistics.median(getattr(each, name) for each in part) for part in (middle, last))
        if after > before + 5:
            problems.append(
                f"There are more {name} in the last third ({after:.0f}) than in the second ({before:.0f})."
            )
    return problems


def main() -> int:
    """Run it; 1 when something did not level off."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.churn", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--store", help="another store (default: SQLite in a temporary folder)")
    parser.add_argument("--json", action="store_true", help="print the samples as JSON at the end")
    arguments = parser.parse_args()
    load = Load()
    with tempfile.TemporaryDirectory() as directory:
        service = ChurnService(Path(directory), arguments.store)
        service.start()
        samples: list[Sample] = []
        began = time.monotonic()
        put_under_load(service, load)
        with suppress(KeyboardInterrupt):
            while time.monotonic() - began < arguments.minutes * 60:
                time.sleep(SAMPLE_SECONDS)
                samples.append(service.sample(began))
                if len(samples) % 12 == 0:
                    each = samples[-1]
                    print(
                        f"{each.seconds / 60:5.1f} min  {each.rss_mb:6.1f} MB  {dict(load.counts)}",
                        file=sys.stderr,
                    )
        load.stop()
        cpu = cpu_of(service.pid)
        code = service.stop()
    if len(samples) < 30:
        raise BenchmarkFailed("Too few samples to judge: run for three minutes or longer.")
    show(samples)
    print(f"load: {dict(load.counts)}; {cpu:.0f} s of CPU; the service ended with {code}")
    problems = judge(samples)
    for problem in problems:
        print(problem)
    if arguments.json:
        print(json.dumps([vars(each) for each in samples]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

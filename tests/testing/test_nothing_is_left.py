"""Services that were started and stopped leave nothing behind, however many there were."""

from __future__ import annotations

import gc
import json
import socket
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from forewarn.emulator import Emulator
from forewarn.testing import Service
from tests.edge.wire import GET
from tests.running import wait_until
from tests.testing.project import Project

_OURS = ("forewarn.", "asyncio.", "sqlalchemy.engine", "uvicorn.", "starlette.")

MANY = """
import gc, json, os, threading
import pytest

OURS = ("forewarn.", "asyncio.")

def standing():
    gc.collect()
    with open("/proc/self/statm") as file:
        kilobytes = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    ours = [each for each in gc.get_objects() if str(type(each).__module__).startswith(OURS)]
    return {
        "files": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "objects": len(ours),
        "kilobytes": kilobytes,
    }

@pytest.mark.parametrize("turn", range(500))
def test_it(forewarn, turn):
    vm = forewarn.vm("web_0")
    if turn % 10 == 0:
        assert vm.events() == []
        event = forewarn.restart(vm)
        vm.approve(vm.events()[0]["EventId"])
        event.expect("Started")

@pytest.fixture(autouse=True)
def noted(turn):
    if turn in (100, 499):  # before the service of this test is started
        with open("standing.jsonl", "a") as file:
            file.write(json.dumps(standing()) + "\\n")
"""


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def heard_here() -> set[int]:
    """The ports on which this process listens; another may have been given one of ours meanwhile."""
    mine = {str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()}
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].partition(":")[2], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in mine}


def live() -> Counter[str]:
    """The objects that a service is made of, by their class."""
    gc.collect()
    kinds = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    return Counter(kind for kind in kinds if kind.startswith(_OURS))


def use_one() -> list[int]:
    """Start, use and stop a service; the ports that it had."""
    with Service() as service:
        vm = service.vm("web_0")
        vm.approve(service.restart(vm))
        ports = [vm.port, service.emulator.service.operator[1], service.emulator.service.metadata[0][1]]
        assert heard_here() >= set(ports)
        return ports


def test_a_service_that_was_stopped_leaves_no_port_thread_file_or_object():
    use_one()  # what is made once and kept is there from now on
    files, threads, objects = open_files(), set(threading.enumerate()), live()

    ports = [port for _ in range(5) for port in use_one()]

    assert set(threading.enumerate()) <= threads
    assert open_files() <= files
    assert live() - objects == Counter()
    assert set(ports).isdisjoint(heard_here())


def test_a_guest_that_stays_connected_does_not_hold_the_service_up():
    with Service() as service:
        vm = service.vm("web_0")
        guest = socket.create_connection(("127.0.0.1", vm.port))
        guest.sendall(GET)
        assert guest.recv(1000).startswith(b"HTTP/1.1 200")

    assert guest.recv(1000) == b""
    guest.close()


def wait_for_first_call(service: Service) -> None:
    scopes = service.emulator.service.plane.world.scopes
    wait_until(lambda: any(each.is_on for each in scopes.values()), "the first call to be taken")


def test_a_guest_in_its_first_call_is_answered_when_the_service_stops_and_nothing_is_left_of_it():
    use_one()
    files, threads, objects = open_files(), set(threading.enumerate()), live()

    with Service(first_call_delay=600) as service:
        vm = service.vm("web_0", enabled=False)
        guest = socket.create_connection(("127.0.0.1", vm.port), timeout=30)
        guest.sendall(GET)
        wait_for_first_call(service)
        del service, vm

    assert guest.recv(1000).startswith(b"HTTP/1.1 503")
    assert guest.recv(1000) == b""
    guest.close()
    assert set(threading.enumerate()) <= threads
    assert open_files() <= files
    assert live() - objects == Counter()


def test_an_emulator_that_was_made_and_never_started_leaves_nothing():
    use_one()
    files, threads, objects = open_files(), set(threading.enumerate()), live()

    Emulator()
    looked_at = Emulator()
    assert looked_at.service.plane.world.number == 0
    looked_at.stop()
    del looked_at

    assert set(threading.enumerate()) <= threads
    assert open_files() <= files
    assert live() - objects == Counter()


@pytest.mark.long
def test_five_hundred_fixtures_in_one_process_leave_nothing_and_are_fast(
    project: Project, figures: Callable[[str], None]
):
    project.write("test_it.py", MANY)

    run = project.run()

    assert run.status == 0, run.said
    early, late = map(json.loads, (project.directory / "standing.jsonl").read_text().splitlines())
    grown = (late["kilobytes"] - early["kilobytes"]) / 399
    seconds, cpu = ([each[what] * 1000 for each in run.times] for what in ("seconds", "cpu"))
    figures(
        f"{len(run.times)} fixtures: median {median(seconds):.1f} ms, of which {median(cpu):.1f} ms of CPU; "
        f"where they are used {median(seconds[::10]):.1f} ms; {grown:.1f} kB each; at the end {late}"
    )
    assert len(run.times) == 500
    assert (late["files"], late["threads"]) == (early["files"], early["threads"])
    assert late["objects"] <= early["objects"] + 10
    assert grown < 30  # pytest keeps a report of every test; a service alone is megabytes
    assert median(cpu) < 50, "this is ours, whatever else the machine does"

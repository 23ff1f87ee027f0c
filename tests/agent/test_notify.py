"""What systemd hears."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from forewarn.agent.notify import Notifier


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(30)
        yield listener


def heard(systemd: socket.socket) -> str:
    return systemd.recv(4096).decode()


def test_it_says_when_it_is_ready_how_it_is_and_when_it_stops(systemd: socket.socket):
    notifier = Notifier({"NOTIFY_SOCKET": systemd.getsockname()})

    notifier.ready()
    notifier.status("watching, no events")
    notifier.status("watching, no events")
    notifier.stopping()

    assert [heard(systemd) for _ in range(3)] == [
        "READY=1",
        "STATUS=watching, no events",
        "STOPPING=1\nSTATUS=stopping",
    ]


def test_an_events_id_is_never_taken_for_another_message(systemd: socket.socket):
    notifier = Notifier({"NOTIFY_SOCKET": systemd.getsockname()})

    notifier.status("watching, Reboot E1\nMAINPID=1\x1b[2J \ud800 Scheduled")

    assert heard(systemd) == "STATUS=watching, Reboot E1?MAINPID=1?[2J ? Scheduled"


def test_the_watchdog_is_patted_three_times_as_often_as_it_has_to_be(systemd: socket.socket):
    notifier = Notifier({"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": "30000000"})
    systemd.settimeout(0)

    patted = []
    for second in range(25):
        notifier.pat(float(second))
        try:
            patted.append((second, heard(systemd)))
        except BlockingIOError:
            continue

    assert patted == [(0, "WATCHDOG=1"), (10, "WATCHDOG=1"), (20, "WATCHDOG=1")]


def test_a_name_without_a_file_is_understood():
    name = f"forewarn-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0{name}")
        listener.settimeout(30)

        Notifier({"NOTIFY_SOCKET": f"@{name}"}).ready()

        assert heard(listener) == "READY=1"


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"NOTIFY_SOCKET": "/nowhere/at/all"},
        {"WATCHDOG_USEC": "x"},
        {"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"},
    ],
    ids=["nothing", "nobody there", "no number", "another process is meant"],
)
def test_where_there_is_no_systemd_nothing_happens(environment: dict[str, str]):
    notifier = Notifier(environment)

    notifier.ready()
    notifier.pat(1.0)

    assert notifier.watchdog_seconds is None

"""The networks of the other tests leave nothing behind, whatever happens in them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.running import ROOT, wait_until
from tests.system.namespaces import METADATA_ADDRESS, IpFailed, bridged, ip, unbridged

pytestmark = pytest.mark.system

BUILD_AND_DIE = """
import os, signal
from tests.system.namespaces import bridged
with bridged(1) as network:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_network_is_taken_away_when_its_block_fails():
    built = set()

    def fail_inside():
        with bridged(2):
            built.update(made_by(os.getpid()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()

    assert len(built) == 3
    assert not built & made_by(os.getpid())


def test_a_network_that_cannot_be_built_leaves_nothing_and_says_what_ip_said():
    before = made_by(os.getpid())

    refused = pytest.raises(IpFailed, match=r"address add no-address/24 dev eth0: exit 1: .*no-address")
    with refused, unbridged(["no-address"]):
        pass

    assert made_by(os.getpid()) == before


def test_a_process_left_in_a_network_ends_with_it():
    with bridged(1) as network:
        guest = network.guests[0]
        process = subprocess.Popen(guest.inside("tail", "-f", "/dev/null"))
        wait_until(lambda: str(process.pid) in ip("netns", "pids", guest.name).split(), "the process to be inside")

    assert process.wait(20) < 0


def test_what_a_killed_run_left_is_taken_away_by_the_next():
    killed = subprocess.Popen([sys.executable, "-c", BUILD_AND_DIE], cwd=ROOT)
    wait_until(lambda: has_ended(killed.pid), "the run to be killed")
    left = made_by(killed.pid)
    killed.wait(20)

    with bridged(1):
        still_left = made_by(killed.pid)

    assert len(left) == 2
    assert not still_left


def test_the_machines_own_network_is_not_touched():
    before = own_network()

    with bridged(1), unbridged(["10.77.0.11"]):
        during = own_network()

    assert during == before


def has_ended(process: int) -> bool:
    """Whether a child has ended; it is not forgotten yet, so that no other run clears up after it meanwhile."""
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def made_by(process: int) -> set[str]:
    """The namespaces that the tests of a process have made."""
    names = (line.split()[0] for line in ip("netns", "list").splitlines())
    return {name for name in names if name.startswith(f"fw{process}-")}


def own_network() -> list[str]:
    """What the machine itself knows of the addresses that the tests use."""
    lines = (ip("-oneline", "address", "show") + ip("route", "show", "table", "all")).splitlines()
    return [line for line in lines if "10.77.0." in line or METADATA_ADDRESS in line]

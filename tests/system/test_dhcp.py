"""A real DHCP server hands out option 245, a real DHCP client notes it, and the agent asks where it says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.running import ROOT, wait_until
from tests.system.namespaces import (
    BRIDGE,
    METADATA_ADDRESS,
    GuestNamespace,
    Namespace,
    bare_environment,
    bridged,
    ip,
)
from tests.system.serving import Operator, serving

pytestmark = pytest.mark.system

ENDPOINT = "10.77.0.9"
FLEET = """
[[hosts]]
name = "host-0"

[[vms]]
name = "web-0"
host = "host-0"
addresses = ["10.77.0.11"]
"""
# Watches what it discovers, and approves what is its own.
PROGRAM = """
from forewarn.agent import watch
for event in watch("discover"):
    print(event.what, event.vm, flush=True)
    if event.is_mine and event.what == "scheduled":
        event.approve()
    elif event.what == "started":
        break
"""
DISCOVER = """
from forewarn.agent.endpoints import Endpoints
print([root.text for root in Endpoints(("discover",)).roots()])
"""


# Discovers, notes that it is prepared, and approves what is its own.
AGENT = """
endpoint = "discover"
state_dir = "{folder}/state"
listen = false

[[rules]]
profile = "drain"

[profiles.drain]
approval = "after_success"

[[profiles.drain.steps]]
name = "note"
uses = "command"
command = ["touch", "{folder}/drained"]
undo = ["touch", "{folder}/restored"]
"""


def test_the_agent_follows_an_event_of_the_endpoint_that_dhcp_option_245_names(tmp_path: Path):
    file = tmp_path / "agent.toml"
    file.write_text(AGENT.replace("{folder}", str(tmp_path)), encoding="utf-8")
    agent = (sys.executable, "-m", "forewarn.agent", "run", "--config", str(file))
    with bridged(1) as network, dhcp_server(network.host, tmp_path):
        guest = network.guests[0]
        ip("-n", network.host.name, "address", "add", f"{ENDPOINT}/32", "dev", BRIDGE)
        # So that only what DHCP says leads to an endpoint.
        ip("-n", network.host.name, "address", "del", f"{METADATA_ADDRESS}/32", "dev", BRIDGE)
        leases = take_a_lease(guest, tmp_path)
        with (
            serving(network.host, FLEET, tmp_path, f"{ENDPOINT}:80") as operator,
            running_in_guest(guest, leases, agent, tmp_path / "said") as said,
        ):
            wait_until(lambda: operator.ask("scope", "show", "web-0")["is_on"], "the first poll")
            event = operator.restart("web-0")
            wait_until(lambda: approver(operator, event) == "web-0", "the approval")
            was_drained = (tmp_path / "drained").exists()
            wait_until(lambda: '"event started"' in said.read_text(), "the start to be seen")
            operator.ask("clock", "advance", "10m")
            wait_until((tmp_path / "restored").exists, "the event to be over and undone", 60)

    assert was_drained, said.read_text()


def test_the_endpoint_that_dhcp_option_245_names_is_found_and_watched(tmp_path: Path):
    with bridged(1) as network, dhcp_server(network.host, tmp_path):
        guest = network.guests[0]
        ip("-n", network.host.name, "address", "add", f"{ENDPOINT}/32", "dev", BRIDGE)
        leases = take_a_lease(guest, tmp_path)
        with serving(network.host, FLEET, tmp_path, f"{ENDPOINT}:80") as operator:
            found = run_in_guest(guest, leases, DISCOVER)
            with running_in_guest(guest, leases, (sys.executable, "-c", PROGRAM), tmp_path / "said") as said:
                wait_until(lambda: operator.ask("scope", "show", "web-0")["is_on"], "the first poll")
                event = operator.restart("web-0")
                wait_until(lambda: "scheduled web-0" in said.read_text(), "the event to be seen")
                wait_until(lambda: approver(operator, event) == "web-0", "the approval")

    assert "unknown-245 a:4d:0:9;" in (leases / "dhclient.eth0.leases").read_text()
    assert found == f"['http://{ENDPOINT}', 'http://169.254.169.254']\n"


def approver(operator: Operator, event: str) -> str | None:
    return operator.ask("event", "show", event)["approved_by"]


@contextmanager
def dhcp_server(host: Namespace, folder: Path) -> Iterator[None]:
    """dnsmasq on the bridge, without DNS."""
    command = (
        *("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--user=root"),
        *(f"--interface={BRIDGE}", "--bind-interfaces", "--dhcp-range=10.77.0.50,10.77.0.60,1h"),
        *(f"--dhcp-option-force=245,{ENDPOINT}", f"--dhcp-leasefile={folder / 'served.leases'}"),
        *("--log-dhcp", "--log-facility=-", f"--pid-file={folder / 'dnsmasq.pid'}"),
    )
    log = folder / "dnsmasq.log"
    with log.open("wb") as output:
        server = subprocess.Popen(host.inside(*command), stdout=output, stderr=output, env=bare_environment())
    try:
        wait_until(
            lambda: "IP range 10.77.0.50" in log.read_text() or server.poll() is not None, "the DHCP server"
        )
        assert server.poll() is None, log.read_text()
        yield
    finally:
        server.kill()
        server.wait(20)


def take_a_lease(guest: GuestNamespace, folder: Path) -> Path:
    """dhclient asks once; what it notes is in the folder that is returned. It leaves the guest's network alone."""
    leases = folder / "dhcp"
    leases.mkdir()
    done = guest.run(
        *("dhclient", "-4", "-1", "-v", "-sf", "/bin/true", "-cf", "/dev/null"),
        *("-lf", str(leases / "dhclient.eth0.leases"), "-pf", str(folder / "dhclient.pid"), "eth0"),
    )
    assert done.returncode == 0, done
    return leases


def inside(guest: GuestNamespace, leases: Path, command: Sequence[str]) -> list[str]:
    """What runs a command in the guest, which has these leases where dhclient keeps them."""
    script = 'mkdir -p /var/lib/dhcp && mount --bind "$0" /var/lib/dhcp && exec "$@"'
    return guest.inside("bash", "-c", script, str(leases), *command)


def run_in_guest(guest: GuestNamespace, leases: Path, program: str) -> str:
    done = subprocess.run(
        inside(guest, leases, (sys.executable, "-c", program)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=bare_environment(),
        cwd=ROOT,
    )
    assert done.returncode == 0, done
    return done.stdout


@contextmanager
def running_in_guest(guest: GuestNamespace, leases: Path, command: Sequence[str], said: Path) -> Iterator[Path]:
    with said.open("wb") as output:
        running = subprocess.Popen(
            inside(guest, leases, command), stdout=output, stderr=output, env=bare_environment(), cwd=ROOT
        )
    try:
        yield said
        assert running.poll() in {None, 0}, said.read_text()
    finally:
        running.kill()
        running.wait(20)

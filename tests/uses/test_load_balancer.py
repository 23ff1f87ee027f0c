"""A real HAProxy under load, and a Reboot of one of the two machines behind it."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.running import free_port, wait_until
from tests.uses.load import Load, load
from tests.uses.machine import Machine, a_machine, end, program
from tests.uses.page import block, filled

pytestmark = pytest.mark.system

BY_SOCKET, BY_CHECK = "Removal from a load balancer", "Connection draining"
GENERAL = """
global
    stats socket ipv4@127.0.0.1:{admin} level admin
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend web
    bind 127.0.0.1:{port}
    default_backend web
"""
PLAIN = """
backend web
    server web-0 10.0.0.5:8080
    server web-1 10.0.0.6:8080
"""


class Site:
    """Two servers behind an HAProxy; the first runs in the machine that goes down."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.port, self.admin, self.web_0, self.web_1, self.agent = (free_port() for _ in range(5))

    def balance(self, backend: str) -> ExitStack:
        """Start HAProxy with the backend, and the server that stays."""
        places = {"10.0.0.5:8080": f"127.0.0.1:{self.web_0}", "10.0.0.6:8080": f"127.0.0.1:{self.web_1}"}
        text = GENERAL.format(admin=self.admin, port=self.port) + filled(backend, places)
        config = self.place / "haproxy.cfg"
        config.write_text(text, encoding="utf-8")
        stack = ExitStack()
        for command in (
            program("web_server", self.web_1, "web-1"),
            [shutil.which("haproxy") or "/usr/sbin/haproxy", "-db", "-f", str(config)],
        ):
            stack.callback(end, subprocess.Popen(command))
        wait_until(lambda: answers(self.port) and answers(self.web_1), "HAProxy and web-1 to listen")
        return stack

    def serve(self, machine: Machine) -> None:
        """The server in the machine."""
        machine.start(*program("web_server", self.web_0, "web-0"))
        wait_until(lambda: answers(self.web_0), "web-0 to listen")

    @contextmanager
    def under_load(self, config: str, backend: str = PLAIN) -> Iterator[tuple[Machine, Load]]:
        with a_machine(self.place, config, self.agent) as machine, self.balance(backend):
            self.serve(machine)
            with load(self.place, self.port) as requests:
                requests.wait_for("web-0")
                yield machine, requests


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def reboot(site: Site, machine: Machine, requests: Load, event: str) -> None:
    """The machine is down while the other one serves alone, comes up, and the event is over."""
    machine.crash()
    requests.wait_for("web-1", 60)
    site.serve(machine)
    machine.boot()
    machine.finish(event)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_server_leaves_haproxy_for_a_reboot_and_no_request_fails(site: Site):
    config = filled(block(BY_SOCKET, "toml"), {"10.0.0.2:9999": f"127.0.0.1:{site.admin}"})
    with site.under_load(config) as (machine, requests):
        event = machine.announce()
        machine.wait_for_approval(event)
        reboot(site, machine, requests, event)
        requests.wait_for("web-0", 60)

    assert not requests.failures
    assert len(requests.answers) > 50


def test_haproxy_asks_the_agent_how_the_machine_is_and_no_request_fails(site: Site):
    places = {"10.0.0.5:8256": f"127.0.0.1:{site.agent}", "[8080]": f"[{site.web_0}]"}
    config = filled(block(BY_CHECK, "toml"), places)
    backend = block(BY_CHECK, "haproxy")
    first, second = backend.split("    server web-1")
    of_web_0 = filled(first, {"8256": site.agent})
    # web-1 has no agent in this test: its own server answers the checks.
    of_web_1 = "    server web-1" + filled(second, {"8256": site.web_1})
    with site.under_load(config, of_web_0 + of_web_1) as (machine, requests):
        event = machine.announce()
        machine.wait_for_approval(event)
        reboot(site, machine, requests, event)
        requests.wait_for("web-0", 60)

    assert not requests.failures
    assert len(requests.answers) > 50


def test_without_the_agent_requests_fail(site: Site):
    with site.under_load("") as (machine, requests):
        event = machine.announce()
        wait_until(lambda: bool(machine.case(event)), "the agent to see it")
        machine.service.advance(minutes=15)
        assert machine.has_started(event)
        reboot(site, machine, requests, event)
        requests.wait_for("web-0", 60)

    assert requests.failures

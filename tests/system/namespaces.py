"""Networks for tests: a host and its guests, each a network namespace of its own.

Everything lives inside namespaces whose names begin with a prefix of this process, so that taking those away takes
everything away; nothing is ever added to the machine's own network.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.running import wait_until

METADATA_ADDRESS = "169.254.169.254"
HOST_ADDRESS = "10.77.0.1"
BRIDGE = "br0"

_COMMAND_SECONDS = 30
_MADE_BY = re.compile(r"fw(\d+)-\d+-")  # the process whose tests made a namespace
_numbers = count()


class IpFailed(Exception):
    """`ip` refused; the message is the command and what it said."""


def ip(*arguments: str) -> str:
    """What `ip` prints, or `IpFailed`."""
    command = ["ip", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise IpFailed(f"{' '.join(command)}: {problem}") from problem
    if done.returncode != 0:
        said = done.stderr.strip() or "nothing on stderr"
        raise IpFailed(f"{' '.join(command)}: exit {done.returncode}: {said}")
    return done.stdout


@dataclass(frozen=True)
class Namespace:
    """A place to run commands that see one network and no other."""

    name: str

    def inside(self, *command: str) -> list[str]:
        """The command that runs `command` in here, as the same process."""
        return ["ip", "netns", "exec", self.name, *command]

    def run(self, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, in an environment without proxies and settings."""
        return subprocess.run(
            self.inside(*command),
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
            env=bare_environment(),
            cwd=cwd,
        )


@dataclass(frozen=True)
class GuestNamespace(Namespace):
    """A guest: its address, and the host's end of its cable."""

    address: str
    interface: str


@dataclass(frozen=True)
class Network:
    """A host and its guests."""

    host: Namespace
    guests: tuple[GuestNamespace, ...]


@contextmanager
def bridged(guests: int) -> Iterator[Network]:
    """A host with a bridge that has the metadata address, and guests 10.77.0.11, .12, ... on it."""
    with _namespaces([f"10.77.0.{11 + number}" for number in range(guests)]) as network:
        host = network.host.name
        ip("-n", host, "link", "add", BRIDGE, "type", "bridge")
        ip("-n", host, "address", "add", f"{HOST_ADDRESS}/24", "dev", BRIDGE)
        ip("-n", host, "address", "add", f"{METADATA_ADDRESS}/32", "dev", BRIDGE)
        ip("-n", host, "link", "set", BRIDGE, "up")
        for guest in network.guests:
            _plug_in(network.host, guest)
            ip("-n", host, "link", "set", guest.interface, "master", BRIDGE)
        yield network


@contextmanager
def unbridged(addresses: Sequence[str]) -> Iterator[Network]:
    """A host with a cable to each guest, the metadata address on every cable; guests may share an address.

    There is a route to a guest's address on each cable that leads to one. Only a socket that is bound to a device
    is sure to answer on that device; for any other the first route is taken.
    """
    with _namespaces(addresses) as network:
        for which in ("all", "default"):  # a guest is heard although the first route to its address is another's
            _write(network.host, f"/proc/sys/net/ipv4/conf/{which}/rp_filter", "0")
        for metric, guest in enumerate(network.guests, 1):
            plug_in_alone(network.host, guest, metric)
        yield network


def unplug(host: Namespace, guest: GuestNamespace) -> None:
    """Take a guest's cable away, as a hypervisor does with the tap of a VM that stops."""
    ip("-n", host.name, "link", "delete", guest.interface)


def plug_in_alone(host: Namespace, guest: GuestNamespace, metric: int = 1) -> None:
    """A cable that is on no bridge: the metadata address on it, and the way back to the guest."""
    _plug_in(host, guest)
    ip("-n", host.name, "address", "add", f"{METADATA_ADDRESS}/32", "dev", guest.interface)
    ip("-n", host.name, "route", "add", f"{guest.address}/32", "dev", guest.interface, "metric", str(metric))


def _plug_in(host: Namespace, guest: GuestNamespace) -> None:
    """A cable from the host to the guest, the guest's end with its address and the way to the metadata address."""
    cable = ("type", "veth", "peer", "name", "eth0", "netns", guest.name)
    ip("-n", host.name, "link", "add", guest.interface, *cable)
    ip("-n", host.name, "link", "set", guest.interface, "up")
    ip("-n", guest.name, "address", "add", f"{guest.address}/24", "dev", "eth0")
    ip("-n", guest.name, "link", "set", "eth0", "up")
    ip("-n", guest.name, "route", "add", f"{METADATA_ADDRESS}/32", "dev", "eth0")


def _write(namespace: Namespace, file: str, value: str) -> None:
    done = namespace.run("bash", "-c", 'echo "$1" > "$2"', "bash", value, file)
    if done.returncode != 0:
        raise IpFailed(f"{file} in {namespace.name} could not be set to {value}: {done.stderr.strip()}")


def bare_environment() -> dict[str, str]:
    """What a command needs of the environment, and nothing that would send it elsewhere."""
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


# Making and taking away.


@contextmanager
def _namespaces(addresses: Sequence[str]) -> Iterator[Network]:
    prefix = f"fw{os.getpid()}-{next(_numbers)}-"
    host = Namespace(f"{prefix}host")
    guests = tuple(
        GuestNamespace(f"{prefix}vm{number}", address, f"veth{number}") for number, address in enumerate(addresses)
    )
    _take_away([name for name in _names() if name.startswith(prefix) or _is_abandoned(name)])
    try:
        for namespace in (host, *guests):
            ip("netns", "add", namespace.name)
            ip("-n", namespace.name, "link", "set", "lo", "up")
        yield Network(host, guests)
    finally:
        _take_away([name for name in _names() if name.startswith(prefix)])


def _names() -> list[str]:
    return [line.split()[0] for line in ip("netns", "list").splitlines() if line.strip()]


def _is_abandoned(name: str) -> bool:
    """Whether the tests that made it were killed before they could take it away."""
    made_by = _MADE_BY.match(name)
    return made_by is not None and not Path(f"/proc/{made_by[1]}").exists()


def _take_away(names: list[str]) -> None:
    """Take all of them away, also when one resists; that one is then complained about."""
    for name in names:
        with suppress(IpFailed):  # somebody else took it away, or it is still there below
            _end_processes(name)
            ip("netns", "delete", name)
    if left := sorted(set(names) & set(_names())):
        raise IpFailed(f"these namespaces could not be taken away: {', '.join(left)}")


def _end_processes(name: str) -> None:
    """A namespace lives, without a name, as long as a process does in it."""
    for process in ip("netns", "pids", name).split():
        with suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)
    wait_until(lambda: not ip("netns", "pids", name).split(), f"the processes in {name} to end")

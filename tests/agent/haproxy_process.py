"""A real HAProxy on loopback, in front of real servers."""

from __future__ import annotations

import http.client
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import wait_until

_CONFIG = """
global
    stats socket {socket} level admin
    stats socket ipv4@127.0.0.1:{admin_port} level admin
    stats timeout 10s
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend web
    bind 127.0.0.1:{port}
    default_backend web
backend web
    balance roundrobin
    option redispatch
    retries 3
{servers}
"""


@dataclass(frozen=True)
class Haproxy:
    """Where it listens."""

    socket: str
    admin_port: int
    port: int
    process: subprocess.Popen[bytes]

    def get(self) -> tuple[int, bytes]:
        """One request through it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", "/", headers={"Connection": "close"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def haproxy(place: Path, servers: Mapping[str, str], port: int = 0, admin_port: int = 0) -> Iterator[Haproxy]:
    """One with the servers, each HOST:PORT, in its backend `web`."""
    started = next(filter(None, (_start(place, servers, port, admin_port) for _ in range(5))), None)
    assert started is not None, "HAProxy does not start; see what it says above"
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()


def _start(place: Path, servers: Mapping[str, str], port: int, admin_port: int) -> Haproxy | None:
    """It, listening; None where somebody was faster with one of its ports."""
    port, admin_port = port or free_port(), admin_port or free_port()
    lines = "\n".join(f"    server {name} {address}" for name, address in servers.items())
    config = place / "haproxy.cfg"
    config.write_text(_CONFIG.format(socket=place / "admin.sock", admin_port=admin_port, port=port, servers=lines))
    program = shutil.which("haproxy") or "/usr/sbin/haproxy"
    process = subprocess.Popen([program, "-f", str(config)])
    wait_until(lambda: process.poll() is not None or _answers(port), "HAProxy to listen")
    if process.poll() is None:
        return Haproxy(str(place / "admin.sock"), admin_port, port, process)
    return None


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True

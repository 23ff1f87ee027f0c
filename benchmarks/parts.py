"""The servers that are compared, and the load."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Protocol

BODY = '{"DocumentIncarnation":1,"Events":[]}'
TARGET = "/metadata/scheduledevents?api-version=2020-07-01"
_TICKS = os.sysconf("SC_CLK_TCK")


class BenchmarkFailed(SystemExit):
    """The run means nothing; the message says why."""


class Server(Protocol):
    """Something that answers polls."""

    port: int

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def cpu_seconds(self) -> float: ...


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def cpu_of(pid: int) -> float:
    """User and system time of a process, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def wait_for(port: int, process: subprocess.Popen[bytes], seconds: float = 120) -> None:
    """Until it answers, or a sentence about why it does not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise BenchmarkFailed(f"the server on port {port} ended with {process.returncode}")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", TARGET, headers={"Metadata": "true"})
            if connection.getresponse().status == http.HTTPStatus.OK:
                connection.close()
                return
        except OSError:
            time.sleep(0.05)
    raise BenchmarkFailed(f"the server on port {port} did not answer within {seconds} s")


class NginxServer:
    """nginx with one worker that answers from its configuration."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        if not Path(nginx).exists():
            raise BenchmarkFailed("nginx is needed: apt-get install nginx-light")
        config = self._directory / "nginx.conf"
        config.write_text(
            f"""
            daemon off; worker_processes 1; pid {self._directory}/nginx.pid; error_log stderr crit;
            events {{ worker_connections 4096; }}
            http {{
              access_log off; keepalive_requests 1000000000; server_tokens off;
              client_body_temp_path {self._directory}/b; proxy_temp_path {self._directory}/p;
              fastcgi_temp_path {self._directory}/f; uwsgi_temp_path {self._directory}/u;
              scgi_temp_path {self._directory}/s;
              server {{
                listen 127.0.0.1:{self.port} backlog=4096;
                location / {{ default_type application/json; add_header ETag '"1.1.6"'; return 200 '{BODY}'; }}
              }}
            }}
            """
        )
        self._process = subprocess.Popen([nginx, "-p", str(self._directory), "-c", str(config)])
        wait_for(self.port, self._process)

    def cpu_seconds(self) -> float:
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return sum(cpu_of(int(child)) for child in children)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)


class ForewarnServer:
    """The real service with a fleet of so many VMs; the caller is the one in the middle."""

    def __init__(self, directory: Path, size: int) -> None:
        self.port = free_port()
        self.operator_port = free_port()
        self._size = size
        self._fleet = directory / f"fleet-{size}.toml"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        lines = []
        for number in range(self._size):
            address = "127.0.0.1" if number == self._size // 2 else _address(number)
            lines.append(
                f'[[vms]]\nname = "vm-{number:06d}"\nhost = "host-{number % 1000}"\naddresses = ["{address}"]\n'
            )
        hosts = "".join(f'[[hosts]]\nname = "host-{number}"\n' for number in range(1000))
        self._fleet.write_text(hosts + "".join(lines))
        forewarn = Path(sys.executable).parent / "forewarn"
        command = [
            str(forewarn), "serve", f"--fleet={self._fleet}", "--store=sqlite://",
            f"--metadata=127.0.0.1:{self.port}", f"--operator=127.0.0.1:{self.operator_port}",
            "--rate-limit=100000000",
        ]  # fmt: skip
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.port, self._process, 300)

    def cpu_seconds(self) -> float:
        assert self._process is not None
        return cpu_of(self._process.pid)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)


def _address(number: int) -> str:
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def tag_of(server: Server) -> str:
    """The ETag of what it answers now."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request("GET", TARGET, headers={"Metadata": "true"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.headers["ETag"]


def load(server: Server, seconds: int, *headers: str, script: Path | None = None) -> float:
    """Server CPU microseconds per request under load; fails unless every request was answered well."""
    wrk = shutil.which("wrk")
    if wrk is None:
        raise BenchmarkFailed("wrk is needed: apt-get install wrk")
    given = [word for header in ("Metadata: true", *headers) for word in ("-H", header)]
    scripted = ["-s", str(script)] if script else []
    command = [
        wrk, "-t1", "-c64", f"-d{seconds}s", *given, *scripted, f"http://127.0.0.1:{server.port}{TARGET}",
    ]  # fmt: skip
    before = server.cpu_seconds()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    spent = server.cpu_seconds() - before
    requests = int(_find(r"(\d+) requests in", done.stdout))
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise BenchmarkFailed(f"not every answer was 200:\n{done.stdout}")
    if not requests:
        raise BenchmarkFailed(f"nothing was answered:\n{done.stdout}")
    return spent / requests * 1e6


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise BenchmarkFailed(f"wrk printed something else than expected:\n{text}")
    return found[1]

"""The real service as a process that can be killed and started again on the same store."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.running import free_port, wait_until

FOREWARN = Path(sys.executable).parent / "forewarn"


class ServiceProcess:
    """`forewarn serve` with a store, a fleet and machines that outlive it."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.metadata_port, self.operator_port = free_port(), free_port()
        self._log = directory / "service.log"
        self._command = [
            str(FOREWARN),
            "serve",
            f"--metadata=127.0.0.1:{self.metadata_port}",
            f"--operator=127.0.0.1:{self.operator_port}",
            *arguments,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        wait_until(self._is_ready, f"the service to be ready; its log:\n{self._log.read_text()[-2000:]}", 120)

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the service ended:\n{self._log.read_text()[-2000:]}"
        try:
            return self.call("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    @property
    def log(self) -> list[dict[str, Any]]:
        """What it has logged since it was first started."""
        return [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """End it as an operator would; its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(60)

    def metric(self, name: str) -> float:
        """One figure of the page for Prometheus."""
        page = self._ask("GET", "/metrics")[1].decode()
        (line,) = [line for line in page.splitlines() if line.startswith(f"{name} ")]
        return float(line.rpartition(" ")[2])

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Ask the operators' listener."""
        status, raw = self._ask(method, path, body)
        return status, json.loads(raw) if raw else None

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.operator_port, timeout=20)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

"""`forewarn serve` as a process in a host's namespace, and its operator beside it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.running import START, wait_until
from tests.system.namespaces import METADATA_ADDRESS, Namespace, bare_environment

FOREWARN = str(Path(sys.executable).parent / "forewarn")

_OPERATOR = "127.0.0.1:8255"
_STOP_SECONDS = 20


@dataclass(frozen=True)
class Operator:
    """Whoever sits at the host and asks for maintenance."""

    host: Namespace

    def ask(self, *command: str) -> Any:
        """What the command line answers to a program; it has to succeed."""
        done = self.host.run(FOREWARN, *command, "--json")
        assert done.returncode == 0, (command, done)
        return json.loads(done.stdout)

    def restart(self, vm: str) -> str:
        """Have a VM restarted; the id of the event that announces it."""
        event = self.ask("vm", "restart", vm)["event"]
        assert event is not None, f"the restart of {vm} was not announced: its scope is off"
        return event["id"]

    def phase(self, event: str) -> str:
        return self.ask("event", "show", event)["phase"]


@contextmanager
def serving(
    host: Namespace, fleet: str, folder: Path, metadata: str = f"{METADATA_ADDRESS}:80"
) -> Iterator[Operator]:
    """The real service, mostly on the real address, for a block; its clock stands still at `START`."""
    fleet_file = folder / "fleet.toml"
    fleet_file.write_text(fleet)
    log = folder / "serve.log"
    command = [
        *("setpriv", "--pdeathsig", "KILL"),  # should the tests be killed, the service does not stay behind
        *(FOREWARN, "serve"),
        *("--metadata", metadata),
        *("--operator", _OPERATOR),
        *("--store", "sqlite://"),
        *("--clock", "virtual", "--clock-start", START.isoformat()),
        *("--fleet", str(fleet_file)),
    ]
    with log.open("wb") as output:
        service = subprocess.Popen(
            host.inside(*command), stdout=output, stderr=output, env=bare_environment(), cwd=folder
        )
    try:
        wait_until(lambda: _is_ready(host, service, log), "the service to be ready")
        yield Operator(host)
        assert service.poll() is None, f"the service ended with {service.returncode}:\n{log.read_text()}"
    finally:
        _stop(service)
    assert service.returncode == 0, f"the service stopped with {service.returncode}:\n{log.read_text()}"


def _is_ready(host: Namespace, service: subprocess.Popen[bytes], log: Path) -> bool:
    assert service.poll() is None, f"the service ended with {service.returncode}:\n{log.read_text()}"
    return host.run("curl", "--silent", "--fail", f"http://{_OPERATOR}/readyz").returncode == 0


def _stop(service: subprocess.Popen[bytes]) -> None:
    service.send_signal(signal.SIGTERM)
    try:
        service.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        service.kill()
        service.wait(_STOP_SECONDS)

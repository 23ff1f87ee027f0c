"""The SDK in a process of its own, and what has to come of each call."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.arm.caller import SUBSCRIPTION
from tests.running import RunningService

_PROGRAM = Path(__file__).with_name("sdk_calls.py")
_DONE = "Succeeded"

EXPECTED: dict[str, Any] = {
    "vm get": "vm1",
    "vm get, unknown": ["ResourceNotFoundError", 404, "ResourceNotFound"],
    "vm get, expanded": "PowerState/running",
    "vm instance view": "PowerState/running",
    "vm list": ["doomed", "failing", "spot", "vm1", "vm2"],
    "vm list, pages": 120,
    "vm list all": 125,
    "vm list by location": 125,
    "vm restart": _DONE,
    "vm redeploy": _DONE,
    "vm reapply": _DONE,
    "vm power_off": _DONE,
    "vm start": _DONE,
    "vm deallocate": _DONE,
    "vm perform_maintenance": _DONE,
    "vm start again": _DONE,
    "vm start, running": _DONE,
    "vm power_off, hard": _DONE,
    "vm restart, stopped": ["ResourceExistsError", 409, "OperationNotAllowed"],
    "vm restart, failing": ["HttpResponseError", 200, "OperationFailed"],
    "vm simulate eviction": None,
    "vm simulate eviction, regular": ["ResourceExistsError", 409, "OperationNotAllowed"],
    "vm update": {"a": "b"},
    "vm create": "Spot",
    "vm write what was read": True,
    "vm delete": _DONE,
    "vm delete, absent": _DONE,
    "set get": 5,
    "set list": ["ss-spot", "ss1"],
    "set list all": ["ss-spot", "ss1"],
    "set restart": _DONE,
    "set redeploy": _DONE,
    "set power_off": _DONE,
    "set start": _DONE,
    "set reimage": _DONE,
    "set perform_maintenance": _DONE,
    "set restart, all": _DONE,
    "instance get": "ss1_0",
    "instance get, unknown": ["ResourceNotFoundError", 404, "ResourceNotFound"],
    "instance view": "PowerState/running",
    "instance list": [f"ss1_{number}" for number in range(5)],
    "instance restart": _DONE,
    "instance redeploy": _DONE,
    "instance perform_maintenance": _DONE,
    "instance simulate eviction": None,
    "instance delete": _DONE,
    "set delete instances": _DONE,
    "instance list, fewer": [f"ss1_{number}" for number in range(3)],
    "set update, profile": "PT7M",
    "set update, capacity": 1,
    "set create": 2,
    "set delete": _DONE,
    "availability set create": 5,
    "availability set list": ["as1", "as2"],
    "availability set delete": None,
}


@contextmanager
def start(
    service: RunningService,
    how: str,
    python: str = sys.executable,
    *,
    token: str = "unused",
    ca: Path | None = None,
    only: Sequence[str] = (),
) -> Iterator[subprocess.Popen[str]]:
    """The SDK at work; what comes of it is written line by line."""
    url = f"{'https' if ca else 'http'}://localhost:{service.service.operator[1]}"
    given = {"url": url, "subscription": SUBSCRIPTION, "token": token, "how": how, "ca": str(ca), "only": only}
    with speaking([python, "-I", str(_PROGRAM)]) as process:
        say(process, json.dumps(given))
        yield process


@contextmanager
def speaking(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that is spoken to, for the length of a block."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> Any:
    """The next line that a program writes."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def outcomes(process: subprocess.Popen[str], seconds: float = 120) -> dict[str, Any]:
    """What came of the calls, once they are all done."""
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, err
    return dict(json.loads(line) for line in out.splitlines())

"""Descriptors are shared so that guests can always connect, and it is logged when there are none left."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import tests.cli.serving
from forewarn.descriptors import share
from tests.cli.command import FOREWARN
from tests.cli.serving import serving
from tests.running import ROOT, call, wait_until

FLEET = '[[hosts]]\nname = "host-0"\n[[vms]]\nname = "solo"\nhost = "host-0"\naddresses = ["127.0.0.1"]\n'
GUEST = "/metadata/scheduledevents?api-version=2020-07-01"

EXHAUST = """
import os, resource, structlog
from forewarn.descriptors import ExhaustionLog

structlog.configure(processors=[structlog.processors.JSONRenderer()])
now = 0.0
log = ExhaustionLog("guests", lambda: now)
log.probe()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
for now in (1.0, 2.0, 60.0, 61.0):
    log.probe()
"""

RAISE = """
import resource
from forewarn.descriptors import raise_limit

resource.setrlimit(resource.RLIMIT_NOFILE, (128, 256))
raise_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


@pytest.mark.parametrize(
    ("limit", "guests", "operators"),
    [(None, 100_000, 256), (20_000, 19_488, 256), (1024, 512, 256), (256, 128, 64), (4, 2, 1)],
)
def test_guests_get_all_descriptors_but_a_reserve(limit: int | None, guests: int, operators: int):
    assert share(100_000, 256, limit) == (guests, operators)


def test_more_operator_connections_leave_guests_at_least_half():
    assert share(100_000, 100_000, 1024) == (512, 256)


def test_soft_limit_is_raised_to_the_hard_limit():
    assert run(RAISE) == "(256, 256)\n"


def test_exhaustion_is_logged_once_a_minute():
    logged = [json.loads(line) for line in run(EXHAUST).splitlines()]

    assert [(each["event"], each["listener"], each["limit"]) for each in logged] == [
        ("file descriptors exhausted", "guests", 64)
    ] * 2


def test_guests_connect_while_the_operators_port_is_flooded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "fleet.toml").write_text(FLEET)
    limited = tmp_path / "forewarn"
    limited.write_text(f'#!/bin/sh\nulimit -n 256\nexec {FOREWARN} "$@"\n')
    limited.chmod(0o755)
    monkeypatch.setattr(tests.cli.serving, "FOREWARN", limited)
    arguments = ("--store", "sqlite://", "--fleet", str(tmp_path / "fleet.toml"), "--rate-limit", "0")
    with serving(tmp_path, *arguments) as served:
        flood = [socket.create_connection(("127.0.0.1", served.operator_port), timeout=30) for _ in range(300)]
        replies = [
            call("127.0.0.1", served.metadata_port, "GET", GUEST, headers={"Metadata": "true"}).status
            for _ in range(20)
        ]
        operator = call("127.0.0.1", served.operator_port, "GET", "/healthz").status
        wait_until(lambda: "operator connection limit reached" in served.err, "the log")
        for each in flood:
            each.close()

    assert replies == [200] * 20
    assert operator == 200

"""Bounds on noticing an outage and on stopping, as the documentation gives them."""

from __future__ import annotations

import subprocess
import sys

from forewarn.cli import serve
from forewarn.control import runner
from forewarn.store import opening

_STOP_WHILE_THE_PLANE_HANGS = """
import os, signal, sys, threading
from forewarn.cli import serve
from forewarn.cli.entry import main
from forewarn.control.plane import ControlPlane

serve._STOP_SECONDS = 0.5

def hang(plane):
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait()

ControlPlane.probe_store = hang
sys.argv = ["forewarn", "serve", "--metadata=127.0.0.1:0", "--operator=127.0.0.1:0", "--store=sqlite://"]
main()
"""


def test_outage_is_noticed_within_5_seconds_of_real_time():
    assert runner._PROBE_SECONDS + opening.ANSWER_SECONDS <= 5


def test_sigterm_ends_the_process_within_10_seconds():
    assert runner._STOP_SECONDS < serve._STOP_SECONDS < 10


def test_sigterm_ends_a_service_whose_plane_hangs_for_ever():
    ended = subprocess.run(
        [sys.executable, "-c", _STOP_WHILE_THE_PLANE_HANGS],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ended.returncode == 1
    assert "shutdown timed out" in ended.stdout + ended.stderr

"""Ctrl-C while a service starts or stops: it comes through, and nothing is left behind."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.running import ROOT

# The plane's thread sends the signal from a tick, and goes on when it has struck: so it falls into the middle.
SCRIPT = """
import json, os, signal, sys, threading
from forewarn.emulator import Emulator

when = sys.argv[1]
was_struck = threading.Event()

def strike(*_):
    was_struck.set()
    raise KeyboardInterrupt

def interrupt(_):
    if not was_struck.is_set() and emulator.service.runner._is_stopping == (when == "stop"):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        was_struck.wait(60)

def left():
    files = len(os.listdir("/proc/self/fd"))
    return {"threads": threading.active_count(), "files": files, "is_up": emulator.is_up}

signal.signal(signal.SIGINT, strike)
with Emulator():
    pass
emulator = Emulator()
before = left()
emulator.service.plane.ticked.subscribe(interrupt)
try:
    emulator.start()
    came = "started"
    emulator.stop()
    came = "stopped"
except KeyboardInterrupt:
    came = f"interrupted {when}" if was_struck.is_set() else "interrupted by another"
print(json.dumps([came, before, left()]))
"""


@pytest.mark.parametrize("when", ["start", "stop"])
def test_a_service_that_is_interrupted_leaves_no_thread_and_no_file(when: str):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, when],
        cwd=ROOT / "src",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    came, before, after = json.loads(done.stdout)
    assert came == f"interrupted {when}"
    assert after == before
    assert done.stderr == ""

"""A project of somebody else's that has forewarn installed: its tests, run by a pytest of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.running import ROOT

# What makes a pytest say more or less than at a desk: in CI its summary repeats a failure's whole text.
THEIR_WORDS = {"CI", "BUILD_NUMBER", "PYTEST_ADDOPTS", "PY_COLORS", "NO_COLOR", "FORCE_COLOR"}

# Each line of the log is what one test took, from its set-up to its end.
TIMED = """
import json, os, time
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    began, used = time.perf_counter(), time.process_time()
    answer = yield
    took = {"test": item.name, "seconds": time.perf_counter() - began, "cpu": time.process_time() - used}
    with open(os.environ["TIMES"], "a") as log:
        log.write(json.dumps(took) + "\\n")
    return answer
"""


@dataclass(frozen=True)
class Run:
    """What a run said, and what its tests took."""

    status: int
    said: str
    times: list[dict[str, Any]]

    @property
    def seconds(self) -> float:
        return sum(each["seconds"] for each in self.times)

    @property
    def cpu(self) -> float:
        return sum(each["cpu"] for each in self.times)


class Project:
    """A directory with tests."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def write(self, name: str, text: str) -> Path:
        file = self.directory / name
        file.write_text(text, encoding="utf-8")
        return file

    def run(self, *arguments: str) -> Run:
        """Its tests, with our plugin as an installed one would be loaded."""
        log = self.directory / "times.jsonl"
        log.unlink(missing_ok=True)
        self.write("conftest.py", TIMED)
        self.write("pytest.ini", "[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n")
        environment = {name: value for name, value in os.environ.items() if name not in THEIR_WORDS} | {
            "PYTHONPATH": str(ROOT / "src"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "TIMES": str(log),
        }
        plugins = ["-p", "no:cacheprovider", "-p", "forewarn.testing.plugin", "-p", "xdist"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *plugins, *arguments],
            cwd=self.directory,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return Run(done.returncode, done.stdout + done.stderr, [json.loads(line) for line in lines])

"""The commands of the page on dry runs, in order, and what they print."""

from __future__ import annotations

import os
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

from tests.docs.console import run, same, steps_of
from tests.running import running

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/dry-runs.md").read_text()


def test_the_commands_of_the_page_print_what_it_says_and_change_nothing():
    fleet = tomllib.loads((ROOT / "examples/web.toml").read_text())
    steps = steps_of(PAGE)
    with running(fleet, clock_start=datetime(2026, 3, 2, 19, 29, 10, tzinfo=UTC)) as service:
        number = service.service.plane.world.number
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "FOREWARN_URL": f"http://127.0.0.1:{service.service.operator[1]}",
        }
        for step in steps:
            printed = run(step.command, ROOT, environment)
            assert same(step.printed, printed), f"$ {step.command}\n{printed}\nthe page has:\n{step.printed}"
        assert service.service.plane.world.number == number

    assert len(steps) == 3

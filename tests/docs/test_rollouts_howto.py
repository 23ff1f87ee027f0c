"""The commands of the page on rollouts, in order, and what they print."""

from __future__ import annotations

import os
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

from forewarn.core.rollout import RolloutState, TurnState
from tests.docs.console import Ids, run, same, steps_of
from tests.running import running

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/rollouts.md").read_text()


def test_the_commands_of_the_page_print_what_it_says():
    fleet = tomllib.loads((ROOT / "examples/web.toml").read_text())
    steps, ids = steps_of(PAGE), Ids()
    with running(fleet, clock_start=datetime(2026, 3, 2, 19, 29, 10, tzinfo=UTC)) as service:
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "FOREWARN_URL": f"http://127.0.0.1:{service.service.operator[1]}",
        }
        for step in steps:
            printed = run(ids.real(step.command), ROOT, environment)
            ids.meet(step.printed, printed)
            assert same(ids.real(step.printed), printed), (
                f"$ {step.command}\n{printed}\nthe page has:\n{step.printed}"
            )

    assert "Completed" in steps[-1].printed


def test_the_page_names_every_message_of_the_stream():
    names = [f"rollout.{each.lower()}" for each in RolloutState] + [f"turn.{each.lower()}" for each in TurnState]

    assert [name for name in names if f"`{name}`" not in PAGE] == []

"""The scenario of the page, as it is played, changed and refused there."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from forewarn.scenario.file.keys import ACTIONS, EXPECTED_OF, KEYS, TABLES
from forewarn.scenario.file.model import ActionKind, Expectation, GuestScript, Head, TimedAction
from tests.docs.console import Ids, run, same, steps_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/scenarios.md").read_text()
_TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)


def test_the_commands_of_the_page_print_what_it_says(tmp_path: Path):
    (tmp_path / "restart.toml").write_text(_TOML.findall(PAGE)[0])
    environment = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    steps, ids = steps_of(PAGE), Ids()
    for step in steps:
        printed = run(step.command, tmp_path, environment)
        ids.meet(step.printed, printed)
        assert same(ids.real(step.printed), printed), f"$ {step.command}\n{printed}\nthe page has:\n{step.printed}"

    assert len(steps) == 4


def test_every_key_of_a_scenario_file_is_explained():
    for kind in (Head, GuestScript, TimedAction, Expectation):
        assert list(KEYS[kind]) == list(kind.__dataclass_fields__)
        assert TABLES[kind]
    assert list(ACTIONS) == list(ActionKind)


def test_every_key_belongs_to_an_action_or_to_a_subject_of_expectations():
    of_actions = {key for words in ACTIONS.values() for key in (*words.needs, *words.takes)}
    of_subjects = {key for keys in EXPECTED_OF.values() for key in keys}

    assert set(KEYS[TimedAction]) - of_actions == {"time", "do"}
    assert set(KEYS[Expectation]) - of_subjects == {"time", "vm", "guest"}

"""The page about handlers: every example is one that the handlers take, and every kind and variable is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent.handlers import KINDS, find
from forewarn.agent.handlers.base import Doubt
from forewarn.agent.handlers.event_words import PLACEHOLDERS, variables
from tests.agent.tasks import attempt
from tests.tree import texts

PAGE = texts("docs/howto/agent-handlers.md")["docs/howto/agent-handlers.md"]
_OF_STEPS = {
    "name",
    "uses",
    "on",
    "group",
    "needs",
    "timeout_seconds",
    "retries",
    "retry_pause_seconds",
    "on_failure",
}
EXAMPLES = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
STEPS = [step for example in EXAMPLES for step in example["profiles"]["drain"]["steps"]]


def as_read(value: Any) -> Any:
    """What the configuration makes of it: a secret is its text."""
    if isinstance(value, dict) and set(value) <= {"file", "env"}:
        return "https://secret.example/x"
    return {name: as_read(each) for name, each in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step['uses']}: {step['name']}")
def test_every_example_is_one_that_its_handler_takes(step):
    handler = find(step["uses"])
    options = {name: as_read(value) for name, value in step.items() if name not in _OF_STEPS}

    assert set(options) <= {option.name for option in handler.options}
    assert {option.name for option in handler.options if option.is_required} <= set(options)
    # Its programs need not be on this machine.
    assert [problem for problem in handler.check(options) if not isinstance(problem, Doubt)] == []


def test_every_kind_has_an_example_and_a_line_in_the_table():
    assert {step["uses"] for step in STEPS} == set(KINDS)
    for kind in KINDS:
        assert f"| [`{kind}`](#{kind}) |" in PAGE


def test_every_variable_and_every_placeholder_is_named(tmp_path: Path):
    missing = [name for name in variables(attempt(tmp_path, {})) if f"`{name}`" not in PAGE]
    missing += [name for name in PLACEHOLDERS if f"`${{{name}}}`" not in PAGE]

    assert missing == []

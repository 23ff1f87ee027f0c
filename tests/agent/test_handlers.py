"""What all kinds of handlers have in common."""

from __future__ import annotations

import subprocess
import sys

import pytest

from forewarn.agent.handlers import KINDS, find
from forewarn.agent.handlers.base import OPTION_TYPES
from tests.agent.tasks import attempt

_TAKEN_BY_STEPS = {"name", "uses", "on", "group", "needs", "timeout_seconds", "retries", "retry_pause_seconds"}
_HEAVY = {"ssl", "_ssl", "http.client", "http.server", "urllib.request", "asyncio", "hashlib", "email", "tempfile"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_tells_its_options_in_types_that_there_are(kind):
    handler = find(kind)

    names = [option.name for option in handler.options]
    assert handler.help.endswith(".")
    assert len(set(names)) == len(names)
    assert not set(names) & (_TAKEN_BY_STEPS | {"on_failure"})
    for option in handler.options:
        assert option.type in OPTION_TYPES, option
        assert option.help.endswith("."), option


def test_a_kind_that_does_not_exist_is_named_with_those_that_do():
    with pytest.raises(LookupError, match=r"There is no handler 'comand'\. There are: command, http, "):
        find("comand")


def test_an_agent_that_only_waits_does_not_load_what_costs_memory():
    program = (
        "import sys; from forewarn.agent.handlers import KINDS, find\n"
        "for kind in KINDS: find(kind).undoes({'unit': 'x'})\n"
        f"print(sorted({_HEAVY!r} & set(sys.modules)))"
    )

    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert said.strip() == "[]"


@pytest.mark.parametrize("kind", KINDS)
def test_an_attempt_that_no_agent_began_may_be_begun(kind, tmp_path):
    usual = {
        "command": {"command": ["true"]},
        "http": {"url": "http://h"},
        "webhook": {"url": "http://h"},
        "signal": {"process": "x"},
        "systemd": {"unit": "x"},
        "haproxy": {"socket": "/s", "servers": ["b/s"]},
    }

    assert find(kind).take_over(attempt(tmp_path, usual.get(kind, {}))) is None


@pytest.mark.parametrize("kind", ["command", "http", "webhook", "systemd"])
def test_a_place_that_cannot_be_written_is_a_failure_and_no_crash(kind, tmp_path):
    task = attempt(tmp_path, {"command": ["true"], "url": "http://127.0.0.1:9", "unit": "x"})
    task.scratch.rmdir()
    task.scratch.write_text("a file in the way")

    result = find(kind).run(task)

    assert not result.is_done
    assert result.note

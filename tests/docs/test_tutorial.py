"""The tutorial's commands, in order, and what they print."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.console import Ids, Step, run, same, steps_of
from tests.docs.test_readme import README, started
from tests.running import ROOT, free_port, wait_until

PAGE = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
_FILE = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTEST_SECONDS = re.compile(r"in \d+\.\d+s")


@pytest.fixture
def page() -> str:
    """The page, with ports that nobody else uses."""
    ports = {"8254": str(free_port()), "8255": str(free_port())}
    return re.sub(r":(825[45])\b", lambda found: f":{ports[found[1]]}", PAGE)


@pytest.fixture
def environment(page: str, tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has installed forewarn; the home directory is the test's."""
    guests, operators = re.findall(r"(?:guests|operators) +http://(127\.0\.0\.1:\d+)", page)
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "FOREWARN_URL": f"http://{operators}",
        "FOREWARN_METADATA": guests,
        "FOREWARN_OPERATOR": operators,
        "PYTHONDONTWRITEBYTECODE": "1",  # two versions of one file may be saved in the same second
    }


def without_seconds(text: str) -> str:
    return _PYTEST_SECONDS.sub("in SECONDS", text)


def follow(steps: list[Step], directory: Path, environment: dict[str, str]) -> None:
    """Run each command and compare what it prints with the page."""
    ids = Ids()
    for step in steps:
        printed = run(
            ids.real(step.command), directory, environment, status=1 if " failed in " in step.printed else 0
        )
        ids.meet(step.printed, printed)
        told = without_seconds(ids.real(step.printed))
        assert same(told, without_seconds(printed)), (
            f"$ {step.command}\n{printed}\nthe tutorial has:\n{step.printed}"
        )


def test_tutorial_installs_forewarn_with_the_commands_of_the_readme():
    assert steps_of(PAGE)[:2] == steps_of(README)[:2]


def test_first_notice_and_first_approval_print_what_the_tutorial_shows(
    page: str, environment: dict[str, str], tmp_path: Path
):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    serve, *steps = steps_of(page.partition("## First test")[0])[2:]

    with started(serve.command, tmp_path, environment) as log:
        last = serve.printed.strip().splitlines()[-1]
        wait_until(lambda: last in log.read_text(), f"`forewarn serve` to print {last!r}")
        assert same(serve.printed, log.read_text()), log.read_text()
        follow(steps, tmp_path, environment)

    assert [step.command.split()[1:3] for step in steps if step.command.startswith("forewarn")] == [
        ["vm", "restart"],
        ["event", "list"],
        ["event", "list"],
        ["clock", "advance"],
        ["event", "history"],
    ]
    assert "Completed" in steps[-1].printed


def test_first_test_fails_until_the_client_approves(page: str, environment: dict[str, str], tmp_path: Path):
    section = page.partition("## First test")[2]
    install, mkdir, failing, passing = steps_of(section)
    first_client, test, second_client = _FILE.findall(section)

    follow([install, mkdir], tmp_path, environment)  # pytest is there already, so pip asks no index
    for name, text in (first_client, test):
        (tmp_path / "first-test" / name).write_text(f"# {name}\n{text}", encoding="utf-8")
    follow([failing], tmp_path, environment)
    (tmp_path / "first-test" / second_client[0]).write_text(f"# {second_client[0]}\n{second_client[1]}")
    follow([passing], tmp_path, environment)

    assert "1 failed" in failing.printed
    assert "1 passed" in passing.printed

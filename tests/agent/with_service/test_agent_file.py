"""forewarn-agent.pyz: the agent as one file."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import zipfile
from pathlib import Path, PurePath

import pytest

from forewarn import __version__
from tests.agent.running_command import Outcome, process
from tests.waiting import ROOT


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist") / "forewarn-agent.pyz")


def build(target: Path, seed: str = "0") -> Path:
    """Build it as `make agent` does, with nothing of the environment."""
    command = [sys.executable, "-I", "tools/agent_file.py", str(target)]
    subprocess.run(command, cwd=ROOT, env={"PYTHONHASHSEED": seed}, check=True, capture_output=True, timeout=60)
    return target


def run(pyz: Path, *arguments: str, stdin: str = "") -> Outcome:
    """With Python alone: no site packages, no environment, from somewhere else."""
    return process([sys.executable, "-I", "-S", str(pyz), *arguments], stdin)


def test_it_runs_with_python_alone(pyz: Path):
    version = run(pyz, "--version")
    checked = run(pyz, "check", "--config", str(ROOT / "examples" / "agent.toml"))
    explained = run(
        pyz, "explain", "--config", str(ROOT / "examples" / "agent.toml"), "--type", "Reboot", "--json"
    )

    assert version == (0, f"forewarn agent {__version__}\n", "")
    assert (checked.code, checked.err) == (0, "")
    assert explained.code == 0, explained.err
    assert json.loads(explained.out)[0]["profile"] == "drain"


def test_it_calls_itself_by_its_name(pyz: Path):
    assert run(pyz, "--help").out.startswith("usage: forewarn-agent.pyz [OPTIONS] COMMAND [ARGS]...")


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 8, 18)], ids=str)
def test_a_python_that_is_too_old_says_so_in_one_sentence(pyz: Path, version: tuple[int, ...]):
    # As if this Python were that old. What it runs first has no syntax that such a Python does not know.
    with zipfile.ZipFile(pyz) as archive:
        beginning = archive.read("__main__.py")
    ast.parse(beginning, feature_version=(3, 4))

    refused = process([sys.executable, "-c", f"import sys; sys.version_info = {version}\n{beginning.decode()}"])

    assert (refused.code, refused.out) == (2, "")
    assert refused.err.count("\n") == 1
    assert f"needs Python 3.9 or later, and this is {version[0]}.{version[1]}." in refused.err


def test_it_can_be_started_like_a_program(pyz: Path):
    assert process([str(pyz), "--version"]).code == 0


def test_it_has_the_agent_and_nothing_else_of_ours(pyz: Path):
    with zipfile.ZipFile(pyz) as archive:
        names = {name.removesuffix("c") for name in archive.namelist()}

    expected = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/forewarn/agent").rglob("*.py")}
    parser = {name for name in names if name.startswith("tomli/")}
    assert names - parser == {"__main__.py", "forewarn/__init__.py", *expected}
    assert {"tomli/__init__.py", "tomli/LICENSE"} <= parser
    assert {PurePath(name).suffix for name in parser} == {".py", ""}


def test_the_same_sources_make_the_same_bytes(pyz: Path, tmp_path: Path):
    again = build(tmp_path / "again.pyz", seed="7")

    assert again.read_bytes() == pyz.read_bytes()


def test_it_says_nothing_of_the_machine_on_which_it_was_built(pyz: Path):
    with zipfile.ZipFile(pyz) as archive:
        telling = [name for name in archive.namelist() if str(ROOT).encode() in archive.read(name)]

    assert telling == []


def test_another_python_compiles_what_it_finds(pyz: Path, tmp_path: Path):
    # As if this Python had another magic number: its bytecode is of no use, its sources are.
    stale = tmp_path / "stale.pyz"
    with zipfile.ZipFile(pyz) as archive, zipfile.ZipFile(stale, "w") as other:
        for name in archive.namelist():
            content = archive.read(name)
            other.writestr(name, b"\0\0\0\0" + content[4:] if name.endswith(".pyc") else content)

    assert run(stale, "--version").out == f"forewarn agent {__version__}\n"

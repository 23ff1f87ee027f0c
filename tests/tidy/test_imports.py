"""Imports point one way, the core needs nothing, and a start loads no more than it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import ROOT

_LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"

_IMPORT_THE_CORE = """
import importlib, pkgutil, sys
before = set(sys.modules)
import forewarn.core
for module in pkgutil.walk_packages(forewarn.core.__path__, "forewarn.core."):
    importlib.import_module(module.name)
for name in sorted(set(sys.modules) - before):
    is_ours = name == "forewarn" or name == "forewarn.core" or name.startswith("forewarn.core.")
    if not is_ours and name.partition(".")[0] not in sys.stdlib_module_names:
        print(name)
"""

_START_A_SERVICE = """
import asyncio, sys
from forewarn.config import Settings
from forewarn.service import Service

async def run():
    somewhere = (("127.0.0.1", 0),)
    service = Service(Settings(metadata=somewhere, operator=somewhere[0], store="sqlite:///" + sys.argv[1]))
    await service.start()
    await service.stop()

asyncio.run(run())
print("alembic" in sys.modules)
import forewarn.store.migrate
print("alembic" in sys.modules)
"""


def run(code: str, *arguments: str, source: Path = ROOT / "src") -> subprocess.CompletedProcess[str]:
    """The code in a process of its own, with the product taken from there."""
    environment = os.environ | {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, cwd=source.parent, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources of a copy of the product, to plant something in."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path / "src"


def plant(copy: Path, module: str, line: str) -> None:
    """Add a line to the end of a module."""
    file = copy / "forewarn" / module
    file.write_text(f"{file.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")


def test_every_contract_about_imports_is_kept():
    checked = run(_LINT, "--no-cache", "--no-logo")

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert " 0 broken" in checked.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("core/phase.py", "import forewarn.store.sql", "Dependencies point one way"),
        ("wire/http.py", "from forewarn.board import board", "Dependencies point one way"),
        ("control/plane.py", "def late():\n    import forewarn.operator.app", "Dependencies point one way"),
        ("core/phase.py", "import time", "The core is the standard library and itself"),
        ("core/phase.py", "import msgspec", "The core is the standard library and itself"),
        ("edge/context.py", "from forewarn.control import plane", "The edge knows no plane"),
        ("report/findings.py", "import time", "The notes and findings of the report are pure"),
        ("agent/rules.py", "import forewarn.errors", "The agent is the standard library and itself"),
        ("agent/rules.py", "import forewarn.testing", "The agent is the standard library and itself"),
        ("agent/rules.py", "def late():\n    import click", "The agent is the standard library and itself"),
    ],
    ids=[
        "core to store",
        "wire to board",
        "late",
        "a clock in the core",
        "msgspec in the core",
        "a clock in the findings",
        "edge to plane",
        "agent to the rest",
        "agent to the test kit",
        "click in the agent",
    ],
)
def test_an_import_that_points_the_wrong_way_breaks_its_contract(
    copy: Path, module: str, line: str, contract: str
):
    plant(copy, module, line)

    checked = run(_LINT, "--no-cache", "--no-logo", source=copy)

    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert f"{contract} BROKEN" in checked.stdout


def test_the_core_imports_nothing_but_the_standard_library():
    imported = run(_IMPORT_THE_CORE)

    assert (imported.returncode, imported.stdout) == (0, ""), imported.stdout + imported.stderr


def test_a_third_party_module_in_the_core_is_found(copy: Path):
    plant(copy, "core/refusal.py", "import click")

    imported = run(_IMPORT_THE_CORE, source=copy)

    assert "click\n" in imported.stdout


def test_a_start_loads_no_migrations_unless_there_is_something_to_migrate(tmp_path: Path):
    fresh = run(_START_A_SERVICE, str(tmp_path / "forewarn.db"))
    again = run(_START_A_SERVICE, str(tmp_path / "forewarn.db"))

    assert fresh.stdout.split() == ["False", "True"], fresh.stderr
    assert again.stdout.split() == ["False", "True"], again.stderr

"""The README's commands, in order: from a clone to a restart announced, approved and carried out."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.docs.console import Ids, run, same, steps_of
from tests.running import free_port, wait_until

pytestmark = pytest.mark.system  # curl is a system package

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
_MOST_SECONDS = 120


def clone(directory: Path) -> Path:
    """The files of this checkout as a clone would have them."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if (ROOT / name).exists():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, directory / name)
    return directory


def _path_without_us() -> str:
    """The PATH of somebody who has not made our virtual environment."""
    own = str(Path(sys.executable).parent)
    return os.pathsep.join(each for each in os.environ["PATH"].split(os.pathsep) if each != own)


@contextmanager
def started(command: str, directory: Path, environment: dict[str, str]) -> Iterator[Path]:
    """A command that goes on in a terminal of its own; what it prints is in a file. Ctrl-C has to end it well."""
    log = directory / "terminal.log"
    with log.open("wb") as terminal:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=directory,
            env=environment,
            stdout=terminal,
            stderr=subprocess.DEVNULL,
        )
    try:
        yield log
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait(60)


def test_the_readme_from_a_clone_to_a_restart_carried_out(tmp_path: Path, figures):
    ports = {"8254": str(free_port()), "8255": str(free_port())}
    page = README
    for told, real in ports.items():
        page = page.replace(f":{told}", f":{real}")
    steps = steps_of(page)
    directory = clone(tmp_path)
    environment = {
        "PATH": f"{directory}/.venv/bin:{_path_without_us()}",
        **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))},
        "HOME": str(tmp_path),
        "FOREWARN_URL": f"http://127.0.0.1:{ports['8255']}",
        "FOREWARN_METADATA": f"127.0.0.1:{ports['8254']}",
        "FOREWARN_OPERATOR": f"127.0.0.1:{ports['8255']}",
    }
    began = time.monotonic()

    serve = next(number for number, step in enumerate(steps) if step.command.startswith("forewarn serve"))
    for step in steps[:serve]:
        run(step.command, directory, environment)
    with started(steps[serve].command, directory, environment) as log:
        last = steps[serve].printed.strip().splitlines()[-1]
        wait_until(lambda: last in log.read_text(), f"`forewarn serve` to print {last!r}")
        assert same(steps[serve].printed, log.read_text()), log.read_text()
        ids = Ids()
        for step in steps[serve + 1 :]:
            printed = run(ids.real(step.command), directory, environment)
            ids.meet(step.printed, printed)
            assert same(ids.real(step.printed), printed), (
                f"$ {step.command}\n{printed}\nthe README has:\n{step.printed}"
            )

    took = time.monotonic() - began
    figures(f"{len(steps)} commands of the README in {took:.1f} s")
    assert any("vm restart" in step.command for step in steps)
    assert "Completed" in steps[-1].printed
    assert took < _MOST_SECONDS

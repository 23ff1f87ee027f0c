"""Console blocks of a page: commands and what they print, run in one shell and compared."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_ID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b[0-9a-f]{8}\b")
_COMMAND_SECONDS = 120


@dataclass(frozen=True)
class Step:
    """One command of a page, and what the page says that it prints."""

    command: str
    printed: str


def steps_of(page: str) -> list[Step]:
    """The commands of all console blocks, in their order."""
    steps = []
    for block in _BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            steps.append(Step(command, printed))
    return steps


class Ids:
    """Ids differ from run to run: the page's own are put in place of those that came."""

    def __init__(self) -> None:
        self._real: dict[str, str] = {}

    def meet(self, told: str, printed: str) -> None:
        """Learn which id stands where the page has its own; one event's short and long form go together."""
        for ours, theirs in zip(_ID.findall(told), _ID.findall(printed), strict=False):
            self._real.setdefault(ours, theirs)

    def real(self, text: str) -> str:
        """The text with the ids of this run."""
        return _ID.sub(lambda found: self._real.get(found[0], found[0]), text)


def run(command: str, directory: Path, environment: Mapping[str, str], status: int = 0) -> str:
    """Return what a command prints, stdout and stderr together; it must exit with the given status."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_COMMAND_SECONDS,
        check=False,
    )
    assert done.returncode == status, f"$ {command}\n{done.stdout}"
    return done.stdout


def same(told: str, printed: str) -> bool:
    """Whether a reader would call it the same: blank ends of lines aside."""
    return [line.rstrip() for line in told.strip().splitlines()] == [
        line.rstrip() for line in printed.strip().splitlines()
    ]

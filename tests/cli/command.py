"""The command line as people and programs use it: in this process, or in one of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from forewarn.cli.main import run

FOREWARN = str(Path(sys.executable).parent / "forewarn")


class Outcome(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def forewarn(*arguments: str, **variables: str) -> Outcome:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), patch.dict(os.environ, environment(**variables), clear=True):
        code = run(list(arguments))
    return Outcome(code, out.getvalue(), err.getvalue())


def environment(**variables: str) -> dict[str, str]:
    """An environment that sets nothing but what is said."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("FOREWARN_", "COLUMNS"))}
    return bare | variables


def forewarn_process(*arguments: str, **variables: str) -> Outcome:
    """Run a command in a process of its own, which has to end by itself."""
    done = subprocess.run(
        [FOREWARN, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


class CommandLine:
    """Commands to one service."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, *arguments: str) -> Outcome:
        return forewarn(*arguments, "--url", self.url)

    def says(self, *arguments: str) -> str:
        """What a command that has to succeed prints; it has nothing to complain about."""
        outcome = self(*arguments)
        assert (outcome.code, outcome.err) == (0, ""), outcome
        return outcome.out

    def json(self, *arguments: str) -> Any:
        """The one document that a program is given."""
        return json.loads(self.says(*arguments, "--json"))

    def complains(self, *arguments: str) -> tuple[int, str]:
        """How a command that has to fail ends, and what it complains about; it has no result."""
        outcome = self(*arguments)
        assert outcome.out == "", outcome
        return outcome.code, outcome.err


def shown(*lines: str) -> str:
    """Lines as a terminal shows them."""
    return "".join(f"{line}\n" for line in lines)

"""The agent's command line as people and programs use it: in this process, or in one of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from forewarn.agent.commands import run_command

FOREWARN = Path(sys.executable).parent / "forewarn"
# A Python that is too old for the service has no command `forewarn`.
AGENT = (str(FOREWARN), "agent") if FOREWARN.exists() else (sys.executable, "-m", "forewarn.agent")


class Outcome(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def agent(*arguments: str, **variables: str) -> Outcome:
    """Run a command in this process, in an environment that sets nothing but what is said."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), patch.dict(os.environ, bare(**variables), clear=True):
        code = run_command(list(arguments))
    return Outcome(code, out.getvalue(), err.getvalue())


def process(command: Sequence[str], stdin: str = "", **variables: str) -> Outcome:
    """Run a program."""
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, env=bare(**variables), check=False, timeout=60
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def bare(**variables: str) -> dict[str, str]:
    """The environment without what would set something."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOREWARN_", "COLUMNS"))}
    return kept | variables

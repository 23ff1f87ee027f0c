"""The Azure CLI in processes of its own, with a configuration that nobody else uses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.running import ROOT

_BIN = ROOT / ".venv-azure-cli" / "bin"
_LONGEST_SECONDS = 120


class Shell:
    """Commands in a directory; what one of them exports holds for all after it."""

    def __init__(self, directory: Path, **variables: str) -> None:
        self._directory = directory
        self._exports: list[str] = []
        self._environment = {
            "PATH": f"{Path(sys.executable).parent}:{_BIN}:{os.environ['PATH']}",
            "HOME": str(directory),
            "AZURE_CONFIG_DIR": str(directory / "az"),
            "AZURE_CORE_COLLECT_TELEMETRY": "no",
            **variables,
        }

    def run(self, script: str) -> str:
        """What a script prints; it has to succeed."""
        done = self.tried(script)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def tried(self, script: str) -> subprocess.CompletedProcess[str]:
        """How a script ends, whichever way."""
        done = subprocess.run(
            self._command(script),
            cwd=self._directory,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=_LONGEST_SECONDS,
            check=False,
        )
        self._exports += [line for line in script.splitlines() if line.startswith("export ")]
        return done

    def json(self, command: str) -> Any:
        """What a command of `az` answers to a program."""
        printed = self.run(f"az {command} --output json")
        return json.loads(printed) if printed.strip() else None

    @contextmanager
    def started(self, script: str) -> Iterator[subprocess.Popen[str]]:
        """A script that goes on; its output is that of one terminal."""
        with subprocess.Popen(
            self._command(script),
            cwd=self._directory,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def _command(self, script: str) -> list[str]:
        return ["bash", "-ec", "\n".join([*self._exports, script])]

"""A command in a process of its own, which runs while a test goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cli.command import FOREWARN, environment
from tests.running import wait_until


class Meanwhile:
    """What it tells goes to files; once it has told something, a test misses nothing."""

    process: subprocess.Popen[bytes]

    def __init__(self, directory: Path, *arguments: str) -> None:
        self._out, self._err = directory / "out", directory / "err"
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen([FOREWARN, *arguments], stdout=out, stderr=err, env=environment())

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.out, f"{text!r} from the command; so far {self.out!r} {self.err!r}")

    def ends(self) -> int:
        """Its exit code; it has to end by itself."""
        try:
            return self.process.wait(60)
        finally:
            self.process.kill()

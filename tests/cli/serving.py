"""`forewarn serve` as a process of its own, and what it writes."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.command import FOREWARN, CommandLine, Outcome, environment, forewarn
from tests.running import wait_until

_ANY_PORT = ("--metadata", "127.0.0.1:0", "--operator", "127.0.0.1:0")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
_READY = "Ctrl-C stops it.\n"


def serve_ends(*arguments: str, **variables: str) -> Outcome:
    """How `forewarn serve` ends that cannot start, in this process."""
    return forewarn("serve", *_ANY_PORT, "--store", "sqlite://", *arguments, **variables)


class Served:
    """A service that is up."""

    def __init__(self, directory: Path, *arguments: str, **variables: str) -> None:
        self._out, self._err = directory / "serve.out", directory / "serve.err"
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [FOREWARN, "serve", *_ANY_PORT, *arguments],
                stdout=out,
                stderr=err,
                env=environment(**variables),
                cwd=directory,
            )

    def wait_until_ready(self) -> None:
        wait_until(self._is_ready, "the service to be ready")

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, f"the service ended:\n{self.err}"
        return _READY in self.out

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    @property
    def metadata_port(self) -> int:
        return int(_ADDRESS.findall(self.out)[0])

    @property
    def operator_port(self) -> int:
        return int(_ADDRESS.findall(self.out)[1])

    @property
    def cli(self) -> CommandLine:
        return CommandLine(f"http://127.0.0.1:{self.operator_port}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it as an operator would; its exit code."""
        self.process.send_signal(how)
        return self.process.wait(60)


@contextmanager
def serving(directory: Path, *arguments: str, **variables: str) -> Iterator[Served]:
    """A service for the length of a block, which has to end well."""
    served = Served(directory, *arguments, **variables)
    try:
        served.wait_until_ready()
        yield served
        if served.process.returncode is None:
            assert served.stop() == 0, served.err
    finally:
        served.process.kill()
        served.process.wait(60)

"""A program that runs under the agent's own eyes, and is not found again when the agent dies."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forewarn.agent.compat import dataclass
from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.output import Reader
from forewarn.agent.handlers.sessions import End, end_session

_LOOK_SECONDS = 0.05
_OUTPUT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Exit:
    """How it ended."""

    status: int | None  # None: its time was up
    output: bytes
    end: End | None = None  # it was ended, where it was

    @property
    def text(self) -> str:
        """Its output without the blanks around it."""
        return self.output.decode("utf-8", "replace").strip()


def run_directly(
    arguments: Sequence[str],
    deadline: Deadline,
    *,
    grace_seconds: float = 2,
    cwd: str | None = None,
    environment: Mapping[str, str] | None = None,
    said_to_it: Path | None = None,
) -> Exit:
    """Run it to its end, or to the end of its time. `OSError` where it cannot be started."""
    with (said_to_it or Path(os.devnull)).open("rb") as given:
        running = subprocess.Popen(  # noqa: S603 - the command is the operator's
            list(arguments),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=environment,
            **_apart(),
        )
    assert running.stdout is not None  # noqa: S101 - for the type checker: it was asked for
    reader = Reader(running.stdout)
    look_seconds = 0.001
    while running.poll() is None and deadline.pause(look_seconds):
        look_seconds = min(look_seconds * 2, _LOOK_SECONDS)
    end = _end(running, grace_seconds) if running.poll() is None else None
    return Exit(None if end else running.returncode, reader.kept(_OUTPUT_SECONDS), end)


def _end(running: subprocess.Popen[bytes], grace_seconds: float) -> End:
    if os.name == "posix":
        end = end_session(running.pid, grace_seconds)
    else:
        running.kill()
        end = End("it was ended")
    try:
        running.wait(1)
    except subprocess.TimeoutExpired:
        return End("it could not be ended yet", is_over=False)
    return end


def _apart() -> dict[str, Any]:
    """A session of its own, so that all of it can be ended, and nothing else."""
    if os.name == "posix":
        return {"start_new_session": True}
    return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}

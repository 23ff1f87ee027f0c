"""Agents that are killed as they start a command, each a line later than the last, and what the next one finds.

python -m tests.agent.dying_agent PLACE LINES
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from forewarn.agent.handlers import find, minding, processes
from forewarn.agent.handlers.base import Result
from tests.agent.shell import until_there
from tests.agent.tasks import attempt
from tests.waiting import ROOT

COMMAND = find("command")


def killed_at_every_line(place: Path, lines: int) -> list[tuple[str, bool, str]]:
    """Where each agent died, whether its command ran to its end, and what the next agent said of it.

    The command speaks once its agent is dead.
    """
    arguments = [sys.executable, "-m", "tests.agent.dying_agent", str(place), str(lines)]
    done = subprocess.run(arguments, cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True)
    return [tuple(each) for each in json.loads(done.stdout)]


def _dying(place: Path, line: int) -> Callable[..., Any]:
    counted = {minding.__file__, processes.__file__}
    has_come, left = False, line

    def trace(frame: FrameType, kind: str, _said: object) -> Callable[..., Any]:
        nonlocal has_come, left
        has_come = has_come or frame.f_code is minding.start.__code__
        if has_come and kind == "line" and frame.f_code.co_filename in counted:
            left -= 1
            if not left:
                (place / "where").write_text(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def _killed_at(place: Path, line: int) -> tuple[str, bool, str]:
    place.mkdir()
    options = {
        "command": f"{until_there(place / 'go')}; echo half; echo > {place}/ended; echo whole",
        "shell": True,
    }
    task = attempt(place, options)
    child = os.fork()
    if not child:
        sys.settrace(_dying(place, line))
        COMMAND.run(task)
        os._exit(1)
    os.waitpid(child, 0)
    (place / "go").touch()
    result = COMMAND.take_over(task)
    return (place / "where").read_text(), (place / "ended").exists(), _said_of(result)


def _said_of(result: Result | None) -> str:
    if result is None:
        return "not begun"
    return "done" if result.is_done else result.note


if __name__ == "__main__":
    print(json.dumps([_killed_at(Path(sys.argv[1]) / str(each), each) for each in range(1, int(sys.argv[2]) + 1)]))

"""A program that gets a signal at one of its lines, whichever: at each of them in turn, in a process of its own.

python -m tests.every_line SIGNAL COUNT PROGRAM
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from tests.waiting import ROOT

_PATIENCE_SECONDS = 60  # with a program that does not end


def struck_at_every_line(program: Path, number: signal.Signals, count: int) -> list[int]:
    """How it ended, each time: struck at the first line once it has a handler for the signal, at the second, ...

    The lines of `threading` count too: what they hold just then, the handler finds held.
    """
    command = [sys.executable, "-m", "tests.every_line", str(int(number)), str(count), str(program)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _striking(program: Path, number: int, line: int) -> Callable[..., Any]:
    counted = {str(program), threading.__file__}
    left = line

    def trace(frame: FrameType, kind: str, _said: object) -> Callable[..., Any] | None:
        nonlocal left
        if kind == "line" and frame.f_code.co_filename in counted and callable(signal.getsignal(number)):
            left -= 1
            if not left:
                sys.settrace(None)
                signal.raise_signal(number)
                return None
        return trace

    return trace


def _run(program: Path, number: int, line: int) -> None:
    signal.alarm(_PATIENCE_SECONDS)
    code = compile(program.read_text(encoding="utf-8"), program, "exec")
    sys.settrace(_striking(program, number, line))
    exec(code, {"__name__": "__main__", "__file__": str(program)})


if __name__ == "__main__":
    ends = []
    for struck_at in range(1, int(sys.argv[2]) + 1):
        child = os.fork()
        if not child:
            _run(Path(sys.argv[3]), int(sys.argv[1]), struck_at)
            os._exit(0)
        ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(json.dumps(ends))

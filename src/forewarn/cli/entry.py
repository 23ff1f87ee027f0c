"""Where the command begins: Ctrl-C is no accident, not even before anything is loaded."""

from __future__ import annotations

import os
import sys

_STREAMS = ("stdin", "stdout", "stderr")


def main() -> None:
    """Run the command and leave with the right exit code."""
    try:
        _stop_gaps()
        if sys.argv[1:2] == ["agent"]:
            # Straight there: the agent has to stay small, and needs nothing of what the other commands load.
            from forewarn.agent.commands import run_command  # noqa: PLC0415 - the loading itself may be interrupted

            code = run_command(sys.argv[2:])
        else:
            from forewarn.cli.main import run  # noqa: PLC0415 - the same

            code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _stop_gaps() -> None:
    """Put something in the place of standard streams that were closed, so that no file and no socket gets there.

    What we start finds them closed as they were.
    """
    for number, name in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)  # takes the first place that is free, and is not handed down
            setattr(sys, name, os.fdopen(opened, "w" if number else "r", encoding="utf-8"))

"""Where the command begins: Ctrl-C is no accident, not even before anything is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command and leave with the right exit code."""
    try:
        from forewarn.agent.streams import stop_gaps  # noqa: PLC0415 - the loading itself may be interrupted

        stop_gaps()
        if sys.argv[1:2] == ["agent"]:
            # Straight there: the agent has to stay small, and needs nothing of what the other commands load.
            from forewarn.agent.commands import run_command  # noqa: PLC0415 - the same

            code = run_command(sys.argv[2:])
        else:
            from forewarn.cli.main import run  # noqa: PLC0415 - the same

            code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)

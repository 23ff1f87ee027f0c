"""Where `forewarn-agent.pyz` and `python -m forewarn.agent` begin: Ctrl-C is no accident."""

from __future__ import annotations

import sys
from pathlib import PurePath


def main() -> None:
    """Run the command and leave with the right exit code."""
    try:
        from forewarn.agent.streams import stop_gaps  # noqa: PLC0415 - the loading itself may be interrupted

        stop_gaps()
        from forewarn.agent.commands import run_command  # noqa: PLC0415 - the same

        code = run_command(sys.argv[1:], _name_of(sys.argv[0]))
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _name_of(program: str) -> str:
    """What people call this program."""
    name = PurePath(program).name
    return "python -m forewarn.agent" if name == "__main__.py" else name


if __name__ == "__main__":
    main()

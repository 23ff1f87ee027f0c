"""Where the command begins: Ctrl-C is no accident, not even before anything is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command and leave with the right exit code."""
    try:
        from forewarn.cli.main import run  # noqa: PLC0415 - the loading itself may be interrupted

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)

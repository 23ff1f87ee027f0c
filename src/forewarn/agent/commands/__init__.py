"""The command `forewarn agent`: finds the subcommand, and turns errors into sentences and exit codes.

0 done, 1 refused or failed, 2 usage, 3 agent or endpoint unreachable, 128 + N ended by signal N.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from types import SimpleNamespace

from forewarn.agent.commands.output import Failure, complain, finish
from forewarn.agent.config_problems import ConfigProblems
from forewarn.agent.streams import lose

PROGRAM = "forewarn agent"


def run_command(arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Run the command; its exit code."""
    return finish(_run(arguments, program))


def _run(arguments: Sequence[str], program: str) -> int:
    try:
        given = _parse(arguments, program)
        # A command pays for its own imports only: an agent that runs has to stay small.
        code: int = import_module(f"{__name__}.{given.module}").run(given)
    except SystemExit as leaving:  # of argparse, which has said why
        return leaving.code if isinstance(leaving.code, int) else 2
    except ConfigProblems as problems:
        for each in problems.problems:
            complain(str(each))
        return 1
    except Failure as failure:
        complain(failure.message, failure.hint)
        return failure.code
    except BrokenPipeError:  # a reader that has seen enough is no failure
        lose(sys.stdout)
        return 0
    except KeyboardInterrupt:
        return 130
    return code


def _parse(arguments: Sequence[str], program: str) -> SimpleNamespace:
    from forewarn.agent.commands.parser import COMMANDS, build_parser  # noqa: PLC0415 - `run` lets go of it again

    asked = arguments[0] if arguments else ""
    only = asked if asked in {name for name, *_ in COMMANDS} else ""
    return SimpleNamespace(**vars(build_parser(program, only=only).parse_args(list(arguments))))

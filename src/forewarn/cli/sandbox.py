"""`forewarn sandbox`: run a program where the real address is the emulator."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import click

from forewarn.cli.output import complain
from forewarn.cli.serve import configure_logs, with_settings
from forewarn.config import SETTINGS, Settings, load_settings, refuse_idle_clock_start
from forewarn.errors import UsageProblem

_LEFT_OUT = {  # it has a network, a store and an end of its own
    *(
        "metadata",
        "metadata_host_names",
        "operator",
        "tls_cert",
        "tls_key",
        "store",
        "machines",
        "history_days",
        "demo",
    ),
    *("health_command", "webhook_tries", "webhook_timeout", "watch_guests"),
}
_WORDS = {
    "fleet": "Fleet file (default: one VM, named after this machine).",
    "guest": "Which VM of the fleet the program is (default: the one named after this machine, or the only one).",
    "clock_start": "Where a virtual clock begins (default: now).",
}
_SETTINGS = [
    replace(setting, help=_WORDS.get(setting.name, setting.help))
    for setting in SETTINGS
    if setting.name not in _LEFT_OUT
]


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="It ends with the program's own code, or 128 and the number of the signal that ended it; with 127 if "
    "there is no such command, 126 if it cannot be run, 1 if there can be no sandbox here.",
)
@with_settings(_SETTINGS)
@click.argument("command", metavar="-- COMMAND [ARGS]...", nargs=-1, type=click.UNPROCESSED)
def sandbox(command: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - settings are of any type
    """Run a program where http://169.254.169.254 is the emulator.

    The program needs no change, and no right that it has not got. It finds nothing else in that network: what it
    should reach has to run in the same sandbox. `forewarn` commands that it runs drive the emulator. When it ends,
    all that it has started is ended too.
    """
    if not command:
        raise UsageProblem("There is no command to run.", "forewarn sandbox -- COMMAND ARGS")
    variables = {setting.variable for setting in _SETTINGS}
    environment = {name: value for name, value in os.environ.items() if name in variables}
    settings = replace(load_settings(flags, environment), watch_guests=True)  # it is there to be looked at
    refuse_idle_clock_start(settings, is_flag=flags["clock_start"] is not None)
    configure_logs(settings.log_format, logging.WARNING)
    sys.stdout.flush()
    return _run(command, settings)


def _run(command: tuple[str, ...], settings: Settings) -> int:
    from forewarn.sandbox.fleet import emulator_for  # noqa: PLC0415 - all this is the sandbox's alone
    from forewarn.sandbox.obstacles import NotRun  # noqa: PLC0415 - the same
    from forewarn.sandbox.run import environment_of, run  # noqa: PLC0415 - the same

    try:
        outcome = run(command, environment_of(os.environ), partial(emulator_for, settings), _tell_where)
    except NotRun as problem:
        complain(problem.message, problem.hint)
        return problem.code
    if outcome.left:
        more = outcome.left_count - len(outcome.left)
        named = ", ".join(outcome.left) + (f" and {more} more" if more else "")
        click.echo(f"sandbox: the command had left these running, and they were ended: {named}", err=True)
    return outcome.code


def _tell_where(emulator: Any) -> None:  # noqa: ANN401 - an Emulator, imported late
    if sys.stderr.isatty():
        click.echo(
            f"sandbox: 169.254.169.254 is forewarn, and this is its VM {emulator.service.settings.guest}.",
            err=True,
        )

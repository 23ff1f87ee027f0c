"""The command `forewarn`: finds the subcommand, and turns errors into sentences and exit codes.

0 done, 1 refused or failed, 2 usage, 3 service unreachable.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from forewarn import __version__
from forewarn.cli.client import Unreachable
from forewarn.cli.output import complain, dropped_if_stderr_fails, leave_the_reader
from forewarn.cli.problems import file_problem, hint_for, usage_problem
from forewarn.errors import ForewarnError, UsageProblem

_COMMANDS = {
    "serve": ("forewarn.cli.serve", "serve", "The service in one process: guests, operators, control plane."),
    "fleet": ("forewarn.cli.fleet", "fleet", "Apply, check, compare, show and export the fleet."),
    "vm": ("forewarn.cli.vm", "vm", "VMs: list, show, restart, redeploy, evict, delete, stop, start."),
    "host": ("forewarn.cli.host", "host", "Hosts: list, show, maintain, degrade, fail, recover, reclaim."),
    "scope": ("forewarn.cli.scope", "scope", "Scopes: who shares a document, and whether anybody asks."),
    "rollout": (
        "forewarn.cli.rollout",
        "rollout",
        "Rollouts: preview, start, list, show, watch, pause, resume, abort.",
    ),
    "event": ("forewarn.cli.event", "event", "Events: list, show, watch, approve, postpone, cancel, history."),
    "audit": ("forewarn.cli.history", "audit", "Who did what, and when."),
    "report": ("forewarn.cli.report", "report", "What guests did: how they ask, approve, and take errors."),
    "agent": (
        "forewarn.cli.agent",
        "agent",
        "The program in the guest: run, check, explain, status, approve, hold, release, test.",
    ),
    "clock": ("forewarn.cli.clock", "clock", "The clock: show it, and move a virtual one."),
    "scenario": ("forewarn.cli.scenario", "scenario", "Scenarios: list, show, play maintenance from a file."),
    "sandbox": (
        "forewarn.cli.sandbox",
        "sandbox",
        "Run a program where 169.254.169.254 is the emulator.",
    ),
    "record": ("forewarn.cli.record", "record", "Write down what an endpoint says, change by change."),
    "replay": ("forewarn.cli.replay", "replay", "Serve a recording again."),
    "token": ("forewarn.cli.credentials", "token", "Tokens to sign in with: create, list, revoke."),
    "principal": ("forewarn.cli.credentials", "principal", "Service principals: create, list, revoke."),
    "webhook": ("forewarn.cli.webhook", "webhook", "Webhooks: add, list, remove, dead, resend, test."),
    "fault": ("forewarn.cli.fault", "fault", "Faults, for tests of clients: add, list, clear."),
    "tls": ("forewarn.cli.tls", "tls", "A private authority and a certificate for the service."),
    "completion": ("forewarn.cli.completion", "completion", "Completion for bash, zsh or fish."),
}


class LazyGroup(click.Group):
    """Imports a subcommand when it is asked for, so that none pays for the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The subcommands, in the order of the table."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of that name."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module, name, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever the subcommand returns
        """Run the subcommand; a reader that has seen enough is no failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            leave_the_reader()
            return 0

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help's list, without importing anything."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in _COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="forewarn")
def forewarn() -> None:
    """Maintenance of virtual machines, announced before it happens."""


def run(arguments: list[str]) -> int:
    """Run the command; its exit code."""
    try:
        outcome = forewarn.main(arguments, prog_name="forewarn", standalone_mode=False)
    except click.exceptions.Abort:
        return 130
    except click.ClickException as problem:
        if isinstance(problem, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # newer versions of click only
            dropped_if_stderr_fails(problem.show)()
        else:
            complain(*usage_problem(problem))
        return problem.exit_code
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except ForewarnError as problem:
        complain(problem.message, hint_for(problem))
        return 3 if isinstance(problem, Unreachable) else 2 if isinstance(problem, UsageProblem) else 1
    except KeyboardInterrupt:
        return 130
    except OSError as problem:
        told = file_problem(problem)
        if told is None:
            raise
        complain(*told)
        return 1
    return outcome if isinstance(outcome, int) else 0

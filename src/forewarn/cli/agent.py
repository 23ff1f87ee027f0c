"""`forewarn agent` among the other commands: its name and its help. The agent itself is in `forewarn.agent`."""

from __future__ import annotations

import click

from forewarn.agent.commands import run_command


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
    add_help_option=False,
)
@click.pass_context
def agent(context: click.Context) -> int:
    """The program in the guest: watches, prepares, approves, recovers.

    Its commands, its file and its handlers have a page of their own: docs/reference/agent.md.
    """
    return run_command(context.args)

"""`forewarn agent` among the other commands: its name, its help and its completion.

The agent itself is in `forewarn.agent`.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from forewarn.agent.commands import run_command


class _Agent(click.Command):
    """A command with a parser of its own, which says what can be completed."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the agent's commands, and then the options and files of the one that was chosen."""
        from forewarn.agent.commands.parser import COMMANDS, build_parser, subparsers  # noqa: PLC0415 - only here

        before = ctx.args
        chosen = subparsers(build_parser("forewarn agent")).get(before[0]) if before else None
        if chosen is None:
            return [
                CompletionItem(name, help=text) for name, _, text, _ in COMMANDS if name.startswith(incomplete)
            ]
        actions = chosen._actions  # noqa: SLF001 - argparse has no other way
        options = {flag: each for each in actions for flag in each.option_strings}
        wanted = [options[before[-1]].metavar] if before[-1] in options else [None]
        if wanted == [None]:
            wanted = [each.metavar for each in actions if not each.option_strings]
            if not wanted or incomplete.startswith("-"):
                found = {flag: each.help for flag, each in options.items() if flag.startswith(incomplete)}
                return [CompletionItem(flag, help=text) for flag, text in found.items()]
        return [CompletionItem(incomplete, type="file")] if "FILE" in wanted else []


@click.command(
    cls=_Agent,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
    add_help_option=False,
)
@click.pass_context
def agent(context: click.Context) -> int:
    """The program in the guest: watches, prepares, approves, recovers.

    Its commands, its file and its handlers have a page of their own: docs/reference/agent.md.
    """
    return run_command(context.args)

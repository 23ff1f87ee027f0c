"""The command line, from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from forewarn.cli import main
from tools.markdown import block, page

_WIDTH = 88


def walk(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """The command and all below it, each with the context that knows its whole name."""
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from walk(below, open_context(below, name, context))


def open_context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    """A context in which nothing depends on the terminal that it runs in."""
    settings = {**command.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    return click.Context(command, parent=parent, info_name=name, color=False, **settings)


def all_commands() -> Iterator[tuple[click.Command, click.Context]]:
    """Every command that `forewarn` has, itself first."""
    return walk(main.forewarn, open_context(main.forewarn, "forewarn"))


def write() -> str:
    """The page."""
    codes = (inspect.getdoc(main) or "").rpartition("\n")[2]
    sections = [
        f"{'#' * (1 + len(context.command_path.split()))} {context.command_path}\n\n"
        + block("text", command.get_help(context))
        for command, context in all_commands()
    ]
    return page("Command line", f"Exit codes: {codes}", *sections)

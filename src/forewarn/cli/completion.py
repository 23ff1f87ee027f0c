"""`forewarn completion`: what a shell has to read to complete commands and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from forewarn.errors import ForewarnError


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print completion for a shell: source <(forewarn completion bash)."""
    from forewarn.cli.main import forewarn  # noqa: PLC0415 - it imports this module

    made = get_completion_class(shell)
    if made is None:
        raise ForewarnError(f"There is no completion for {shell}.")
    click.echo(made(forewarn, {}, "forewarn", "_FOREWARN_COMPLETE").source())

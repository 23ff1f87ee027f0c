"""Options and arguments that several commands share, and completion of names by asking the service."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from forewarn.cli.client import Client
from forewarn.errors import ForewarnError
from forewarn.wire.times import parse_duration

F = TypeVar("F", bound=Callable[..., Any])


def service_options(command: F) -> F:
    """Where the service is, and whether a program is listening."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)
    return click.option(
        "--url", metavar="URL", help="The service (default FOREWARN_URL, else http://127.0.0.1:8255)."
    )(command)


class Duration(click.ParamType):  # type: ignore[type-arg] # generic in some versions of click only
    """`15m`, `1h30m`, `45s`, `PT15M`."""

    name = "duration"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> timedelta:
        """The length of time that was written."""
        if isinstance(value, timedelta):
            return value
        try:
            return parse_duration(str(value))
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


DURATION = Duration()


def _complete(path: str, section: str, key: str) -> Callable[..., list[CompletionItem]]:
    def complete(ctx: click.Context, _param: click.Parameter, beginning: str) -> list[CompletionItem]:
        try:
            found = Client(ctx.params.get("url")).get(path)[section]
        except (ForewarnError, KeyError, TypeError):
            return []
        texts = (each[key] if key != "id" else each[key][:8].lower() for each in found)
        return [CompletionItem(text) for text in texts if text.startswith(beginning)]

    return complete


vm_argument = click.argument("name", metavar="VM", shell_complete=_complete("/v1/vms", "vms", "name"))
host_argument = click.argument("name", metavar="HOST", shell_complete=_complete("/v1/hosts", "hosts", "name"))
scope_argument = click.argument("name", metavar="SCOPE", shell_complete=_complete("/v1/scopes", "scopes", "id"))
event_argument = click.argument("name", metavar="EVENT", shell_complete=_complete("/v1/events", "events", "id"))

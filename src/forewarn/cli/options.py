"""Options and arguments that several commands share, and completion of names by asking the service."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from forewarn.cli.client import Client
from forewarn.cli.output import short
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


class Name(click.ParamType):  # type: ignore[type-arg] # generic in some versions of click only
    """The name of something, which cannot be empty."""

    name = "name"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name that was written."""
        if not value:
            self.fail("a name is needed, and this one is empty", param, ctx)
        return str(value)


def _complete(path: str, section: str, text_of: Callable[[Any], str]) -> Callable[..., list[CompletionItem]]:
    def complete(ctx: click.Context, _param: click.Parameter, beginning: str) -> list[CompletionItem]:
        try:
            found = Client(ctx.params.get("url")).get(path)[section]
        except (ForewarnError, KeyError, TypeError):
            return []
        return [CompletionItem(text) for text in map(text_of, found) if text.startswith(beginning)]

    return complete


def _named(what: str, section: str, text_of: Callable[[Any], str], *, required: bool = True) -> Callable[[F], F]:
    complete = _complete(f"/v1/{section}", section, text_of)
    return click.argument("name", metavar=what, type=Name(), required=required, shell_complete=complete)


vm_argument = _named("VM", "vms", lambda vm: str(vm["name"]))
host_argument = _named("HOST", "hosts", lambda host: str(host["name"]))
scope_argument = _named("SCOPE", "scopes", lambda scope: str(scope["id"]))
event_argument = _named("EVENT", "events", lambda event: short(event["id"]))
any_event_argument = _named("[EVENT]", "events", lambda event: short(event["id"]), required=False)

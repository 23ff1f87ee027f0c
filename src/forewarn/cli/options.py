"""Options and arguments that several commands share, and completion of names by asking the service."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from forewarn.cli.client import Client, Refused
from forewarn.cli.flag_names import in_flags
from forewarn.cli.output import short
from forewarn.clock import FASTEST_RATE
from forewarn.errors import ForewarnError
from forewarn.wire.times import parse_duration, parse_instant

F = TypeVar("F", bound=Callable[..., Any])


_FILE = click.Path(path_type=Path, dir_okay=False)


def service_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the service is and how one signs in there, as a `client`; and whether a program is listening."""

    @wraps(command)
    def with_client(
        *arguments: Any,  # noqa: ANN401 - whatever the command takes
        url: str | None,
        token_file: Path | None,
        ca_file: Path | None,
        **options: Any,  # noqa: ANN401 - the same
    ) -> Any:  # noqa: ANN401 - and returns
        try:
            return command(*arguments, client=Client(url, token_file, ca_file), **options)
        except Refused as problem:
            raise in_flags(problem, click.get_current_context().command.params) from None

    for option in reversed(
        (
            click.option(
                "--url", metavar="URL", help="The service (default FOREWARN_URL, else http://127.0.0.1:8255)."
            ),
            click.option(
                "--token-file", metavar="FILE", type=_FILE, help="File with your token (else FOREWARN_TOKEN)."
            ),
            click.option(
                "--ca-file",
                metavar="FILE",
                type=_FILE,
                help="Authority that vouches for an https service (default FOREWARN_CA_FILE, else the system's).",
            ),
            click.option("--json", "as_json", is_flag=True, help="Print JSON for programs."),
        )
    ):
        option(with_client)
    return with_client


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


class FiniteRange(click.FloatRange):
    """A number between two others; what is none (nan) or has no end (inf) is refused too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - as click has it
        """The number that was written."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no number that can be counted with", param, ctx)
        return number


RATE = FiniteRange(min=0, min_open=True, max=FASTEST_RATE)


class InstantOfTime(click.ParamType):  # type: ignore[type-arg] # generic in some versions of click only
    """`2026-03-02T22:00:00Z`; without a zone it is UTC."""

    name = "instant"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The instant that was written."""
        if isinstance(value, datetime):
            return value
        try:
            return parse_instant(str(value))
        except ValueError:
            self.fail(f"{value!r} is no instant; write it like 2026-03-02T22:00:00Z", param, ctx)


INSTANT = InstantOfTime()


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
            client = Client(*(ctx.params.get(name) for name in ("url", "token_file", "ca_file")))
            found = client.get(path)[section]
        except (ForewarnError, KeyError, TypeError):
            return []
        return [CompletionItem(text) for text in map(text_of, found) if text.startswith(beginning)]

    return complete


def complete_choices(*words: str) -> Callable[..., list[CompletionItem]]:
    """Completion of one of these words."""

    def complete(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in words if word.startswith(beginning)]

    return complete


def complete_file(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[CompletionItem]:
    """Completion of a file's name, by the shell."""
    return [CompletionItem(beginning, type="file")]


complete_vm = _complete("/v1/vms", "vms", lambda vm: str(vm["name"]))
complete_host = _complete("/v1/hosts", "hosts", lambda host: str(host["name"]))
complete_scope = _complete("/v1/scopes", "scopes", lambda scope: str(scope["id"]))


def _named(what: str, section: str, text_of: Callable[[Any], str], *, required: bool = True) -> Callable[[F], F]:
    complete = _complete(f"/v1/{section}", section, text_of)
    return click.argument("name", metavar=what, type=Name(), required=required, shell_complete=complete)


vm_argument = _named("VM", "vms", lambda vm: str(vm["name"]))
vm_or_all_argument = _named("[VM]", "vms", lambda vm: str(vm["name"]), required=False)
host_argument = _named("HOST", "hosts", lambda host: str(host["name"]))
scope_argument = _named("SCOPE", "scopes", lambda scope: str(scope["id"]))
event_argument = _named("EVENT", "events", lambda event: short(event["id"]))
rollout_argument = _named("ROLLOUT", "rollouts", lambda rollout: short(rollout["id"]))
any_event_argument = _named("[EVENT]", "events", lambda event: short(event["id"]), required=False)

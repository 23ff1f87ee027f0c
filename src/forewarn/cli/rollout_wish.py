"""What `forewarn rollout` may be asked for: the options of `preview` and `start`, which are the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import click

from forewarn.cli.options import DURATION, INSTANT, Name, complete_host

F = TypeVar("F", bound=Callable[..., Any])

_KINDS = click.Choice(["Freeze", "Reboot", "Redeploy"], case_sensitive=False)
_WAYS = click.Choice(["pause", "live_migration"])
_DAYS = click.Choice(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], case_sensitive=False)
_DATE = click.DateTime(formats=["%Y-%m-%d"])
_SECONDS = click.IntRange(-1, 86400)
_COUNT = click.IntRange(min=0)
_PERCENT = click.IntRange(0, 100)

_one = click.option


def _many(*names: str, help: str, **more: Any) -> Callable[[F], F]:  # noqa: A002, ANN401 - as click has it
    return click.option(*names, multiple=True, help=f"{help}; may repeat.", **more)


_OPTIONS = (
    _one("--kind", type=_KINDS, default="Freeze", show_default=True, help="What VMs will feel."),
    _many("--host", "hosts", type=Name(), shell_complete=complete_host, help="Only this host, instead of all"),
    _many("--zone", "zones", type=Name(), help="Only hosts of this zone"),
    _many("--tag", "tags", type=Name(), metavar="KEY=VALUE", help="Only hosts with this tag"),
    _one("--by", type=_WAYS, help="How a Freeze is done (default pause)."),
    _one(
        "--seconds",
        type=_SECONDS,
        help="How long VMs are expected to be away (default: 9 for a Freeze, 5 for a live migration).",
    ),
    _one("--notice", type=DURATION, help="How long ahead (default: the least of the kind)."),
    _one("--description", help="What guests are told instead of the usual text."),
    _one("--max-parallel", type=int, help="Hosts that are at work at once (default 10)."),
    _one("--max-parallel-per-zone", type=int, help="The same, in one zone."),
    _one("--recovery", type=DURATION, help="Between two update domains of a set (default 30m)."),
    _one("--soak", type=DURATION, help="After each wave, before its health is asked for (default none)."),
    _one("--health-wait", type=DURATION, help="How long an unhealthy wave is waited for (default 10m)."),
    _one("--max-failures", type=_COUNT, help="Hosts that may fail; one more pauses it (default 0)."),
    _one("--max-unhealthy-percent", type=_PERCENT, help="VMs of a wave; more of them pause it (default 0)."),
    _one("--from", "opens", metavar="HH:MM", help="When the window opens (default 00:00)."),
    _one(
        "--to",
        "closes",
        metavar="HH:MM",
        help="When it closes; the next day, if not later (default 00:00).",
    ),
    _many("--day", "days", type=_DAYS, help="A day on which it opens (default: every day)"),
    _one("--timezone", help="Whose days and hours they are, like Europe/Berlin (default UTC)."),
    _many("--blackout", type=_DATE, metavar="DATE", help="A date on which nothing is touched"),
    _one("--force-by", type=INSTANT, help="From then on neither the window nor owners' limits hold it."),
)


def wish_options(command: F) -> F:
    """What is to be rolled out, where, and within which limits."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_wish(given: dict[str, Any]) -> dict[str, Any]:
    """The request, without what was not said."""
    window = _window(given)
    body = {
        "kind": given["kind"].capitalize(),
        "hosts": list(given["hosts"]) or None,
        "zones": list(given["zones"]) or None,
        "tags": _tags(given["tags"]) or None,
        "by": given["by"],
        "duration_seconds": given["seconds"],
        "description": given["description"],
        "max_parallel": given["max_parallel"],
        "max_parallel_per_zone": given["max_parallel_per_zone"],
        "max_failures": given["max_failures"],
        "max_unhealthy_percent": given["max_unhealthy_percent"],
        "window": window,
        "force_by": given["force_by"].isoformat() if given["force_by"] else None,
    }
    for name in ("notice", "recovery", "soak", "health_wait"):
        length: timedelta | None = given[name]
        body[f"{name}_seconds"] = None if length is None else round(length.total_seconds())
    return {name: value for name, value in body.items() if value is not None}


def _tags(given: tuple[str, ...]) -> dict[str, str]:
    tags: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} has no value; write KEY=VALUE.", param_hint="--tag")
        if tags.setdefault(key, value) != value:
            raise click.BadParameter(f"no host has {key}={tags[key]} and {text}.", param_hint="--tag")
    return tags


def _window(given: dict[str, Any]) -> dict[str, Any] | None:
    more = {
        "days": [day.capitalize() for day in given["days"]] or None,
        "timezone": given["timezone"],
        "blackout": [f"{day:%Y-%m-%d}" for day in given["blackout"]] or None,
    }
    if not given["opens"] and not given["closes"] and not any(more.values()):
        return None
    window = {"from": given["opens"] or "00:00", "to": given["closes"] or "00:00", **more}
    return {name: value for name, value in window.items() if value is not None}

"""Filters of `vm list` and `host list`, applied to what the service lists."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import click

from forewarn.cli.options import Name, complete_host, complete_scope
from forewarn.core.terms import Condition, VmState

F = TypeVar("F", bound=Callable[..., Any])
Entry = dict[str, Any]

_NAME = click.option("--name", "pattern", metavar="PATTERN", help="Only names that match, like 'web-*'.")
_TAG = click.option("--tag", metavar="KEY[=VALUE]", type=Name(), help="Only those with this tag.")
_VM_OPTIONS = (
    _NAME,
    click.option("--host", type=Name(), shell_complete=complete_host, help="Only VMs on this host."),
    click.option("--set", "set_name", type=Name(), help="Only VMs of this set."),
    click.option("--scope", type=Name(), shell_complete=complete_scope, help="Only VMs of this scope."),
    click.option(
        "--state",
        type=click.Choice([each.value for each in VmState if each is not VmState.DELETED]),
        help="Only VMs in this state.",
    ),
    _TAG,
)
_HOST_OPTIONS = (
    _NAME,
    click.option("--zone", type=Name(), help="Only hosts of this zone."),
    click.option(
        "--condition", type=click.Choice([each.value for each in Condition]), help="Only hosts in this condition."
    ),
    _TAG,
)


def vm_filters(command: F) -> F:
    """The options that choose VMs."""
    return _with(_VM_OPTIONS, command)


def host_filters(command: F) -> F:
    """The options that choose hosts."""
    return _with(_HOST_OPTIONS, command)


def _with(options: tuple[Callable[[F], F], ...], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def chosen(entries: list[Entry], given: dict[str, str | None]) -> list[Entry]:
    """The entries that fit every filter that was given."""
    return [each for each in entries if all(_fits(each, key, value) for key, value in given.items())]


def _fits(entry: Entry, key: str, value: str | None) -> bool:
    if value is None:
        return True
    if key == "pattern":
        return fnmatchcase(entry["name"].lower(), value.lower())
    if key == "tag":
        name, equals, wanted = value.partition("=")
        return name in entry["tags"] and (not equals or entry["tags"][name] == wanted)
    return bool(entry["set" if key == "set_name" else key] == value)


def nothing_found(what: str, given: dict[str, str | None]) -> str:
    """What to say of an empty list."""
    if any(given.values()):
        return f"No {what} matches these filters."
    return f"There are no {what}s. Apply a fleet: forewarn fleet apply FILE"

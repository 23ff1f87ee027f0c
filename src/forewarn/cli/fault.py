"""`forewarn fault`: what goes wrong on purpose, for tests of clients. Options come from the table of faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from forewarn.cli.client import Client, in_path
from forewarn.cli.options import Name, complete_choices, complete_vm, service_options
from forewarn.cli.output import counted, show_json, table
from forewarn.core.fault import Fault
from forewarn.wire.fault import COMMON, all_options

_NAMES = ", ".join(Fault)


def _option_of(name: str, kind: type, words: str) -> Callable[[Any], Any]:
    flag, text = f"--{name.replace('_', '-')}", f"{words[0].upper() if name in COMMON else words[0]}{words[1:]}."
    if kind is bool:
        return click.option(flag, name, is_flag=True, default=None, help=text)
    if kind is tuple:
        return click.option(flag, name, metavar="A,B", type=Name(), help=text)
    kinds: dict[type, Any] = {int: int, float: float, str: Name()}
    metavar = "N" if kind in {int, float} else "VM" if name == "vm" else "WHICH"
    complete = complete_vm if name == "vm" else None
    return click.option(flag, name, type=kinds[kind], metavar=metavar, help=text, shell_complete=complete)


def _fault_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, (kind, words) in reversed(all_options().items()):
        command = _option_of(name, kind, words)(command)
    return command


@click.group()
def fault() -> None:
    """Faults, for tests of clients: add, list, clear."""


@fault.command("add", epilog=f"NAME is one of {_NAMES}. What each does: docs/reference/faults.md")
@click.argument("name", metavar="NAME", type=Name(), shell_complete=complete_choices(*Fault))
@_fault_options
@service_options
def add(name: str, client: Client, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - whatever the faults take
    """Let something go wrong from now on, for one VM or for all: always, or as --rate, --count or --every say.

    Only where machines are simulated.
    """
    given = {each: value for each, value in options.items() if value is not None}
    made = client.post("/v1/faults", {"name": name, **given})
    if as_json:
        show_json(made)
    else:
        click.echo(f"{made['id']} strikes {made['vm'] or 'all VMs'}, {made['pace']}.")
        click.echo(f"end it: forewarn fault clear {made['id']}")


@fault.command("list")
@service_options
def list_faults(client: Client, as_json: bool) -> None:
    """The rules in force, and how often each has struck."""
    found = client.all("/v1/faults", "faults")
    if as_json:
        show_json({"faults": found})
        return
    rows = [
        (each["id"], each["vm"] or "all", each["pace"], _said(each["options"]), each["asked"], each["struck"])
        for each in found
    ]
    columns = ("fault", "vm", "strikes", "options", "asked", "struck")
    table(columns, rows, "Nothing goes wrong on purpose. Add a fault: forewarn fault add NAME")


def _said(options: dict[str, Any]) -> str:
    texts = {name: " ".join(value) if isinstance(value, list) else value for name, value in options.items()}
    return ", ".join(f"{name} {text}" for name, text in texts.items() if text not in (None, False))


@fault.command("clear")
@click.argument("rule", metavar="[ID]", required=False, type=Name())
@service_options
def clear(rule: str | None, client: Client, as_json: bool) -> None:
    """Let a fault, or all of them, strike no more."""
    gone = client.delete("/v1/faults" if rule is None else f"/v1/faults/{in_path(rule)}")
    if as_json:
        show_json(gone)
        return
    cleared = gone["faults"] if rule is None else [gone]
    struck = sum(each["struck"] for each in cleared)
    click.echo(f"{counted(len(cleared), 'fault')} cleared, struck {counted(struck, 'time')}.")

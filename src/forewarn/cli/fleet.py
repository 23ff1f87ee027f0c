"""`forewarn fleet`: what there is, from a file and back into one."""

from __future__ import annotations

import re
from collections import Counter
from math import inf
from pathlib import Path
from typing import Any

import click
import msgspec

from forewarn.cli.client import Client, Refused
from forewarn.cli.options import service_options
from forewarn.cli.output import counted, printable, show_json, table
from forewarn.errors import ConfigError
from forewarn.wire.fleet_file import BadFleet, read_toml, write_toml
from forewarn.wire.toml_lines import find_lines

_PLACE = re.compile(r"^(?:(\w+)\[(\d+)\](?:\.(\w+))?|fleet): ")


@click.group()
def fleet() -> None:
    """Apply, show and export the fleet."""


@fleet.command("apply")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@service_options
def apply(file: Path, client: Client, as_json: bool) -> None:
    """Make the fleet what FILE says: all of it, or nothing."""
    try:
        text = file.read_text(encoding="utf-8")
        spec = read_toml(text, str(file)).spec
    except OSError as problem:
        raise ConfigError(f"{file} cannot be read: {problem.strerror}.", "Name another file.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8 text.", "Save it as UTF-8.") from None
    except BadFleet as problem:
        raise Refused(str(problem)) from None
    try:
        answer = client.put("/v1/fleet", msgspec.to_builtins(spec))
    except Refused as refused:
        raise Refused(_with_lines(refused.message, text, str(file)), refused.hint) from None
    if as_json:
        show_json(answer)
        return
    for line in answer["differences"]:
        click.echo(printable(line))
    count = len(answer["differences"])
    click.echo(f"{counted(count, 'change')} applied." if count else "Nothing differs.")
    for line in answer["warnings"]:
        click.echo(f"Warning: {line}", err=True)


def _with_lines(message: str, text: str, name: str) -> str:
    """Replace the service's names of entries with lines of the file, in their order; other lines stay last."""
    lines = find_lines(text)
    numbered: list[tuple[float, str]] = []
    for each in message.splitlines():
        match = _PLACE.match(each)
        line = lines.line(match[1], int(match[2]), match[3] or "") if match and match[1] else 0
        place = f"{name}:{line}: " if line else f"{name}: " if match else ""
        numbered.append((line or inf, place + each[match.end() if match else 0 :]))
    return "\n".join(each for _, each in sorted(numbered, key=lambda pair: pair[0]))


@fleet.command("show")
@service_options
def show(client: Client, as_json: bool) -> None:
    """What the fleet consists of."""
    found = client.get("/v1/fleet")
    if as_json:
        show_json(found)
        return
    if not any(found.values()):
        click.echo("There is nothing. Apply a fleet: forewarn fleet apply FILE")
        return
    hosts, vms = client.all("/v1/hosts", "hosts"), client.all("/v1/vms", "vms")
    members = Counter(vm["set"] for vm in vms)
    click.echo(f"{counted(len(hosts), 'host')}, {counted(len(vms), 'VM')}")
    rows: list[tuple[Any, ...]] = [
        (each["name"], kind, each["resource_group"], members[each["name"]])
        for key, kind in (
            ("availability_sets", "availability set"),
            ("scale_sets", "scale set"),
            ("cloud_services", "cloud service"),
        )
        for each in found[key]
    ]
    if alone := members[None]:
        rows.append(("", "standalone", "", alone))
    if rows:
        table(("name", "kind", "resource group", "vms"), rows, "")


@fleet.command("export")
@service_options
def export(client: Client, as_json: bool) -> None:
    """The fleet as a fleet file."""
    found = client.get("/v1/fleet")
    if as_json:
        show_json(found)
    else:
        click.echo(write_toml(found), nl=False)

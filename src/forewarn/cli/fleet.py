"""`forewarn fleet`: what there is, from a file and back into one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import click
import msgspec

from forewarn.cli.client import Client, Refused
from forewarn.cli.consent import ask, can_ask, dry_run_option, yes_option
from forewarn.cli.options import service_options
from forewarn.cli.output import counted, printable, show_json, table
from forewarn.clock import SystemClock
from forewarn.core.draft import Draft
from forewarn.core.fleet_plan import plan_fleet
from forewarn.core.fleet_warnings import warnings
from forewarn.core.world import World
from forewarn.errors import ConfigError
from forewarn.ids import random_id
from forewarn.wire.fleet_file import BadFleet, FleetText, read_toml, write_toml
from forewarn.wire.toml_lines import find_lines

_DIFFERENCE = re.compile(r"([-~+]) (VM|host|availability set|scale set|cloud service)\b")
_MOST_NAMED = 20
_PLACE = re.compile(r"^(?:(\w+)\[(\d+)\](?:\.(\w+))?|fleet): ")


@click.group()
def fleet() -> None:
    """Apply, check, compare, show and export the fleet."""


_file_argument = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@fleet.command("apply")
@_file_argument
@dry_run_option
@yes_option
@service_options
def apply(file: Path, dry_run: bool, yes: bool, client: Client, as_json: bool) -> None:
    """Make the fleet what FILE says: all of it, or nothing. Asks first on a terminal, if it removes something."""
    read = _read(file)
    if dry_run:
        answer = _put(client, read, is_dry_run=True)
    else:
        if can_ask(yes=yes):
            _ask_about(_put(client, read, is_dry_run=True)["differences"], file)
        answer = _put(client, read)
    if as_json:
        show_json(answer)
        return
    for line in answer["differences"]:
        click.echo(printable(line))
    count = len(answer["differences"])
    done = "would be applied. Nothing was changed." if dry_run else "applied."
    click.echo(f"{counted(count, 'change')} {done}" if count else "Nothing differs.")
    _warn(answer["warnings"])


@fleet.command("diff")
@_file_argument
@click.option("--exit-code", is_flag=True, help="Exit with 1 if something differs.")
@service_options
def diff(file: Path, exit_code: bool, client: Client, as_json: bool) -> int:
    """Show how the running fleet differs from FILE; change nothing."""
    answer = _put(client, _read(file), is_dry_run=True)
    if as_json:
        show_json(answer)
    else:
        for line in answer["differences"]:
            click.echo(printable(line))
        if not answer["differences"]:
            click.echo("Nothing differs.")
    return 1 if exit_code and answer["differences"] else 0


@fleet.command("check")
@_file_argument
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def check(file: Path, as_json: bool) -> None:
    """Check FILE without a service: report every problem an empty service would refuse it for."""
    read = _read(file)
    world = World()
    plan = plan_fleet(world, read.fleet.spec, random_id())
    if plan.problems:
        raise Refused(str(read.fleet.refusal(plan.problems)))
    draft = Draft(world, SystemClock().now(), "")
    plan.write(draft)
    world.apply(draft.seal())
    declared = sum(host.is_declared for host in world.hosts.values())
    noted = warnings(world)
    if as_json:
        show_json({"hosts": declared, "vms": len(world.vms), "sets": len(world.sets), "warnings": noted})
        return
    counts = f"{counted(declared, 'host')}, {counted(len(world.vms), 'VM')}, {counted(len(world.sets), 'set')}"
    click.echo(f"{file} is valid: {counts}.")
    _warn(noted)


def _warn(lines: list[str]) -> None:
    for line in lines:
        click.echo(f"Warning: {line}", err=True)


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    text: str
    fleet: FleetText


def _read(file: Path) -> _File:
    try:
        text = file.read_text(encoding="utf-8")
        return _File(str(file), text, read_toml(text, str(file)))
    except OSError as problem:
        raise ConfigError(f"{file} cannot be read: {problem.strerror}.", "Name another file.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8 text.", "Save it as UTF-8.") from None
    except BadFleet as problem:
        raise Refused(str(problem)) from None


def _put(client: Client, read: _File, *, is_dry_run: bool = False) -> dict[str, Any]:
    try:
        query = {"dry_run": "true"} if is_dry_run else {}
        answer: dict[str, Any] = client.put("/v1/fleet", msgspec.to_builtins(read.fleet.spec), **query)
    except Refused as refused:
        raise Refused(_with_lines(refused.message, read.text, read.name), refused.hint) from None
    return answer


def _ask_about(differences: list[str], file: Path) -> None:
    """Ask, if something would be removed."""
    removed = [line for line in differences if line.startswith("-")]
    if not removed:
        return
    for line in removed[:_MOST_NAMED]:
        click.echo(printable(line), err=True)
    if len(removed) > _MOST_NAMED:
        click.echo(f"and {len(removed) - _MOST_NAMED} more", err=True)
    click.echo(f"{_in_numbers(differences)}.", err=True)
    ask(f"Apply {printable(str(file))}?")


def _in_numbers(differences: list[str]) -> str:
    """The consequence: `This removes 2 VMs and 1 host; changes 1 VM; adds 3 VMs`."""
    counts = {sign: Counter[str]() for sign in "-~+"}
    for match in filter(None, map(_DIFFERENCE.match, differences)):
        counts[match[1]][match[2]] += 1
    parts = [
        f"{verb} {' and '.join(counted(number, kind) for kind, number in counts[sign].items())}"
        for sign, verb in (("-", "removes"), ("~", "changes"), ("+", "adds"))
        if counts[sign]
    ]
    return f"This {'; '.join(parts)}"


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

"""`forewarn host`: work on whole hosts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from forewarn.cli.client import Client, in_path
from forewarn.cli.options import DURATION, host_argument, service_options
from forewarn.cli.output import between, clock, counted, fields, names, short, show_json, table


@click.group()
def host() -> None:
    """Hosts: list, show, maintain, degrade, fail, recover."""


@host.command("list")
@service_options
def list_hosts(client: Client, as_json: bool) -> None:
    """All hosts, by name."""
    found = client.all("/v1/hosts", "hosts")
    if as_json:
        show_json({"hosts": found})
        return
    rows = [
        (
            each["name"],
            each["condition"],
            each["zone"],
            "yes" if each["takes_vms"] else "no",
            len(each["operations"]),
            names(each["vms"]),
        )
        for each in found
    ]
    columns = ("name", "condition", "zone", "takes vms", "operations", "vms")
    table(columns, rows, "There are no hosts. Apply a fleet: forewarn fleet apply FILE")


@host.command("show")
@host_argument
@service_options
def show_host(name: str, client: Client, as_json: bool) -> None:
    """One host."""
    found = client.get(f"/v1/hosts/{in_path(name)}")
    if as_json:
        show_json(found)
        return
    click.echo(f"{found['name']} is {found['condition']}")
    fields(
        [
            ("zone", found["zone"]),
            ("fault domain", found["fault_domain"]),
            ("takes VMs", "yes" if found["takes_vms"] else "no"),
            ("tags", [f"{key}={value}" for key, value in found["tags"].items()]),
            ("VMs", found["vms"]),
            ("operations", found["operations"]),
        ]
    )


def _tell(answer: dict[str, Any], name: str, *, as_json: bool) -> None:
    if as_json:
        show_json(answer)
        return
    operation, events = answer["operation"], answer["events"]
    click.echo(f"{operation['kind']} of {name} {operation['phase'].lower()}: {_count(events)}")
    columns = ("event", "scope", "vms", "starts by", "notice")
    rows = [
        (
            short(event["id"]),
            event["scope"],
            names(event["resources"]),
            clock(event["not_before"], event["created_at"]) if event["phase"] == "Scheduled" else "now",
            between(event["created_at"], event["not_before"]) if event["phase"] == "Scheduled" else "none",
        )
        for event in events
    ]
    if rows:
        table(columns, rows, "")
        click.echo("follow it: forewarn event watch")


def _count(events: list[Any]) -> str:
    if not events:
        return "no VM is on it, nobody has to be told"
    return counted(len(events), "event")


@host.command("maintain")
@host_argument
@click.option(
    "--kind",
    type=click.Choice(["Freeze", "Reboot", "Redeploy"], case_sensitive=False),
    default="Freeze",
    show_default=True,
    help="What its VMs will feel.",
)
@click.option(
    "--by",
    type=click.Choice(["pause", "live_migration"]),
    default="pause",
    show_default=True,
    help="How a Freeze is done.",
)
@click.option(
    "--seconds",
    type=click.IntRange(min=-1),
    help="How long a VM is expected to stand still (default 9 for a Freeze).",
)
@click.option("--notice", type=DURATION, help="How long ahead (default: the least that the kind allows).")
@click.option("--description", help="What guests are told instead of the usual text.")
@service_options
def maintain(
    name: str,
    kind: str,
    by: str,
    seconds: int | None,
    notice: timedelta | None,
    description: str | None,
    client: Client,
    as_json: bool,
) -> None:
    """Announce planned work on a host."""
    body = {
        "kind": kind.capitalize(),
        "by": by,
        "duration_seconds": seconds,
        "notice_seconds": None if notice is None else round(notice.total_seconds()),
        "description": description,
    }
    _tell(client.post(f"/v1/hosts/{in_path(name)}/maintain", body), name, as_json=as_json)


@host.command("degrade")
@host_argument
@click.option("--notice", type=DURATION, help="How long ahead its VMs are moved (default 7 days).")
@service_options
def degrade(name: str, notice: timedelta | None, client: Client, as_json: bool) -> None:
    """Say that a host is expected to fail: its VMs are to be redeployed."""
    body = {"notice_seconds": None if notice is None else round(notice.total_seconds())}
    _tell(client.post(f"/v1/hosts/{in_path(name)}/degrade", body), name, as_json=as_json)


@host.command("fail")
@host_argument
@service_options
def fail(name: str, client: Client, as_json: bool) -> None:
    """Say that a host has failed: its VMs are brought back elsewhere, without notice."""
    _tell(client.post(f"/v1/hosts/{in_path(name)}/fail"), name, as_json=as_json)


@host.command("recover")
@host_argument
@service_options
def recover(name: str, client: Client, as_json: bool) -> None:
    """Say that a host is well again."""
    answer = client.post(f"/v1/hosts/{in_path(name)}/recover")
    if as_json:
        show_json(answer)
    else:
        takes = "takes VMs again" if answer["takes_vms"] else "takes VMs again when the work on it has ended"
        click.echo(f"{name} is {answer['condition']} and {takes}")

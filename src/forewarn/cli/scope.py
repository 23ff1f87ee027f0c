"""`forewarn scope`: who shares a document, and whether anybody asks for it."""

from __future__ import annotations

import click

from forewarn.cli.client import Client, in_path
from forewarn.cli.options import scope_argument, service_options
from forewarn.cli.output import clock, fields, in_order, natural, short, show_json, table


@click.group()
def scope() -> None:
    """Scopes: who shares a document, and whether anybody asks for it."""


@scope.command("list")
@service_options
def list_scopes(client: Client, as_json: bool) -> None:
    """All scopes."""
    found = client.all("/v1/scopes", "scopes")
    if as_json:
        show_json({"scopes": found})
        return
    now = client.get("/v1/clock")["now"]
    rows = [
        (
            each["id"],
            each["kind"],
            "on" if each["is_on"] else "off",
            clock(each["last_poll"], now),
            each["incarnation"],
            len(each["events"]),
            in_order(each["vms"]),
        )
        for each in sorted(found, key=lambda each: natural(each["id"]))
    ]
    columns = ("scope", "kind", "is", "last poll", "incarnation", "events", "vms")
    table(columns, rows, "There are no scopes. Apply a fleet: forewarn fleet apply FILE")


@scope.command("show")
@scope_argument
@service_options
def show_scope(name: str, client: Client, as_json: bool) -> None:
    """One scope."""
    found = client.get(f"/v1/scopes/{in_path(name)}")
    if as_json:
        show_json(found)
        return
    now = client.get("/v1/clock")["now"]
    click.echo(f"{found['kind']} {found['id']} is {'on' if found['is_on'] else 'off'}")
    fields(
        [
            ("on since", clock(found["on_since"], now)),
            ("last poll", clock(found["last_poll"], now)),
            ("incarnation", found["incarnation"]),
            ("VMs", sorted(found["vms"], key=natural)),
            ("events", [short(event) for event in found["events"]]),
        ]
    )

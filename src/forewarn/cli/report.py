"""`forewarn report`: what guests did, and what to fix in them."""

from __future__ import annotations

from typing import Any

import click

from forewarn.cli.client import Client
from forewarn.cli.options import service_options, vm_or_all_argument
from forewarn.cli.output import counted, fields, show_json

_PACES = {
    "real": "Seconds are real seconds.",
    "virtual": "Seconds are those of the virtual clock. For a client in real time, use --pace real.",
}


@click.command("report")
@vm_or_all_argument
@click.option(
    "--pace",
    type=click.Choice(["real", "virtual"], case_sensitive=False),
    help="The clock that counts seconds (default: real if the clock runs, otherwise virtual).",
)
@service_options
def report(name: str | None, pace: str | None, client: Client, as_json: bool) -> None:
    """Report how guests poll, what they approve, and how they handle errors.

    Each finding has a sentence, and a stable code for programs.
    """
    found = _read_all(client, {"vm": name, "pace": pace})
    if as_json:
        show_json(found)
        return
    for guest in found["guests"]:
        _show(guest)
    if name is not None and not found["guests"]:
        click.echo(f"{name} has sent no request yet.")
    elif not found["guests"]:
        click.echo("No guest has sent a request yet.")
    elif found["unheard"]:
        have = "has" if found["unheard"] == 1 else "have"
        click.echo(f"{counted(found['unheard'], 'other VM')} {have} sent no request.")
    if found["guests"]:
        click.echo(_PACES[found["pace"]])


def _read_all(client: Client, asked: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """All pages of the report."""
    whole = page = client.get("/v1/report", **asked)
    while page["next"] is not None:
        page = client.get("/v1/report", **asked, after=page["next"])
        whole["guests"] += page["guests"]
    return whole | {"next": None}


def _show(guest: dict[str, Any]) -> None:
    click.echo(guest["summary"])
    faults, remarks = (
        [f"{each['code']}: {each['sentence']}" for each in guest["findings"] if each["is_fault"] == is_fault]
        for is_fault in (True, False)
    )
    fields([("to fix", faults), ("to know", remarks), ("seen", guest["facts"])])

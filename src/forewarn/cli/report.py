"""`forewarn report`: what guests did, and what is to be mended."""

from __future__ import annotations

from typing import Any

import click

from forewarn.cli.client import Client
from forewarn.cli.options import service_options, vm_or_all_argument
from forewarn.cli.output import counted, fields, show_json

_PACES = {
    "real": "Counted in real seconds.",
    "virtual": "Counted in seconds of the virtual clock; a client that keeps real time: --pace real.",
}


@click.command("report")
@vm_or_all_argument
@click.option(
    "--pace",
    type=click.Choice(["real", "virtual"], case_sensitive=False),
    help="The seconds by which guests are judged (default: real where the clock runs, else virtual).",
)
@service_options
def report(name: str | None, pace: str | None, client: Client, as_json: bool) -> None:
    """What guests did: how they ask, what they approve, what they do with errors.

    Sentences for people, and codes that stay for programs.
    """
    found = _read_all(client, {"vm": name, "pace": pace})
    if as_json:
        show_json(found)
        return
    for guest in found["guests"]:
        _show(guest)
    if name is not None and not found["guests"]:
        click.echo(f"{name} has not asked for anything yet.")
    elif not found["guests"]:
        click.echo("No guest has asked for anything yet.")
    elif found["unheard"]:
        have = "has" if found["unheard"] == 1 else "have"
        click.echo(f"{counted(found['unheard'], 'other VM')} {have} not asked for anything.")
    if found["guests"]:
        click.echo(_PACES[found["pace"]])


def _read_all(client: Client, asked: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """The report with all of its pages."""
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
    fields([("to mend", faults), ("to know", remarks), ("seen", guest["facts"])])

"""`forewarn webhook`: who is told of events as they change, and what did not arrive.

A secret comes from a file, or is made by the service and goes to stdout, once; every sentence about it to stderr.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from forewarn.cli.client import Client, in_path
from forewarn.cli.consent import ask, can_ask, yes_option
from forewarn.cli.options import Name, service_options
from forewarn.cli.output import clock, complain, counted, short, show_json, table
from forewarn.cli.private_file import read_private
from forewarn.errors import ForewarnError

_FORMATS = ("cloudevents", "eventgrid")  # those of store/webhooks.py, which would import far more
_KIND = click.Choice(("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"), case_sensitive=False)

_id_argument = click.argument("webhook", metavar="WEBHOOK", type=Name())


@click.group()
def webhook() -> None:
    """Webhooks, which are told of events as they change: add, list, remove, dead, resend, test."""


@webhook.command()
@click.argument("address", metavar="URL", type=Name())
@click.option("--format", "form", type=click.Choice(_FORMATS), default="cloudevents", help="What is sent there.")
@click.option(
    "--secret-file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the secret that signs (default: the service makes one).",
)
@click.option("--kind", "kinds", type=_KIND, multiple=True, help="Only of this kind; may repeat.")
@click.option(
    "--scope", "scopes", metavar="SCOPE", type=Name(), multiple=True, help="Only this scope; may repeat."
)
@service_options
def add(
    address: str,
    form: str,
    secret_file: Path | None,
    kinds: tuple[str, ...],
    scopes: tuple[str, ...],
    client: Client,
    as_json: bool,
) -> None:
    """Tell an address of all that happens to events from now on.

    A secret that the service makes is printed, now or never.
    """
    body = {
        "url": address,
        "format": form,
        "secret": None if secret_file is None else _read_secret(secret_file),
        "kinds": list(kinds),
        "scopes": list(scopes),
    }
    made = client.post("/v1/webhooks", body)
    if as_json:
        show_json(made)
    elif made["secret"] is not None:
        click.echo(made["secret"])
    keep = "" if made["secret"] is None else " Keep the secret: it is not told again."
    click.echo(f"Webhook {made['id']} is told of {_what(made)} at {made['url']}.{keep}", err=True)


def _read_secret(file: Path) -> str:
    secret = (read_private(file, what="a secret", option="--secret-file") or "").strip()
    if not secret:
        raise ForewarnError(f"{file} holds no secret.", "It is one word, or leave the file out.")
    return secret


def _what(found: dict[str, Any]) -> str:
    events = f"{' and '.join(found['kinds'])} events" if found["kinds"] else "all events"
    return f"{events} of {' and '.join(found['scopes'])}" if found["scopes"] else events


@webhook.command("list")
@service_options
def list_all(client: Client, as_json: bool) -> None:
    """All webhooks, and how things stand with them."""
    found = client.all("/v1/webhooks", "webhooks")
    if as_json:
        show_json({"webhooks": found})
        return
    rows = [
        [*(each[name] for name in ("id", "url", "format")), _what(each)]
        + [each[name] for name in ("delivered_since_start", "waiting", "dead", "problem")]
        for each in found
    ]
    columns = ("webhook", "url", "format", "told of", "delivered since start", "waiting", "dead", "problem")
    table(columns, rows, "There are no webhooks. Add one: forewarn webhook add URL")


@webhook.command()
@_id_argument
@yes_option
@service_options
def remove(webhook: str, yes: bool, client: Client, as_json: bool) -> None:
    """Tell a webhook nothing more, and forget what it was not told.

    Asks first on a terminal, if undelivered messages would be lost.
    """
    if can_ask(yes=yes):
        found = client.get(f"/v1/webhooks/{in_path(webhook)}")
        if lost := found["waiting"] + found["dead"]:
            click.echo(f"{counted(lost, 'undelivered message')} would be lost.", err=True)
            ask(f"Remove webhook {webhook}?")
    gone = client.delete(f"/v1/webhooks/{in_path(webhook)}")
    if as_json:
        show_json(gone)
        return
    left = [f"{gone[name]} {name}" for name in ("waiting", "dead") if gone[name]]
    forgotten = f" What it was not told is forgotten: {', '.join(left)}." if left else ""
    click.echo(f"Webhook {gone['id']} is removed.{forgotten}")


@webhook.command()
@click.argument("webhook", metavar="[WEBHOOK]", required=False, type=Name())
@service_options
def dead(webhook: str | None, client: Client, as_json: bool) -> None:
    """What was given up, of all webhooks or of one."""
    found = client.all("/v1/webhooks/dead", "dead", webhook=webhook)
    if as_json:
        show_json({"dead": found})
        return
    names = ("id", "webhook", "event", "phase", "made_at", "tries", "problem")
    rows = [[_cell(each, name) for name in names] for each in found]
    columns = ("letter", "webhook", "event", "phase", "happened", "tries", "problem")
    table(columns, rows, "Nothing was given up.")


def _cell(letter: dict[str, Any], name: str) -> object:
    value = letter[name]
    return short(value) if name == "event" else clock(value) if name == "made_at" else value


@webhook.command()
@_id_argument
@click.argument("letters", metavar="[LETTER]...", nargs=-1, type=Name())
@service_options
def resend(webhook: str, letters: tuple[str, ...], client: Client, as_json: bool) -> None:
    """Try dead letters of a webhook once more: these, or all."""
    outcome = client.post(f"/v1/webhooks/{in_path(webhook)}/resend", {"letters": list(letters) or None})
    if as_json:
        show_json(outcome)
    else:
        click.echo(f"{counted(outcome['resent'], 'dead letter')} of {webhook} will be sent again.")


@webhook.command()
@_id_argument
@service_options
def test(webhook: str, client: Client, as_json: bool) -> int:
    """Send one test message now, and report the outcome. Exit code 1 if the receiver did not accept it.

    The message is marked as a test. It counts as no delivery, and is not tried again.
    """
    outcome = client.post(f"/v1/webhooks/{in_path(webhook)}/test")
    took = f"{outcome['latency_ms']:.0f} ms"
    if as_json:
        show_json(outcome)
    elif outcome["has_arrived"]:
        click.echo(f"{outcome['url']} accepted the test message: status {outcome['status']}, {took}.")
    else:
        complain(f"{outcome['url']} {outcome['problem']} ({took}).", _hint(outcome["status"]))
    return 0 if outcome["has_arrived"] else 1


def _hint(status: int | None) -> str:
    if status is None:
        return "Check that the receiver runs and that the service can reach this address."
    return "Check the log of the receiver. It has to answer with a status from 200 to 299."

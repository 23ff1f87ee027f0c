"""`forewarn vm`: what owners ask for."""

from __future__ import annotations

from typing import Any

import click

from forewarn.cli.client import Client, in_path
from forewarn.cli.consent import ChangeRequest, dry_run_option, yes_option
from forewarn.cli.list_filters import chosen, nothing_found, vm_filters
from forewarn.cli.options import service_options, vm_argument
from forewarn.cli.output import between, clock, fields, in_order, names, natural, short, show_json, table


@click.group()
def vm() -> None:
    """VMs: list, show, restart, redeploy, evict, delete, stop, start."""


@vm.command("list")
@vm_filters
@service_options
def list_vms(client: Client, as_json: bool, **given: str | None) -> None:
    """VMs by name: all of them, or those that match every filter."""
    found = chosen(client.all("/v1/vms", "vms"), given)
    if as_json:
        show_json({"vms": found})
        return
    columns = ("name", "state", "host", "scope", "update domain", "priority", "events")
    rows = [
        (
            each["name"],
            each["state"],
            each["host"],
            each["scope"],
            each["update_domain"] if each["set"] else None,
            each["priority"],
            names([short(event) for event in each["events"]]),
        )
        for each in sorted(found, key=lambda each: natural(each["name"]))
    ]
    table(columns, rows, nothing_found("VM", given))


@vm.command("show")
@vm_argument
@service_options
def show_vm(name: str, client: Client, as_json: bool) -> None:
    """One VM."""
    found = client.get(f"/v1/vms/{in_path(name)}")
    if as_json:
        show_json(found)
        return
    click.echo(f"{found['name']} is {found['state']}")
    fields(
        [
            ("host", found["host"]),
            ("scope", found["scope"]),
            ("set", found["set"]),
            ("update domain", found["update_domain"] if found["set"] else None),
            ("fault domain", found["fault_domain"]),
            ("zone", found["zone"]),
            ("priority", found["priority"]),
            ("on eviction", found["eviction_policy"] if found["priority"] == "Spot" else None),
            ("terminate notice", found["terminate_notification"]),
            ("resource group", found["resource_group"]),
            ("addresses", " ".join(found["addresses"])),
            ("port", found["port"]),
            ("interface", found["interface"]),
            ("computer name", found["computer_name"]),
            ("tags", [f"{key}={value}" for key, value in found["tags"].items()]),
            ("events", [short(event) for event in found["events"]]),
        ]
    )


def _ask(
    verb: str,
    name: str,
    client: Client,
    body: dict[str, Any] | None = None,
    *,
    as_json: bool,
    dry_run: bool,
    yes: bool = True,
) -> None:
    request = ChangeRequest(client, f"/v1/vms/{in_path(name)}/{verb}", body, f"{verb} {name}")
    if dry_run:
        request.try_out(as_json=as_json)
        return
    answer = request.send(yes=yes, is_grave=True)
    if as_json:
        show_json(answer)
        return
    operation, event = answer["operation"], answer["event"]
    if event is None:
        _tell_silent(client, verb, name, operation)
        return
    scope = client.get(f"/v1/scopes/{in_path(event['scope'])}")
    click.echo(f"{event['kind']} of {name} {event['phase'].lower()} as {short(event['id'])}")
    notice = between(event["created_at"], event["not_before"])
    starts = (
        f"by {clock(event['not_before'], event['created_at'])} ({notice} notice), sooner once approved"
        if event["phase"] == "Scheduled"
        else "now"
    )
    group = "" if scope["kind"] == "vm" else f"  ({scope['kind']} {scope['id']})"
    fields([("starts", starts), ("seen by", in_order(scope["vms"]) + group)])
    click.echo(f"follow it: forewarn event watch {short(event['id'])}")


def _tell_silent(client: Client, verb: str, name: str, operation: dict[str, Any]) -> None:
    """Nobody is told of the operation: say why."""
    click.echo(f"{verb.capitalize()} of {name} runs now, without an event")
    if verb in {"restart", "redeploy"}:
        scope = client.get(f"/v1/vms/{in_path(name)}")["scope"]
        click.echo(f"  scope {scope} is off: none of its guests has polled in the last 24 h")
    elif verb == "delete":
        click.echo("  no terminate notice is set for it, or none of its guests has polled in the last 24 h")
    if operation["phase"] == "Scheduled":
        fields([("waits for", operation["waiting_for"])])


def _command(verb: str, text: str) -> None:
    @vm.command(verb, help=text)
    @vm_argument
    @dry_run_option
    @service_options
    def ask(name: str, dry_run: bool, client: Client, as_json: bool) -> None:
        _ask(verb, name, client, as_json=as_json, dry_run=dry_run)


def _grave_command(verb: str, text: str) -> None:
    @vm.command(verb, help=f"{text} Asks first on a terminal.")
    @vm_argument
    @dry_run_option
    @yes_option
    @service_options
    def ask(name: str, dry_run: bool, yes: bool, client: Client, as_json: bool) -> None:
        _ask(verb, name, client, as_json=as_json, dry_run=dry_run, yes=yes)


_command("restart", "Restart a VM: a Reboot, announced 15 minutes ahead where its scope is on.")
_command("redeploy", "Move a VM to another host: a Redeploy, announced 10 minutes ahead.")
_grave_command("evict", "Take a Spot VM's capacity back: a Preempt, announced 30 seconds ahead.")
_grave_command("delete", "Delete a VM: a Terminate, announced as its profile says, else at once.")
_command("start", "Start a VM, at once.")


@vm.command("stop")
@vm_argument
@click.option("--deallocate", is_flag=True, help="Give its place on the host back as well.")
@dry_run_option
@service_options
def stop(name: str, deallocate: bool, dry_run: bool, client: Client, as_json: bool) -> None:
    """Stop a VM, at once."""
    _ask("stop", name, client, {"deallocate": deallocate}, as_json=as_json, dry_run=dry_run)

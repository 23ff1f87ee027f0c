"""`forewarn host`: work on whole hosts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from forewarn.cli.client import Client, in_path
from forewarn.cli.consent import ChangeRequest, dry_run_option, yes_option
from forewarn.cli.list_filters import chosen, host_filters, nothing_found
from forewarn.cli.options import DURATION, host_argument, service_options
from forewarn.cli.output import (
    between,
    clock,
    counted,
    fields,
    in_order,
    natural,
    parse,
    short,
    show_json,
    span,
    table,
)


@click.group()
def host() -> None:
    """Hosts: list, show, maintain, degrade, fail, recover, reclaim."""


@host.command("list")
@host_filters
@service_options
def list_hosts(client: Client, as_json: bool, **given: str | None) -> None:
    """Hosts by name: all of them, or those that match every filter."""
    found = chosen(client.all("/v1/hosts", "hosts"), given)
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
            in_order(each["vms"]),
        )
        for each in sorted(found, key=lambda each: natural(each["name"]))
    ]
    columns = ("name", "condition", "zone", "takes vms", "operations", "vms")
    table(columns, rows, nothing_found("host", given))


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
            ("VMs", sorted(found["vms"], key=natural)),
            ("operations", found["operations"]),
        ]
    )


def _tell(answer: dict[str, Any], name: str, *, as_json: bool, asked_at: str | None = None) -> None:
    """What was announced; what was announced before `asked_at`, as it is by then."""
    if as_json:
        show_json(answer)
        return
    operation, events = answer["operation"], answer["events"]
    is_known = asked_at is not None and parse(operation["created_at"]) < parse(asked_at)
    already = " already" if is_known else ""
    click.echo(f"{operation['kind']} of {name} {operation['phase'].lower()}{already}: {_count(events)}")
    _list(events, since=asked_at if is_known else None)


def _list(events: list[Any], since: str | None = None) -> None:
    """The events, with the notice that was given; with what is left of it, where `since` says when."""
    columns = ("event", "scope", "vms", "starts by", "notice" if since is None else "left")
    rows = [
        (short(event["id"]), event["scope"], in_order(event["resources"]), *_when(event, since))
        for event in events
    ]
    if rows:
        table(columns, rows, "")
        click.echo("follow it: forewarn event watch")


def _when(event: dict[str, Any], since: str | None) -> tuple[str, str]:
    if event["phase"] != "Scheduled":
        return "now", "none"
    told_at, not_before = event["created_at"], event["not_before"]
    length = between(told_at, not_before) if since is None else span(since, not_before)
    return clock(not_before, since or told_at), length


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
    help="How long a VM is expected to stand still (default 9 for a Freeze, 5 for a live migration).",
)
@click.option("--notice", type=DURATION, help="How long ahead (default: the least that the kind allows).")
@click.option("--description", help="What guests are told instead of the usual text.")
@dry_run_option
@yes_option
@service_options
def maintain(
    name: str,
    kind: str,
    by: str,
    seconds: int | None,
    notice: timedelta | None,
    description: str | None,
    dry_run: bool,
    yes: bool,
    client: Client,
    as_json: bool,
) -> None:
    """Announce planned work on a host. Asks first on a terminal, if it affects more than one VM."""
    body = {
        "kind": kind.capitalize(),
        "by": by,
        "duration_seconds": seconds,
        "notice_seconds": None if notice is None else round(notice.total_seconds()),
        "description": description,
    }
    request = _request("maintain", name, client, body)
    if dry_run:
        request.try_out(as_json=as_json)
    else:
        _tell(request.send(yes=yes), name, as_json=as_json)


def _request(verb: str, name: str, client: Client, body: dict[str, Any] | None = None) -> ChangeRequest:
    return ChangeRequest(client, f"/v1/hosts/{in_path(name)}/{verb}", body, f"{verb} {name}")


@host.command("degrade")
@host_argument
@click.option(
    "--risk",
    type=click.Choice(["low", "high", "imminent"]),
    help="How soon it is likely to fail: in 7 days, in a day, or now (the least notice of a Redeploy).",
)
@click.option(
    "--notice", type=DURATION, help="How long ahead its VMs are moved, instead of a risk (default 7 days)."
)
@click.option("--anyway", is_flag=True, help="However many hosts are called sick already.")
@dry_run_option
@yes_option
@service_options
def degrade(
    name: str,
    risk: str | None,
    notice: timedelta | None,
    anyway: bool,
    dry_run: bool,
    yes: bool,
    client: Client,
    as_json: bool,
) -> None:
    """Say that a host is expected to fail: its VMs are to be redeployed.

    Said again with a larger risk, it pulls the move nearer; otherwise it changes nothing.
    Asks first on a terminal, if it affects more than one VM.
    """
    body = {
        "notice_seconds": None if notice is None else round(notice.total_seconds()),
        "risk": risk,
        "anyway": anyway,
    }
    request = _request("degrade", name, client, body)
    if dry_run:
        request.try_out(as_json=as_json)
        return
    asked_at = client.get("/v1/clock")["now"]
    answer = request.send(yes=yes)
    _tell(answer, name, as_json=as_json, asked_at=asked_at)


@host.command("fail")
@host_argument
@click.option(
    "--kind",
    type=click.Choice(["Redeploy", "Reboot"], case_sensitive=False),
    help="What its guests are told (default: what the service's --failed-host-kind says).",
)
@dry_run_option
@yes_option
@service_options
def fail(name: str, kind: str | None, dry_run: bool, yes: bool, client: Client, as_json: bool) -> None:
    """Say that a host has failed: its VMs are brought back elsewhere, without notice. Asks first on a terminal."""
    request = _request("fail", name, client, {"kind": None if kind is None else kind.capitalize()})
    if dry_run:
        request.try_out(as_json=as_json)
    else:
        _tell(request.send(yes=yes, is_grave=True), name, as_json=as_json)


@host.command("reclaim")
@host_argument
@click.option("--vms", type=click.IntRange(min=1), required=True, help="How many of its Spot VMs have to go.")
@dry_run_option
@yes_option
@service_options
def reclaim(name: str, vms: int, dry_run: bool, yes: bool, client: Client, as_json: bool) -> None:
    """Take capacity back from a host: its Spot VMs that came last are evicted, 30 seconds ahead.

    Asks first on a terminal.
    """
    path = f"/v1/hosts/{in_path(name)}/reclaim"
    request = ChangeRequest(client, path, {"vms": vms}, f"evict {counted(vms, 'Spot VM')} of {name}")
    if dry_run:
        request.try_out(as_json=as_json)
        return
    answer = request.send(yes=yes, is_grave=True)
    if as_json:
        show_json(answer)
        return
    click.echo(f"Preempt of {counted(len(answer['operations']), 'VM')} on {name}: {_count(answer['events'])}")
    _list(answer["events"])


@host.command("recover")
@host_argument
@dry_run_option
@service_options
def recover(name: str, dry_run: bool, client: Client, as_json: bool) -> None:
    """Say that a host is well again."""
    if dry_run:
        _request("recover", name, client).try_out(as_json=as_json)
        return
    answer = client.post(f"/v1/hosts/{in_path(name)}/recover")
    if as_json:
        show_json(answer)
    else:
        takes = "takes VMs again" if answer["takes_vms"] else "takes VMs again when the work on it has ended"
        click.echo(f"{name} is {answer['condition']} and {takes}")

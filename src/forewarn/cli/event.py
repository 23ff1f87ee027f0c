"""`forewarn event`: what is announced, what it waits for, and what has been."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import click

from forewarn.cli.client import Client, Refused, Unreachable, in_path
from forewarn.cli.history import history
from forewarn.cli.options import (
    DURATION,
    INSTANT,
    any_event_argument,
    complete_choices,
    complete_scope,
    complete_vm,
    event_argument,
    service_options,
)
from forewarn.cli.output import (
    clock,
    counted,
    fields,
    in_order,
    printable,
    short,
    shortened,
    show_json,
    table,
)
from forewarn.core.phase import Phase
from forewarn.wire.times import iso

_ENDED = {"Completed", "Cancelled", "Failed"}
_NONE = {None: "Nothing is scheduled.", "all": "There are no events."}


@click.group()
def event() -> None:
    """Events: list, show, watch, approve, postpone, cancel, history."""


@event.command("list")
@click.option(
    "--phase",
    shell_complete=complete_choices(*Phase, "all"),
    help="Scheduled, Started, Completed, Cancelled, Failed or all (default: what is open).",
)
@click.option("--scope", shell_complete=complete_scope, help="Only this scope's.")
@click.option("--vm", shell_complete=complete_vm, help="Only those that name this VM.")
@service_options
def list_events(
    phase: str | None,
    scope: str | None,
    vm: str | None,
    client: Client,
    as_json: bool,
) -> None:
    """Events, oldest first."""
    found = client.all("/v1/events", "events", phase=phase, scope=scope, vm=vm)
    if as_json:
        show_json({"events": found})
        return
    now = client.get("/v1/clock")["now"]
    rows = [
        (
            short(each["id"]),
            each["kind"],
            each["phase"],
            each["scope"],
            in_order(each["resources"]),
            clock(each["not_before"], now),
            "; ".join(map(shortened, each["waiting_for"])),
        )
        for each in found
    ]
    columns = ("event", "kind", "phase", "scope", "vms", "not before", "waiting for")
    table(columns, rows, _NONE.get(phase, f"No event is {phase}."))


def _show(found: dict[str, Any], now: str) -> None:
    click.echo(f"{found['kind']} of {in_order(found['resources'])} is {found['phase']}")
    fields(
        [
            ("event", found["id"]),
            ("source", found["source"]),
            ("scope", found["scope"]),
            ("text", found["description"]),
            ("expected", f"{found['duration_seconds']} s" if found["duration_seconds"] >= 0 else None),
            ("announced", clock(found["created_at"], now)),
            ("not before", clock(found["not_before"], now)),
            ("postponed by", _postponed(found, now)),
            ("approved by", [f"{each['by']} at {clock(each['at'], now)}" for each in found["approvals"]]),
            ("started", clock(found["started_at"], now)),
            ("ended", clock(found["ended_at"], now)),
            ("because", found["reason"]),
            ("fault", found["fault"]),
            ("waiting for", found["waiting_for"]),
            ("operation", found["operation"]),
        ]
    )


def _postponed(found: dict[str, Any], now: str) -> str | None:
    if found["postponed_by"] is None:
        return None
    origin = f", from {clock(found['postponed_from'], now)}" if found["postponed_from"] else ""
    return f"{found['postponed_by']} at {clock(found['postponed_at'], now)}{origin}"


@event.command("show")
@event_argument
@service_options
def show_event(name: str, client: Client, as_json: bool) -> None:
    """One event, with what it waits for."""
    found = client.get(f"/v1/events/{in_path(name)}")
    if as_json:
        show_json(found)
    else:
        _show(found, client.get("/v1/clock")["now"])


@event.command("approve")
@event_argument
@service_options
def approve(name: str, client: Client, as_json: bool) -> None:
    """Approve an event in your name; it starts when nothing else holds it."""
    _act("approve", name, client, as_json=as_json)


@event.command("cancel")
@event_argument
@service_options
def cancel(name: str, client: Client, as_json: bool) -> None:
    """Cancel an event's whole operation: all its events go, or none. Every cancelled event is named."""
    found = client.post(f"/v1/events/{in_path(name)}/cancel")
    if as_json:
        show_json(found)
        return
    _show(found, client.get("/v1/clock")["now"])
    rows = [
        (short(each["id"]), each["kind"], each["scope"], " ".join(each["resources"]))
        for each in found["cancelled"]
    ]
    click.echo(f"{counted(len(rows), 'event')} cancelled:")
    table(("event", "kind", "scope", "vms"), rows, "")


@event.command("postpone")
@event_argument
@click.option("--until", type=INSTANT, help="When it may start at the earliest, like 2026-03-02T22:00:00Z.")
@click.option("--by", type=DURATION, help="How much later than it may now, like 2h.")
@click.option("--reason", default="", help="Why, for the audit.")
@service_options
def postpone(
    name: str, until: datetime | None, by: timedelta | None, reason: str, client: Client, as_json: bool
) -> None:
    """Put planned work off, once: all events of its operation move."""
    if (until is None) == (by is None):
        raise Refused("Give either --until or --by.", "For two hours later: --by 2h")
    body = {
        "until": None if until is None else iso(until),
        "by_seconds": None if by is None else round(by.total_seconds()),
        "reason": reason,
    }
    _act("postpone", name, client, body, as_json=as_json)


def _act(verb: str, name: str, client: Client, body: dict[str, Any] | None = None, *, as_json: bool) -> None:
    found = client.post(f"/v1/events/{in_path(name)}/{verb}", body)
    if as_json:
        show_json(found)
    else:
        _show(found, client.get("/v1/clock")["now"])


@event.command("watch")
@any_event_argument
@service_options
def watch(name: str | None, client: Client, as_json: bool) -> int:
    """Follow an event to its end, or everything there is; leaving it stops nothing."""
    wanted: str | None = client.get(f"/v1/events/{in_path(name)}")["id"] if name else None
    said: dict[str, tuple[Any, ...]] = {}
    try:
        for what, found in client.stream():
            for each in _changed(client, wanted, what, found):
                _tell(each, said, as_json=as_json)
                if wanted is not None and each["phase"] in _ENDED:
                    return 1 if each["phase"] == "Failed" else 0
    except Unreachable:
        if not wanted and not said:
            raise  # nothing has answered yet
    raise client.gone_away(f"forewarn event watch {short(wanted)}".rstrip())


def _changed(client: Client, wanted: str | None, what: str, found: dict[str, Any]) -> list[dict[str, Any]]:
    """The events that a message of the stream is about; its first, about all that is there by then."""
    if what == "listening":
        return [client.get(f"/v1/events/{wanted}")] if wanted else client.all("/v1/events", "events")
    return [found] if what.startswith("event.") and wanted in {None, found["id"]} else []


def _tell(found: dict[str, Any], said: dict[str, tuple[Any, ...]], *, as_json: bool) -> None:
    """One line per change that is worth one."""
    key = (found["phase"], found["not_before"], found["approved_by"], tuple(found["resources"]))
    if said.get(found["id"]) == key:
        return
    said[found["id"]] = key
    if as_json:
        show_json(found, on_one_line=True)
        return
    at = found["ended_at"] or found["started_at"] or found["approved_at"] or found["created_at"]
    line = (
        f"{clock(at)}  {short(found['id'])}  {found['kind']} of {in_order(found['resources'])}  {found['phase']}"
    )
    if found["phase"] == "Scheduled":
        approved = f", approved by {found['approved_by']}" if found["approved_by"] else ""
        line += f", not before {clock(found['not_before'], found['created_at'])}{approved}"
    if found["reason"]:
        line += f": {found['reason']}"
    click.echo(printable(line))


event.add_command(history)

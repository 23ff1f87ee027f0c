"""`forewarn rollout`: work over many hosts, seen before it begins and followed to its end."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import click

from forewarn.cli.client import Client, Unreachable, in_path
from forewarn.cli.options import DURATION, INSTANT, rollout_argument, service_options
from forewarn.cli.output import clock, counted, fields, names, printable, short, show_json, span, table

F = TypeVar("F", bound=Callable[..., Any])

_ENDED = {"Completed": 0, "Aborted": 1, "Failed": 1}
_BAR_CELLS = 30


@click.group()
def rollout() -> None:
    """Rollouts: preview, start, list, show, watch, pause, resume, abort."""


def _wish_options(command: F) -> F:
    """What is to be rolled out, where, and within which limits."""
    kinds = click.Choice(["Freeze", "Reboot", "Redeploy"], case_sensitive=False)
    days = click.Choice(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], case_sensitive=False)
    for option in reversed(
        (
            click.option("--kind", type=kinds, default="Freeze", show_default=True, help="What VMs will feel."),
            click.option("--host", "hosts", multiple=True, help="This host; may repeat (default: all)."),
            click.option("--zone", "zones", multiple=True, help="Only hosts of this zone; may repeat."),
            click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="Only such hosts; may repeat."),
            click.option("--by", type=click.Choice(["pause", "live_migration"]), help="How a Freeze is done."),
            click.option("--seconds", type=click.IntRange(min=-1), help="How long VMs are expected to be away."),
            click.option("--notice", type=DURATION, help="How long ahead (default: the least of the kind)."),
            click.option("--description", help="What guests are told instead of the usual text."),
            click.option("--max-parallel", type=int, help="Hosts at work at once (default 10)."),
            click.option("--max-parallel-per-zone", type=int, help="The same, in one zone."),
            click.option("--recovery", type=DURATION, help="Between update domains of a set (default 30m)."),
            click.option("--soak", type=DURATION, help="After each wave, before its health is asked for."),
            click.option("--health-wait", type=DURATION, help="How long a wave may be unhealthy (default 10m)."),
            click.option("--max-failures", type=int, help="Hosts that may fail; one more pauses it (default 0)."),
            click.option("--max-unhealthy-percent", type=int, help="VMs of a wave that may be unhealthy."),
            click.option("--from", "opens", metavar="HH:MM", help="When the window opens."),
            click.option("--to", "closes", metavar="HH:MM", help="When it closes; the next day if not later."),
            click.option("--day", "days", type=days, multiple=True, help="A day on which it opens; may repeat."),
            click.option("--timezone", help="Whose hours they are, like Europe/Berlin (default UTC)."),
            click.option("--blackout", multiple=True, metavar="DATE", help="Nothing is touched then; may repeat."),
            click.option("--force-by", type=INSTANT, help="From then on the window does not hold it any more."),
        )
    ):
        command = option(command)
    return command


def _body(given: dict[str, Any]) -> dict[str, Any]:
    """The request, without what was not said."""
    window = _window(given)
    body = {
        "kind": given["kind"].capitalize(),
        "hosts": list(given["hosts"]) or None,
        "zones": list(given["zones"]) or None,
        "tags": _tags(given["tags"]) or None,
        "by": given["by"],
        "duration_seconds": given["seconds"],
        "description": given["description"],
        "max_parallel": given["max_parallel"],
        "max_parallel_per_zone": given["max_parallel_per_zone"],
        "max_failures": given["max_failures"],
        "max_unhealthy_percent": given["max_unhealthy_percent"],
        "window": window,
        "force_by": given["force_by"].isoformat() if given["force_by"] else None,
    }
    for name in ("notice", "recovery", "soak", "health_wait"):
        length: timedelta | None = given[name]
        body[f"{name}_seconds"] = None if length is None else round(length.total_seconds())
    return {name: value for name, value in body.items() if value is not None}


def _tags(given: tuple[str, ...]) -> dict[str, str]:
    tags = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} has no value; write KEY=VALUE.", param_hint="--tag")
        tags[key] = value
    return tags


def _window(given: dict[str, Any]) -> dict[str, Any] | None:
    more = {
        "days": [day.capitalize() for day in given["days"]] or None,
        "timezone": given["timezone"],
        "blackout": list(given["blackout"]) or None,
    }
    if not given["opens"] and not given["closes"] and not any(more.values()):
        return None
    window = {"from": given["opens"] or "00:00", "to": given["closes"] or "00:00", **more}
    return {name: value for name, value in window.items() if value is not None}


@rollout.command("preview")
@_wish_options
@service_options
def preview(client: Client, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - the options above
    """The whole plan, before anything is scheduled: who is announced when, and touched when at the latest."""
    found = client.post("/v1/rollouts/preview", _body(given))
    if as_json:
        show_json(found)
        return
    now = client.get("/v1/clock")["now"]
    rows = [
        (
            each["wave"],
            each["zone"],
            each["host"],
            clock(each["announce_at"], now),
            clock(each["latest_start"], now),
            clock(each["latest_end"], now),
            names(each["vms"]),
        )
        for each in found["hosts"]
    ]
    table(("wave", "zone", "host", "announced", "starts by", "done by", "vms"), rows, "")
    hosts, vms = counted(found["hosts_total"], "host"), counted(found["vms_total"], "VM")
    click.echo(
        f"{found['kind']} of {hosts} with {vms} in {counted(found['waves'], 'wave')}: "
        f"about {span(found['begins_at'], found['usual_end'])}, "
        f"done by {clock(found['latest_end'], now)} at the latest. Nothing is scheduled yet."
    )


@rollout.command("start")
@_wish_options
@service_options
def start(client: Client, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - the options above
    """Begin a rollout; `preview` with the same options shows it first."""
    found = client.post("/v1/rollouts", _body(given))
    _tell(found, client, as_json=as_json)
    if not as_json:
        click.echo(f"follow it: forewarn rollout watch {short(found['id'])}")


@rollout.command("list")
@click.option("--state", help="Running, Paused, Completed, Aborted, Failed, open or all (default all).")
@service_options
def list_rollouts(state: str | None, client: Client, as_json: bool) -> None:
    """Rollouts, newest first."""
    found = client.all("/v1/rollouts", "rollouts", state=state)
    if as_json:
        show_json({"rollouts": found})
        return
    now = client.get("/v1/clock")["now"]
    rows = [
        (
            short(each["id"]),
            each["kind"],
            each["state"],
            f"{each['hosts_done']}/{each['hosts_total']}",
            clock(each["created_at"], now),
            each["asked_by"],
            "; ".join(each["waiting_for"]) or each["reason"],
        )
        for each in found
    ]
    columns = ("rollout", "kind", "state", "hosts done", "begun", "asked by", "waiting for")
    table(columns, rows, "There are no rollouts.")


def _tell(found: dict[str, Any], client: Client, *, as_json: bool) -> None:
    if as_json:
        show_json(found)
        return
    now = client.get("/v1/clock")["now"]
    click.echo(f"{found['kind']} of {counted(found['hosts_total'], 'host')} is {found['state']}")
    fields(
        [
            ("rollout", found["id"]),
            ("hosts done", f"{found['hosts_done']} of {found['hosts_total']}"),
            ("failed", found["hosts_failed"] or None),
            ("skipped", found["hosts_skipped"] or None),
            ("wave", f"{found['wave']} of {found['waves']}" if found["wave"] else None),
            ("at work or announced", names(found["hosts_open"]) or None),
            ("because", found["reason"]),
            ("waiting for", found["waiting_for"]),
            ("at once", found["max_parallel"]),
            ("window", found["window"]),
            ("asked by", found["asked_by"]),
            ("begun", clock(found["created_at"], now)),
            ("ended", clock(found["ended_at"], now)),
        ]
    )


@rollout.command("show")
@rollout_argument
@click.option("--hosts", "with_hosts", is_flag=True, help="Every host, in the order of their turns.")
@service_options
def show(name: str, with_hosts: bool, client: Client, as_json: bool) -> None:
    """One rollout, with what it waits for."""
    found = client.get(f"/v1/rollouts/{in_path(name)}")
    hosts = client.all(f"/v1/rollouts/{found['id']}/hosts", "hosts") if with_hosts else []
    if as_json:
        show_json(found | ({"hosts": hosts} if with_hosts else {}))
        return
    _tell(found, client, as_json=False)
    if with_hosts:
        rows = [(each["wave"], each["zone"], each["host"], each["state"], each["reason"]) for each in hosts]
        table(("wave", "zone", "host", "state", "because"), rows, "")


@rollout.command("pause")
@rollout_argument
@click.option("--reason", default="", help="For the audit, and for whoever waits.")
@service_options
def pause(name: str, reason: str, client: Client, as_json: bool) -> None:
    """Stop for now: what is announced is cancelled, what has started finishes."""
    _tell(client.post(f"/v1/rollouts/{in_path(name)}/pause", {"reason": reason}), client, as_json=as_json)


@rollout.command("resume")
@rollout_argument
@click.option("--anyway", is_flag=True, help="Go on whatever the health of the last wave.")
@service_options
def resume(name: str, anyway: bool, client: Client, as_json: bool) -> None:
    """Go on: what was cancelled is announced anew, with full notice."""
    _tell(client.post(f"/v1/rollouts/{in_path(name)}/resume", {"anyway": anyway}), client, as_json=as_json)


@rollout.command("abort")
@rollout_argument
@click.option("--reason", default="", help="For the audit, and for whoever waits.")
@service_options
def abort(name: str, reason: str, client: Client, as_json: bool) -> None:
    """Stop for good: as a pause, and nothing is announced again."""
    _tell(client.post(f"/v1/rollouts/{in_path(name)}/abort", {"reason": reason}), client, as_json=as_json)


@rollout.command("watch")
@rollout_argument
@service_options
def watch(name: str, client: Client, as_json: bool) -> int:
    """Follow a rollout to its end; leaving it stops nothing."""
    wanted = client.get(f"/v1/rollouts/{in_path(name)}")["id"]
    screen = _Screen(as_json=as_json)
    for what, found in client.stream():
        if what != "listening" and not _concerns(wanted, what, found):
            continue
        seen = client.get(f"/v1/rollouts/{wanted}")
        screen.show(seen)
        if seen["state"] in _ENDED:
            screen.end()
            return _ENDED[seen["state"]]
    raise Unreachable(
        f"The service at {client.url} has ended the stream.",
        f"Once it is back: forewarn rollout watch {short(wanted)}",
    )


def _concerns(wanted: str, what: str, found: dict[str, Any]) -> bool:
    kind = what.partition(".")[0]
    if kind == "rollout":
        return bool(found["id"] == wanted)
    return kind in {"turn", "operation"} and found["rollout"] == wanted


class _Screen:
    """A progress bar on a terminal, a line per change elsewhere."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._is_live = sys.stdout.isatty() and not as_json
        self._said: object = None

    def show(self, found: dict[str, Any]) -> None:
        key = (found["state"], found["hosts_done"], found["hosts_open"], found["waiting_for"])
        if key == self._said:
            return
        self._said = key
        if self._as_json:
            show_json(found, on_one_line=True)
            return
        line = printable(_progress(found))
        if self._is_live:
            room = shutil.get_terminal_size().columns - 1
            click.echo(f"\r\x1b[2K{line[:room]}", nl=False)
        else:
            click.echo(line)

    def end(self) -> None:
        if self._is_live:
            click.echo()


def _progress(found: dict[str, Any]) -> str:
    done, total = found["hosts_done"], found["hosts_total"]
    cells = _BAR_CELLS * done // total if total else _BAR_CELLS
    bar = "#" * cells + "-" * (_BAR_CELLS - cells)
    failed = f", {found['hosts_failed']} failed" if found["hosts_failed"] else ""
    wave = f"  wave {found['wave']} of {found['waves']}" if found["wave"] else ""
    why = "; ".join(found["waiting_for"][:1]) or found["reason"]
    waits = f"  waiting for {why}" if found["waiting_for"] else f"  {why}" if why else ""
    return f"[{bar}] {done}/{total}{failed}{wave}  {found['state']}{waits}"

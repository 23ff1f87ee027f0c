"""`forewarn rollout`: work over many hosts, seen before it begins and followed to its end."""

from __future__ import annotations

import shutil
import sys
from datetime import timedelta
from typing import Any

import click

from forewarn.cli.client import Client, Unreachable, in_path
from forewarn.cli.consent import MANY, ChangeRequest, ask, can_ask, dry_run_option, yes_option
from forewarn.cli.options import complete_choices, rollout_argument, service_options
from forewarn.cli.output import (
    clock,
    counted,
    fields,
    fit,
    in_order,
    natural,
    printable,
    short,
    shortened,
    show_json,
    span,
    table,
)
from forewarn.cli.rollout_wish import read_wish, wish_options
from forewarn.core.notice import in_words
from forewarn.core.rollout import RolloutState

_ENDED = {"Completed": 0, "Aborted": 1, "Failed": 1}
_BAR_CELLS = 30


@click.group()
def rollout() -> None:
    """Rollouts: preview, start, list, show, watch, pause, resume, abort."""


@rollout.command("preview")
@wish_options
@service_options
def preview(client: Client, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - the options above
    """The whole plan. Nothing is scheduled: it says who is announced when, and touched when at the latest."""
    _show_plan(client.post("/v1/rollouts/preview", read_wish(given)), client, as_json=as_json)


def _show_plan(found: dict[str, Any], client: Client, *, as_json: bool) -> None:
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
            clock(each["usual_end"], now),
            clock(each["latest_start"], now),
            clock(each["latest_end"], now),
            " ".join(sorted(each["vms"], key=natural)),
        )
        for each in found["hosts"]
    ]
    columns = ("wave", "zone", "host", "announced from", "usually done", "starts by", "done by", "vms")
    table(columns, rows, "")
    click.echo(f"{_in_a_sentence(found, now)} Nothing is scheduled yet.")


def _in_a_sentence(found: dict[str, Any], now: str) -> str:
    hosts, vms = counted(found["hosts_total"], "host"), counted(found["vms_total"], "VM")
    begins, length = clock(found["begins_at"], now), span(found["begins_at"], found["usual_end"])
    return (
        f"{found['kind']} of {hosts} with {vms} in {counted(found['waves'], 'wave')}: "
        f"from {begins} for about {length}, done by {clock(found['latest_end'], now)} at the latest."
    )


@rollout.command("start")
@wish_options
@dry_run_option
@yes_option
@service_options
def start(dry_run: bool, yes: bool, client: Client, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - the options above
    """Begin a rollout: of all hosts, unless some are chosen. Asks first on a terminal.

    `preview` or `--dry-run` with the same options shows the plan.
    """
    wish = read_wish(given)
    if dry_run:
        _show_plan(client.post("/v1/rollouts", wish, dry_run="true"), client, as_json=as_json)
        return
    if can_ask(yes=yes):
        _ask_about(client.post("/v1/rollouts", wish, dry_run="true"), wish, client)
    found = client.post("/v1/rollouts", wish)
    _tell(found, client, as_json=as_json)
    if not as_json:
        click.echo(f"follow it: forewarn rollout watch {short(found['id'])}")


def _ask_about(plan: dict[str, Any], wish: dict[str, Any], client: Client) -> None:
    """Ask, if the rollout affects more than one VM."""
    if plan["vms_total"] < MANY:
        return
    click.echo(_in_a_sentence(plan, client.get("/v1/clock")["now"]), err=True)
    if not wish.keys() & {"hosts", "zones", "tags"}:
        click.echo("No host, zone or tag is chosen: this is the whole fleet.", err=True)
    ask("Start this rollout?")


@rollout.command("list")
@click.option(
    "--state",
    shell_complete=complete_choices(*RolloutState, "open", "all"),
    help="Running, Paused, Completed, Aborted, Failed, open or all (default all).",
)
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
            _first(each["waiting_for"]) or each["reason"],
        )
        for each in found
    ]
    columns = ("rollout", "kind", "state", "hosts done", "begun", "asked by", "waiting for")
    table(columns, rows, "There are no rollouts.")


def _first(waits: list[str]) -> str:
    """One thing that is waited for, and how many more there are."""
    if not waits:
        return ""
    first = shortened(waits[0])
    return first if len(waits) == 1 else f"{first}; and {len(waits) - 1} more"


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
            ("at work or announced", in_order(found["hosts_open"]) or None),
            ("because", None if found["state"] == "Paused" else found["reason"]),
            ("waiting for", found["waiting_for"]),
            ("at once", counted(found["max_parallel"], "host")),
            ("recovery", _length(found["recovery_seconds"])),
            ("soak", _length(found["soak_seconds"])),
            ("window", found["window"]),
            ("force by", clock(found["force_by"], now)),
            ("asked by", found["asked_by"]),
            ("begun", clock(found["created_at"], now)),
            ("ended", clock(found["ended_at"], now)),
        ]
    )
    if found["state"] == "Paused":
        click.echo(f"go on: forewarn rollout resume {short(found['id'])}")


def _length(seconds: int) -> str | None:
    return in_words(timedelta(seconds=seconds)) if seconds else None


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
        now = client.get("/v1/clock")["now"]
        rows = [
            (
                each["wave"],
                each["zone"],
                each["host"],
                each["state"],
                clock(each["announced_at"], now),
                clock(each["ended_at"], now),
                each["reason"],
            )
            for each in hosts
        ]
        table(("wave", "zone", "host", "state", "announced", "ended", "because"), rows, "")


@rollout.command("pause")
@rollout_argument
@click.option("--reason", default="", help="For the audit, and for whoever waits.")
@dry_run_option
@service_options
def pause(name: str, reason: str, dry_run: bool, client: Client, as_json: bool) -> None:
    """Stop for now. What is announced is cancelled, what has started finishes."""
    _change("pause", name, {"reason": reason}, client, as_json=as_json, dry_run=dry_run)


def _change(
    verb: str,
    name: str,
    body: dict[str, Any],
    client: Client,
    *,
    as_json: bool,
    dry_run: bool,
    yes: bool = True,
) -> None:
    request = ChangeRequest(client, f"/v1/rollouts/{in_path(name)}/{verb}", body, f"{verb} rollout {name}")
    if dry_run:
        request.try_out(as_json=as_json)
    else:
        _tell(request.send(yes=yes, is_grave=True), client, as_json=as_json)


@rollout.command("resume")
@rollout_argument
@click.option("--anyway", is_flag=True, help="Go on whatever the health of the last wave.")
@dry_run_option
@service_options
def resume(name: str, anyway: bool, dry_run: bool, client: Client, as_json: bool) -> None:
    """Go on. What was cancelled is announced anew, with full notice."""
    _change("resume", name, {"anyway": anyway}, client, as_json=as_json, dry_run=dry_run)


@rollout.command("abort")
@rollout_argument
@click.option("--reason", default="", help="For the audit, and for whoever waits.")
@dry_run_option
@yes_option
@service_options
def abort(name: str, reason: str, dry_run: bool, yes: bool, client: Client, as_json: bool) -> None:
    """Stop for good. As a pause, and nothing is announced again. Asks first on a terminal."""
    _change("abort", name, {"reason": reason}, client, as_json=as_json, dry_run=dry_run, yes=yes)


@rollout.command("watch")
@rollout_argument
@service_options
def watch(name: str, client: Client, as_json: bool) -> int:
    """Follow a rollout to its end. Leaving it stops nothing."""
    wanted = client.get(f"/v1/rollouts/{in_path(name)}")["id"]
    screen = _Screen(as_json=as_json)
    try:
        for what, found in client.stream():
            if not _concerns(wanted, what, found):
                continue
            seen = client.get(f"/v1/rollouts/{wanted}")
            screen.show(seen)
            if seen["state"] in _ENDED:
                return _ENDED[seen["state"]]
    except KeyboardInterrupt:
        screen.leave()
        click.echo(f"the rollout goes on; to stop it: forewarn rollout pause {short(wanted)}", err=True)
        raise click.Abort from None
    except Unreachable:
        pass  # it answered before: it was stopped between two questions, or in the middle of one
    finally:
        screen.leave()
    raise client.gone_away(f"forewarn rollout watch {short(wanted)}")


def _concerns(wanted: str, what: str, found: dict[str, Any]) -> bool:
    """Whether a message of the stream may have changed what the rollout waits for."""
    if what in {"listening", "heartbeat"}:
        return True
    kind = what.partition(".")[0]
    if kind == "rollout":
        return bool(found["id"] == wanted)
    return kind in {"turn", "operation"} and found["rollout"] == wanted


class _Screen:
    """On a terminal a progress bar, and below it what is waited for; elsewhere a line per change."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._is_live = sys.stdout.isatty() and not as_json
        self._said: object = None
        self._drawn: tuple[str, str] | None = None  # the state that is on the terminal, and the last line there

    def show(self, found: dict[str, Any]) -> None:
        key = (found["state"], found["hosts_done"], found["hosts_open"], found["waiting_for"])
        if key == self._said:
            return
        self._said = key
        if self._as_json:
            show_json(found, on_one_line=True)
        elif self._is_live:
            self._draw(found)
        else:
            click.echo("  ".join(filter(None, (_progress(found), _why(found)))))

    def _draw(self, found: dict[str, Any]) -> None:
        """Over what was drawn before, unless that tells of another state, which is worth keeping."""
        if self._drawn is not None and self._drawn[0] != found["state"]:
            self.leave()
        up = "" if self._drawn is None else "\x1b[A"
        room = shutil.get_terminal_size().columns - 1
        bar, why = fit(_progress(found), room), fit(_why(found), room)
        self._drawn = found["state"], why
        click.echo(f"\r{up}\x1b[J{bar}\n{why}", nl=False)

    def leave(self) -> None:
        """Let what comes next begin on a line of its own."""
        if self._drawn is not None and self._drawn[1]:
            click.echo()
        self._drawn = None


def _progress(found: dict[str, Any]) -> str:
    done, total = found["hosts_done"], found["hosts_total"]
    cells = _BAR_CELLS * done // total if total else _BAR_CELLS
    bar = "#" * cells + "-" * (_BAR_CELLS - cells)
    failed = f", {found['hosts_failed']} failed" if found["hosts_failed"] else ""
    wave = f"  wave {found['wave']} of {found['waves']}" if found["wave"] else ""
    return f"[{bar}] {done}/{total}{failed}{wave}  {found['state']}"


def _why(found: dict[str, Any]) -> str:
    waiting = _first(found["waiting_for"])
    return printable(f"waiting for {waiting}" if waiting else found["reason"])

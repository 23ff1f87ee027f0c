"""Dry runs, and the question before a command that cannot be taken back.

forewarn asks before it deletes or evicts, before it fails a host or aborts a rollout, and before it affects more
than one VM. It asks on a terminal only: in scripts, pipes and CI, where nobody can answer, commands act at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import click

from forewarn.cli.client import Client
from forewarn.cli.output import between, clock, counted, fields, names, short, show_json, table

MANY = 2  # VMs: from here on a command asks
_AGREED = {"y", "yes"}

dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


def can_ask(*, yes: bool) -> bool:
    """Whether somebody is there to be asked, and wants to be."""
    return not yes and all(each is not None and each.isatty() for each in (sys.stdin, sys.stdout, sys.stderr))


def ask(question: str) -> None:
    """Return if the answer is yes. Otherwise end the command; nothing has been changed."""
    try:
        click.echo(f"{question} [y/N] ", nl=False, err=True)
        answer = sys.stdin.buffer.readline()
    except KeyboardInterrupt:
        click.echo("\nNothing was changed.", err=True)
        raise click.Abort from None
    if answer.decode(errors="replace").strip().lower() in _AGREED:
        return
    click.echo("Nothing was changed." if answer else "\nNothing was changed.", err=True)
    raise click.exceptions.Exit(1)


class ChangeRequest:
    """A request that changes something: sent at once, asked about first, or tried as a dry run."""

    def __init__(self, client: Client, path: str, body: dict[str, Any] | None, title: str) -> None:
        self._client = client
        self._path = path
        self._body = body
        self._title = title  # in the infinitive: `delete web-0`

    def try_out(self, *, as_json: bool) -> None:
        """Tell what would happen."""
        seen = self._dry_run()
        if as_json:
            show_json(seen)
            return
        _tell(seen, self._title, self._now(seen))
        click.echo("Nothing was changed.")

    def send(self, *, yes: bool, is_grave: bool = False) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Send it; first ask, on a terminal, if it is grave or affects more than one VM."""
        if can_ask(yes=yes):
            seen = self._dry_run()
            if is_grave or len(seen["vms"]) >= MANY:
                with redirect_stdout(sys.stderr):
                    _tell(seen, self._title, self._now(seen))
                ask(f"{self._title[0].upper()}{self._title[1:]}?")
        return self._client.post(self._path, self._body)

    def _dry_run(self) -> dict[str, Any]:
        found: dict[str, Any] = self._client.post(self._path, self._body, dry_run="true")
        return found

    def _now(self, seen: dict[str, Any]) -> str:
        made = seen["operations"] or seen["events"]
        return str(made[0]["created_at"] if made else self._client.get("/v1/clock")["now"])


def _tell(seen: dict[str, Any], title: str, now: str) -> None:
    """What a request would do: in numbers, then event by event."""
    events, changed = seen["events"], seen["changed_events"]
    cancelled = [event for event in changed if event["phase"] == "Cancelled"]
    counts = [
        f"{counted(len(seen['vms']), 'VM')} affected" if seen["vms"] else "no VM affected",
        f"{counted(len(events), 'event')} announced" if events else "",
        f"{counted(len(cancelled), 'event')} cancelled" if cancelled else "",
        f"{counted(len(changed) - len(cancelled), 'event')} changed" if len(changed) > len(cancelled) else "",
    ]
    click.echo(f"Would {title}: {', '.join(filter(None, counts))}.")
    _tell_rollout(seen.get("rollout"))
    if events:
        rows = [(each["kind"], each["scope"], names(each["resources"]), *_when(each, now)) for each in events]
        table(("kind", "scope", "vms", "starts by", "notice"), rows, "")
    _tell_silent(seen["operations"])
    if changed:
        click.echo("Other events that would change:")
        others = [
            (
                short(each["id"]),
                each["kind"],
                each["phase"],
                names(each["resources"]),
                clock(each["not_before"], now),
            )
            for each in changed
        ]
        table(("event", "kind", "phase", "vms", "not before"), others, "")


def _when(event: dict[str, Any], now: str) -> tuple[str, str]:
    if event["phase"] != "Scheduled":
        return "now", "none"
    return clock(event["not_before"], now), between(event["created_at"], event["not_before"])


def _tell_silent(operations: Sequence[dict[str, Any]]) -> None:
    """The operations that nobody is told of."""
    for each in operations:
        if each["targets"] and not each["events"]:
            wait = "when nothing holds it" if each["waiting_for"] else "now"
            fields([("VMs", names(each["targets"])), ("starts", f"{wait}, without an event")])
            fields([("waits for", each["waiting_for"])])


def _tell_rollout(rollout: dict[str, Any] | None) -> None:
    if rollout is not None:
        left = rollout["hosts_total"] - rollout["hosts_done"]
        fields([("rollout", rollout["state"]), ("hosts", f"{rollout['hosts_done']} done, {left} left")])

"""`forewarn event history` and `forewarn audit`: what has been, for people, for programs and for spreadsheets."""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Any, TypeVar

import click

from forewarn.cli.client import Client
from forewarn.cli.options import service_options
from forewarn.cli.output import clock, counted, fields, in_order, names, parse, short, show_json, table
from forewarn.errors import UsageProblem
from forewarn.wire.times import iso, parse_duration, parse_instant

F = TypeVar("F", bound=Callable[..., Any])

_USUAL_LINES = 20


def _list_options(command: F) -> F:
    """From when to when, how much of it, and as what."""
    for option in reversed(
        (
            click.option("--since", metavar="WHEN", help="Only what was then or later: an instant, or 7d ago."),
            click.option("--until", metavar="WHEN", help="Only what was before then."),
            click.option(
                "--limit",
                type=click.IntRange(1, 1000),
                help=f"How many lines (default {_USUAL_LINES}; with --csv all).",
            ),
            click.option("--after", metavar="NEXT", help="Go on after a page: the `next` of its JSON."),
            click.option("--csv", "as_csv", is_flag=True, help="Print CSV for spreadsheets."),
        )
    ):
        option(command)
    return command


@click.command("history")
@click.option("--vm", help="Only what concerned this VM, deleted ones too.")
@click.option("--set", "set_name", help="Only what concerned VMs of this set.")
@click.option("--tag", metavar="KEY[=VALUE]", help="Only what concerned VMs with this tag.")
@click.option("--kind", help="Only this kind: Freeze, Reboot, Redeploy, Preempt or Terminate.")
@click.option("--scope", help="Only this scope's events.")
@click.option("--outcome", help="Only what ended so: Completed, Cancelled or Failed.")
@click.option("--asked-by", metavar="NAME", help="Only what this name asked for.")
@click.option("--rollout", metavar="ROLLOUT", help="Only what this rollout did.")
@click.option("--summary", is_flag=True, help="Only what all of it comes to.")
@_list_options
@service_options
def history(
    client: Client,
    as_json: bool,
    as_csv: bool,
    summary: bool,
    limit: int | None,
    after: str | None,
    **asked: Any,  # noqa: ANN401 - the filters
) -> None:
    """What has ended, newest first: who asked, who approved, notice and interruption."""
    _refuse_two({"--json": as_json, "--csv": as_csv})
    _refuse_two({"--summary": summary, "--csv": as_csv})
    _refuse_two({"--summary": summary, "--limit": limit is not None})
    _refuse_two({"--summary": summary, "--after": after is not None})
    asked["set"] = asked.pop("set_name")
    _resolve_span(client, asked)
    if summary:
        _show_summary(client.get("/v1/history/summary", **asked), as_json=as_json)
    elif as_csv:
        _show_csv(client, "/v1/history", limit=limit, after=after, **asked)
    else:
        found = client.get("/v1/history", limit=limit or _USUAL_LINES, after=after, **asked)
        _show_history(found, client, asked, as_json=as_json)


@click.command("audit")
@click.option("--actor", metavar="NAME", help="Only what was done in this name.")
@click.option("--event", metavar="EVENT", help="Only what was done about this event.")
@click.option("--operation", metavar="ID", help="Only what was done about this operation.")
@_list_options
@service_options
def audit(
    client: Client,
    as_json: bool,
    as_csv: bool,
    limit: int | None,
    after: str | None,
    **asked: Any,  # noqa: ANN401 - the filters
) -> None:
    """Who did what, newest first."""
    _refuse_two({"--json": as_json, "--csv": as_csv})
    _resolve_span(client, asked)
    if as_csv:
        _show_csv(client, "/v1/audit", limit=limit, after=after, **asked)
        return
    found = client.get("/v1/audit", limit=limit or _USUAL_LINES, after=after, **asked)
    if as_json:
        show_json(found)
        return
    now = client.get("/v1/clock")["now"]
    rows = [
        (
            clock(each["at"], now),
            each["actor"],
            each["verb"],
            each["subject"],
            short(each["event"]),
            each["detail"],
        )
        for each in found["audit"]
    ]
    columns = ("at", "actor", "did", "to", "event", "detail")
    table(columns, rows, _nothing("Nobody has done anything", asked, found["kept"], now))


def _refuse_two(given: dict[str, bool]) -> None:
    if all(given.values()):
        raise UsageProblem(f"{' and '.join(given)} do not go together.", "Leave one of them out.")


def _nothing(words: str, asked: dict[str, Any], kept: dict[str, Any] | None, now: str) -> str:
    """Why there is nothing to show: it never was, it does not fit, or it was let go of."""
    given = [f"--{name.replace('_', '-')} {value}" for name, value in asked.items() if value is not None]
    words = f"Nothing fits {' '.join(given)}" if given else words
    if kept is None:
        return f"{words}." if given else f"{words} yet."
    if asked["since"] is not None and parse(asked["since"]) >= parse(kept["since"]):
        return f"{words}."
    since = clock(kept["since"], now)
    days = f"(--history-days is {kept['days']})"
    if given:
        return f"{words}. What ended before {since} is not kept {days}."
    return f"{words} since {since}. What ended before is not kept {days}."


def _resolve_span(client: Client, asked: dict[str, Any]) -> None:
    """`7d` is seven days ago, by the service's clock."""
    for name in ("since", "until"):
        text = asked[name]
        if text is not None:
            asked[name] = _instant(client, name, text)


def _instant(client: Client, name: str, text: str) -> str:
    try:
        return iso(parse_instant(text))
    except (ValueError, OverflowError):
        pass
    try:
        ago = parse_duration(text)
        return iso(parse(client.get("/v1/clock")["now"]) - ago)
    except (ValueError, OverflowError):
        raise UsageProblem(
            f"--{name}: {text!r} is neither an instant nor a length of time.",
            "Write it like 2026-03-02T12:00:00Z, or 7d for seven days ago.",
        ) from None


def _show_csv(client: Client, path: str, **query: object) -> None:
    for text in client.text(path, format="csv", **query):
        click.echo(text, nl=False)


def _show_history(found: dict[str, Any], client: Client, asked: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(found)
        return
    now = client.get("/v1/clock")["now"]
    rows: list[tuple[object, ...]] = [
        (
            short(each["event"]),
            each["kind"] or each["cause"],
            _machines(each),
            each["outcome"],
            clock(each["ended_at"], now),
            each["asked_by"],
            names([approval["by"] for approval in each["approvals"]], most=2),
            _notice(each["notice_promised_seconds"]),
            _notice(each["notice_given_seconds"]),
            _seconds(each["interruption_expected_seconds"]) if each["resources"] else "",
            _took(each),
            each["reason"],
            each["fault"],
        )
        for each in found["history"]
    ]
    columns = [
        "event", "kind", "vms", "outcome", "ended", "asked by", "approved by", "promised", "given", "expected",
        "took", "because", "fault",
    ]  # fmt: skip
    if not any(each["fault"] for each in found["history"]):  # where nothing was put in, there is nothing to mark
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    table(columns, rows, _nothing("Nothing has ended", asked, found["kept"], now))


def _machines(line: dict[str, Any]) -> str:
    """The VMs of a line; for work on an empty host, that it was empty."""
    if line["resources"]:
        return in_order(line["resources"])
    return f"no VMs on {line['host']}" if line["host"] else ""


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.0f} s"


def _notice(value: float | None) -> str:
    """A notice in whole seconds: NotBefore is rounded up to one, and the rest was not promised."""
    return "" if value is None else f"{floor(value)} s"


def _took(line: dict[str, Any]) -> str:
    """How long it took; a dash where it began and nobody knows."""
    seconds = line["interruption_seconds"]
    is_unknown = seconds is None and line["started_at"] is not None and line["resources"]
    return "-" if is_unknown else _seconds(seconds)


def _show_summary(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(found)
        return
    outcomes = ", ".join(f"{count} {name}" for name, count in found["outcomes"].items())
    click.echo(f"{counted(found['lines'], 'line')}: {outcomes}")
    fields(
        [
            ("started by", ", ".join(f"{name} {count}" for name, count in found["started_by"].items())),
            ("notice promised", _spread(found["notice_promised_seconds"], floor)),
            ("notice given", _spread(found["notice_given_seconds"], floor)),
            ("expected to take", _spread(found["interruption_expected_seconds"])),
            ("took", _spread(found["interruption_seconds"])),
            ("VM-seconds", f"{found['interruption_vm_seconds']:.0f}"),
        ]
    )


def _spread(found: dict[str, float] | None, whole: Callable[[float], int] = round) -> str | None:
    if found is None:
        return None
    median, least, most = (whole(found[each]) for each in ("median", "least", "most"))
    return f"{median} s at the median, from {least} to {most}"

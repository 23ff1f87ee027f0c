"""`forewarn event history` and `forewarn audit`: tables, JSON, CSV, the summary, and what makes no sense."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from forewarn.errors import StoreUnavailable
from forewarn.operator import history
from forewarn.store import lines
from tests.cli.command import CommandLine, shown
from tests.cli.conftest import command_line
from tests.fleets import SMALL
from tests.running import RunningService, running


@pytest.fixture(scope="module")
def past() -> Iterator[CommandLine]:
    """A service to which three things have happened, the last an hour ago."""
    with running(SMALL) as service:
        service.guest("solo").document()
        event = service.post("/v1/vms/solo/restart")["event"]["id"]
        service.guest("solo").approve(event)
        service.advance(hours=2)
        service.post("/v1/hosts/host-1/maintain", {"kind": "Freeze"})
        service.advance(hours=1)
        yield command_line(service)


def vms(found: dict) -> list[str]:
    return [" ".join(row["resources"]) for row in found["history"]]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--vm", "solo"], ["solo"]),
        (["--set", "web"], ["web-1"]),
        (["--tag", "team"], ["solo"]),
        (["--tag", "team=blue"], ["solo"]),
        (["--tag", "team=red"], []),
        (["--kind", "freeze"], ["frugal", "web-1"]),
        (["--scope", "frugal"], ["frugal"]),
        (["--outcome", "failed"], []),
        (["--asked-by", "operator", "--kind", "Reboot"], ["solo"]),
        (["--since", "2026-03-02T14:00:00Z"], ["frugal", "web-1"]),
        (["--since", "1h"], ["frugal", "web-1"]),
        (["--until", "90min"], ["solo"]),
        (["--since", "2026-03-02", "--limit", "1"], ["frugal"]),
    ],
    ids=" ".join,
)
def test_the_history_is_narrowed_by_every_filter(past: CommandLine, options: list[str], found: list[str]):
    assert vms(past.json("event", "history", *options)) == found


def test_a_line_says_which_fault_was_put_in_and_where_there_is_none_there_is_no_column(past: CommandLine):
    with running(SMALL) as service:
        service.guest("solo").document()
        service.post("/v1/faults", {"name": "early_start", "vm": "solo", "seconds": 600})
        service.post("/v1/vms/solo/restart")
        service.post("/v1/vms/frugal/restart")
        service.advance(hours=1)
        head, *rows = command_line(service).says("event", "history").splitlines()

    assert head.endswith("  FAULT")
    assert {"solo" in row: row.endswith("  early_start") for row in rows} == {True: True, False: False}
    assert "FAULT" not in past.says("event", "history")


def test_what_fits_nothing_is_said_to(past: CommandLine):
    not_kept = "What ended before 2025-03-02 15:00:00Z is not kept (--history-days is 365)."

    assert past.says("event", "history", "--outcome", "Failed") == shown(
        f"Nothing fits --outcome Failed. {not_kept}"
    )
    assert past.says("event", "history", "--asked-by", "eve") == shown(f"Nothing fits --asked-by eve. {not_kept}")
    assert past.says("event", "history", "--set", "web", "--since", "1min") == shown(
        "Nothing fits --since 2026-03-02T14:59:00Z --set web."
    )
    assert past.says("audit", "--actor", "nobody") == shown(f"Nothing fits --actor nobody. {not_kept}")


@pytest.mark.parametrize(
    ("command", "words"), [(("event", "history"), "Nothing has ended"), (("audit",), "Nobody has done anything")]
)
def test_a_history_of_which_nothing_is_kept_any_more_does_not_say_that_there_was_none(
    command: tuple[str, ...], words: str
):
    with running(SMALL, history_days=30) as service:
        cli = command_line(service)
        cli.says("vm", "stop", "solo")
        cli.says("clock", "advance", "31d")
        said = cli.says(*command)
        in_short = cli.json(*command)["kept"]

    assert said.startswith(words)
    assert said.endswith(" since 2026-03-03 12:00:00Z. What ended before is not kept (--history-days is 30).\n")
    assert in_short == {"since": "2026-03-03T12:00:00Z", "days": 30}


def test_a_history_that_is_kept_for_ever_says_that_nothing_has_ended_yet():
    with running(SMALL, history_days=0) as service:
        cli = command_line(service)

        assert cli.says("event", "history") == "Nothing has ended yet.\n"
        assert cli.says("event", "history", "--kind", "Freeze") == "Nothing fits --kind Freeze.\n"


def test_the_next_page_is_asked_for_by_what_the_page_before_said(past: CommandLine):
    first = past.json("event", "history", "--limit", "2")
    second = past.json("event", "history", "--after", first["next"])

    assert (vms(first), vms(second), second["next"]) == (["frugal", "web-1"], ["solo"], None)


def test_all_who_approved_are_shown(service: RunningService, cli: CommandLine):
    for vm in ("web-0", "frugal"):  # frugal says nothing, so that the others have time to
        service.guest(vm).document()
    event = service.post("/v1/hosts/host-1/maintain", {"kind": "Freeze"})["events"][0]["id"]
    service.guest("web-0").approve(event)
    service.guest("web-1").approve(event)
    cli.says("event", "approve", event)
    service.advance(hours=1)

    assert "  web-0 web-1 and 1 more  900 s" in cli.says("event", "history", "--vm", "web-1")


def test_csv_is_everything_that_fits_with_a_row_of_names(past: CommandLine):
    rows = list(csv.DictReader(io.StringIO(past.says("event", "history", "--csv"), newline="")))
    some = past.says("event", "history", "--csv", "--vm", "solo", "--limit", "1")

    assert [row["resources"] for row in rows] == ["frugal", "web-1", "solo"]
    assert list(rows[0]) == list(past.json("event", "history")["history"][0])
    assert some.count("\r\n") == 2


def test_an_answer_that_breaks_off_is_told_and_is_no_success(past: CommandLine):
    calls = iter(range(9))

    def fail_later(*given, **more):
        if next(calls):
            raise StoreUnavailable("It is away.")
        return list_history(*given, **more)

    list_history = lines.list_history
    with patch.object(history, "LARGEST_PAGE", 1), patch.object(lines, "list_history", fail_later):
        outcome = past("event", "history", "--csv")

    assert outcome.code == 3
    assert outcome.err == shown(f"error: The service at {past.url} broke off half way.", "hint:  Try again.")


def test_the_summary_is_a_few_lines(past: CommandLine):
    assert past.says("event", "history", "--summary") == shown(
        "3 lines: 3 Completed, 0 Cancelled, 0 Failed",
        "  started by        guests 1, operators 0, policy 0, nobody 2",
        "  notice promised   900 s at the median, from 900 to 900",
        "  notice given      900 s at the median, from 0 to 900",
        "  expected to take  9 s at the median, from 9 to 9",
        "  took              9 s at the median, from 9 to 60",
        "  VM-seconds        78",
    )
    assert past.json("event", "history", "--summary", "--vm", "solo")["lines"] == 1


def test_the_summary_of_nothing_leaves_out_what_there_is_nothing_to_say_of(past: CommandLine):
    assert past.says("event", "history", "--summary", "--outcome", "failed") == shown(
        "0 lines: 0 Completed, 0 Cancelled, 0 Failed",
        "  started by  guests 0, operators 0, policy 0, nobody 0",
        "  VM-seconds  0",
    )


def test_the_audit_says_who_did_what(past: CommandLine):
    event = past.json("event", "history", "--vm", "solo")["history"][0]["event"]

    assert past.says("audit", "--event", event[:8].lower()) == shown(
        "AT         ACTOR     DID       TO              EVENT     DETAIL",
        "12:01:05Z  forewarn  complete  Reboot of solo",
        "12:00:00Z  forewarn  start     Reboot of solo",
        f"12:00:00Z  solo      approve   solo            {event[:8].lower()}",
        "12:00:00Z  operator  restart   solo",
    )


def test_the_audit_is_narrowed_paged_and_had_as_csv(past: CommandLine):
    first = past.json("audit", "--limit", "1", "--actor", "operator")
    second = past.json("audit", "--actor", "operator", "--after", first["next"])
    rows = list(csv.DictReader(io.StringIO(past.says("audit", "--csv", "--since", "2h"), newline="")))

    assert [each["verb"] for each in first["audit"] + second["audit"]] == ["maintain", "restart"]
    assert [row["verb"] for row in rows] == ["complete", "start", "maintain"]


@pytest.mark.parametrize("command", [("event", "history"), ("audit",)], ids=" ".join)
@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--since", "yesterday"], 2, "--since: 'yesterday' is neither an instant nor a length of time."),
        (["--until", "999999999d"], 2, "--until: '999999999d' is neither an instant nor a length of time."),
        (["--since", "1h", "--until", "2h"], 1, "nothing lies between."),
        (["--csv", "--json"], 2, "--json and --csv do not go together."),
        (["--limit", "0"], 2, "--limit"),
        (["--after", "nonsense"], 1, "it is the value of `next` of the page before."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_makes_no_sense_is_refused_with_a_sentence(
    past: CommandLine, command: tuple[str, ...], options: list[str], code: int, words: str
):
    ended, complaint = past.complains(*command, *options)

    assert ended == code
    assert words in complaint


@pytest.mark.parametrize("options", [["--csv"], ["--limit", "3"], ["--after", "1.2.x"]], ids=" ".join)
def test_a_summary_is_neither_a_table_nor_a_page(past: CommandLine, options: list[str]):
    code, complaint = past.complains("event", "history", "--summary", *options)

    assert code == 2
    assert f"--summary and {options[0]} do not go together." in complaint


def test_a_vm_that_never_was_is_refused_with_a_hint(past: CommandLine):
    assert past.complains("event", "history", "--vm", "web-9") == (
        1,
        shown("error: There is no VM web-9, and there never was.", "hint:  forewarn vm list"),
    )

"""Mistakes in scenario files: refused before anything is played, with file, line and what to do.

The sentences are in one golden file. After a change that is meant, write it anew with FOREWARN_WRITE_GOLDEN=1 and
read the difference.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forewarn.scenario.file import library
from forewarn.scenario.file.checks import check
from forewarn.scenario.file.reader import BadScenario
from tests.cli.command import forewarn
from tests.scenario import test_expectation_refusals, test_fault_refusals
from tests.scenario.refusing import AFTER, FLEET, GROW, RESTART, refusal_of, refused_lines
from tests.scenario.stage import play, unchecked

GOLDEN = Path(__file__).parent / "golden/refusals.txt"
ROWS = {
    "no TOML": (("[scenario\n"), 0),
    "an unknown section": (("[[gests]]\n"), 0),
    "an unknown key of a table": (("[scenario]\nsede = 1\n"), 1),
    "an unknown key of a list": (('[[at]]\ntime = "1m"\ndo = "restart"\nvmm = "app-0"\n'), 3),
    "a list that is a table": (('[at]\ntime = "1m"\n'), 0),
    "a table that is a list": (("[[scenario]]\nseed = 1\n"), 0),
    "settings that are a list": (("[[settings]]\nlead = 5\n"), 0),
    "a setting that real time counts for": (("[settings]\nrate_limit = 5\n"), 1),
    "a number that is none": (('[scenario]\nseed = "one"\n'), 1),
    "a list that is none": (('[[at]]\ntime = 0\ndo = "rollout"\nhosts = "h"\n'), 3),
    "an unknown setting": (("[settings]\nleed = 5\n"), 1),
    "a setting that cannot be": (("[settings]\nlead = 1\n"), 1),
    "a problem of the fleet": (('[[hosts]]\nnme = "h"\n'), 1),
    "a fleet that cannot be": (('[[vms]]\nname = "app-1"\nhost = "nowhere"\n'), 2),
    "no time": (('[[at]]\ndo = "restart"\nvm = "app-0"\n'), 0),
    "a time that is none": (('[[at]]\ntime = "soon"\ndo = "restart"\nvm = "app-0"\n'), 1),
    "a time before the start": (('[[at]]\ntime = -5\ndo = "restart"\nvm = "app-0"\n'), 1),
    "a start that is none": (('[scenario]\nstart = "noon"\n'), 1),
    "a start that is none in UTC": (("[scenario]\nstart = 0001-01-01T00:00:00+05:00\n"), 1),
    "a start after which no dates are left": (("[scenario]\nstart = 9999-12-31T23:59:00Z\n"), 1),
    "a notice that cannot be counted with": (
        ('[[at]]\ntime = 0\ndo = "maintain"\nvm = "app-0"\nnotice = "99999999h"\n'),
        4,
    ),
    "a guest that waits too long": (('[[guests]]\nvm = "app-0"\nevery = "999999999d"\n'), 2),
    "time that goes back": ((f'{RESTART}[[at]]\ntime = "0:00:59"\ndo = "cancel"\nvm = "app-0"\n'), 5),
    "an expectation after the end": (('[[expect]]\nopen = 0\n[[expect]]\ntime = "1m"\nopen = 0\n'), 3),
    "a seed below 0": (("[scenario]\nseed = -1\n"), 1),
    "a length that is too short": (('[scenario]\nlength = "1m"\n[[expect]]\ntime = "2m"\nopen = 0\n'), 1),
    "a length that is too long": (('[scenario]\nlength = "401d"\n'), 1),
    "a guest in no VM": (('[[guests]]\nvm = "app-9"\n'), 1),
    "two guests of one name": (('[[guests]]\nvm = "app-0"\n[[guests]]\nvm = "app-0"\n'), 2),
    "a guest of no version": (('[[guests]]\nvm = "app-0"\nversion = "2020-01-01"\n'), 2),
    "a guest that polls for ever": (('[[guests]]\nvm = "app-0"\nevery = 0\n'), 2),
    "a guest that polls too often": (('[scenario]\nlength = "200d"\n[[guests]]\nvm = "app-0"\nevery = "1s"\n'), 4),
    "a guest that stops first": (('[[guests]]\nvm = "app-0"\nstarts = "2m"\nstops = "1m"\n'), 3),
    "a guest from elsewhere": (
        ('[[vms]]\nname = "far-0"\naddresses = ["10.0.0.4"]\n[[guests]]\nvm = "far-0"\n'),
        4,
    ),
    "a script for a guest outside": (('[[guests]]\nvm = "app-0"\noutside = true\nevery = "2s"\n'), 3),
    "an unknown deed": (('[[at]]\ntime = "1m"\ndo = "reboot"\nvm = "app-0"\n'), 2),
    "an unknown VM": (('[[at]]\ntime = "1m"\ndo = "restart"\nvm = "ap-0"\n'), 3),
    "an unknown host": (('[[at]]\ntime = "1m"\ndo = "fail"\nhost = "h"\n'), 3),
    "a deed without its object": (('[[at]]\ntime = "1m"\ndo = "evict"\n'), 2),
    "a deed with two objects": (
        ('[[at]]\ntime = "1m"\ndo = "fail"\nhost = "rack"\nvm = "app-0"\n[[hosts]]\nname = "rack"\n'),
        2,
    ),
    "a key of another deed": ((f'{RESTART}notice = "1h"\n'), 4),
    "an eviction of what is no Spot VM": (('[[at]]\ntime = "1m"\ndo = "evict"\nvm = "app-0"\n'), 3),
    "a notice below the minimum": (('[[at]]\ntime = "1m"\ndo = "maintain"\nvm = "app-0"\nnotice = "14m"\n'), 4),
    "a degraded host with too much notice": (
        ('[[at]]\ntime = "1m"\ndo = "degrade"\nvm = "app-0"\nnotice = "8d"\n'),
        4,
    ),
    "work that takes too long": (
        ('[[at]]\ntime = "1m"\ndo = "maintain"\nvm = "app-0"\nduration_seconds = 3600\n'),
        4,
    ),
    "a kind that maintenance does not have": (
        ('[[at]]\ntime = "1m"\ndo = "maintain"\nvm = "app-0"\nkind = "Preempt"\n'),
        4,
    ),
    "a live migration that reboots": (
        ('[[at]]\ntime = "1m"\ndo = "maintain"\nvm = "app-0"\nkind = "Reboot"\nby = "live_migration"\n'),
        5,
    ),
    "an unknown fault": (('[[at]]\ntime = "1m"\ndo = "fault"\nfault = "truncate"\n'), 3),
    "a fault that cannot be": (
        ('[[at]]\ntime = "1m"\ndo = "fault"\nfault = "status"\noptions = { code = 418 }\n'),
        4,
    ),
    "an unknown scale set": (('[[at]]\ntime = "1m"\ndo = "scale"\nscale_set = "pool"\nto = 1\n'), 3),
    "a client of one's own in a VM that is not there from the start": (
        (f'{GROW}[[guests]]\nvm = "pool_1"\noutside = true\n'),
        9,
    ),
    "a guest of a VM that will have an address of another machine": (
        (
            '[[guests]]\nvm = "pool_1"\nstarts = "1m"\n'
            + GROW.replace("capacity = 1\n", 'capacity = 1\naddresses = ["127.5.0.1", "10.0.0.2"]\n')
        ),
        1,
    ),
    "more instances than there can be": ((GROW.replace("to = 2", "to = 1000000000")), 7),
}


@pytest.mark.parametrize(("text", "line"), ROWS.values(), ids=ROWS)
def test_mistake_is_refused_with_its_line(text: str, line: int):
    assert refused_lines(FLEET + text) == [AFTER + line]


def test_refusals_read_as_in_the_golden_file():
    rows = ROWS | test_expectation_refusals.ROWS | test_fault_refusals.ROWS
    said = {title: refusal_of(FLEET + row[0])[0] for title, row in rows.items()}
    text = "".join(f"# {title}\n{line}\n\n" for title, line in said.items())
    if os.environ.get("FOREWARN_WRITE_GOLDEN") == "1":
        GOLDEN.write_text(text)

    assert text == GOLDEN.read_text()


def test_all_mistakes_are_reported_in_the_order_of_the_file():
    text = '[[at]]\ntime = "2m"\ndo = "restart"\nvm = "x"\n[[at]]\ntime = "1m"\ndo = "evict"\nvm = "app-0"\n'

    said = refusal_of(FLEET + text)

    assert [line.split(":")[1] for line in said] == [str(AFTER + number) for number in (3, 5, 7)]


def test_unreadable_values_are_reported_in_the_order_of_the_file():
    text = (
        '[[vms]]\nnmae = "x"\n[[at]]\ntime = "soon"\ndo = "evict"\n[settings]\nleed = 5\n[[hosts]]\nnmae = "h"\n'
    )

    said = refusal_of(FLEET + text)

    assert [line.split(":")[1] for line in said] == [str(AFTER + number) for number in (1, 3, 6, 8)]


def test_scenario_without_vms_is_refused():
    (said,) = refusal_of("[scenario]\nseed = 1\n")

    assert said.startswith("bad.toml: ")
    assert "[[vms]]" in said


def test_fleet_that_the_engine_refuses_is_not_played():
    fleet = '[[vms]]\nname = "pool_0"\n[[scale_sets]]\nname = "pool"\ncapacity = 1\n'

    with pytest.raises(BadScenario, match="pool_0"):
        play(unchecked(fleet))


def test_byte_order_mark_is_accepted(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(FLEET, encoding="utf-8-sig")

    assert check(library.find(str(file))).head.name == "mine"


@pytest.mark.parametrize(
    "start", ["2026-03-02T12:00:00", '"2026-03-02T12:00:00"', "2026-03-02T12:00:00Z", "2026-03-02T14:00:00+02:00"]
)
def test_start_without_a_zone_is_in_utc(start: str):
    text = f"[scenario]\nstart = {start}\n{FLEET}"

    assert unchecked(text).head.start == datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_refused_file_is_not_played(tmp_path: Path):
    file = tmp_path / "bad.toml"
    file.write_text(FLEET + '[[at]]\ntime = "1m"\ndo = "restart"\nvm = "ap-0"\n')

    outcome = forewarn("scenario", "play", str(file), "--virtual")

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {file}:{AFTER + 3}: ")


@pytest.mark.parametrize("name", library.names())
def test_library_scenario_is_accepted(name: str):
    assert check(library.find(name)).head.name == name

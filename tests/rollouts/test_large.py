"""Large fleets: a year of one, and a preview of a larger one. Each is a command that prints its figures."""

from __future__ import annotations

import re
import subprocess
import sys
from unittest.mock import patch

import pytest

from forewarn.core import holds, rollout_plan
from forewarn.core.rollout_book import RolloutBook
from tests.rollouts.year import Year

_MOST_GROWTH = 2  # of the cost of an operation, at ten times the hosts
_PREVIEW_SECONDS = 10
_PREVIEW_MB = 1000


def run(*command: str) -> str:
    """What a command of ours prints; it has a process of its own, so that its memory can be measured."""
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    return done.stdout


def figure(text: str, pattern: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


def seconds_per_operation(said: str) -> float:
    """What an operation of a year has cost, announcement, approvals and all."""
    operations = figure(said, r"operations: .*?(\d+) maintain Completed") + figure(
        said, r"(\d+) degrade Completed"
    )
    return figure(said, r"365 days in ([\d.]+) s of one core") / operations


@pytest.mark.long
def test_a_year_of_a_thousand_hosts_keeps_every_promise():
    smaller = run("tests.rollouts.year", "--hosts", "100")
    said = run("tests.rollouts.year")

    assert "started too early: 0, two update domains at once: 0" in said
    assert re.search(r"rollouts: 13 Completed$", said, re.MULTILINE)
    assert "degraded hosts: 365" in said
    assert seconds_per_operation(said) <= _MOST_GROWTH * seconds_per_operation(smaller)


@pytest.mark.long
def test_a_preview_of_ten_thousand_hosts_is_quick_and_small():
    said = run("tests.rollouts.preview")

    assert "10000 hosts, 200000 VMs" in said
    assert figure(said, r"previewed in ([\d.]+) s of one core") < _PREVIEW_SECONDS
    assert figure(said, r"at most ([\d.]+) MB") < _PREVIEW_MB


def test_a_year_can_tell_when_a_promise_is_broken():
    with (
        patch.object(rollout_plan, "_first_fitting", lambda *_: 0),
        patch.object(RolloutBook, "other_ends", lambda *_: iter(())),
        patch.object(holds, "_other_domains", lambda *_: iter(())),
    ):
        year = Year(20)
        year.pass_by(2)

    assert year.summary.two_domains_at_once > 0


def test_a_short_year_keeps_every_promise():
    year = Year(20)
    year.pass_by(2)

    assert year.summary.degraded == 2
    assert year.summary.events["Reboot Completed"] > 100
    assert (year.summary.short_notice, year.summary.two_domains_at_once) == (0, 0)

"""How much notice each kind gets, when a notice ends, and how durations are shown."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.core.notice import DESCRIPTIONS, LEAST_NOTICE, RISK_NOTICE, in_words, notice_ends, planned_seconds
from forewarn.core.terms import Cause, Kind, Risk
from tests.core.worlds import LIMITS, NOON, minutes, row


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        row("15 minutes before a Freeze", Kind.FREEZE, minutes(15)),
        row("15 minutes before a Reboot", Kind.REBOOT, minutes(15)),
        row("10 minutes before a Redeploy", Kind.REDEPLOY, minutes(10)),
        row("30 seconds before a Preempt", Kind.PREEMPT, minutes(0.5)),
        row("5 minutes before a Terminate", Kind.TERMINATE, minutes(5)),
    ],
)
def test_guests_are_told_at_least(kind: Kind, least: timedelta):
    assert LEAST_NOTICE[kind] == LIMITS.least_notice[kind] == least


def test_every_kind_has_a_least_notice_and_every_risk_a_notice():
    assert set(LEAST_NOTICE) == set(Kind)
    assert set(RISK_NOTICE) == set(Risk)


@pytest.mark.parametrize(
    ("risk", "notice"),
    [
        row("a week ahead at a low risk", Risk.LOW, timedelta(days=7)),
        row("a day ahead at a high one", Risk.HIGH, timedelta(days=1)),
        row("as late as may be when it is imminent", Risk.IMMINENT, timedelta(0)),
    ],
)
def test_vms_of_a_degraded_host_are_told(risk: Risk, notice: timedelta):
    assert RISK_NOTICE[risk] == notice


@pytest.mark.parametrize(
    ("asked_at", "notice", "ends"),
    [
        row("on the second", timedelta(0), timedelta(seconds=30), timedelta(seconds=30)),
        row(
            "at the next second, never before",
            timedelta(microseconds=1),
            timedelta(seconds=30),
            timedelta(seconds=31),
        ),
        row(
            "at the next second, however near",
            timedelta(microseconds=999_999),
            timedelta(seconds=30),
            timedelta(seconds=31),
        ),
        row("with a notice that is no whole seconds", timedelta(0), timedelta(seconds=1.5), timedelta(seconds=2)),
    ],
)
def test_a_notice_ends(asked_at: timedelta, notice: timedelta, ends: timedelta):
    assert notice_ends(NOON + asked_at, notice) == NOON + ends


@pytest.mark.parametrize(
    ("kind", "by_live_migration", "seconds"),
    [
        row("a Freeze takes 9 seconds", Kind.FREEZE, False, 9),
        row("a live migration takes 5", Kind.FREEZE, True, 5),
        row("a Reboot takes nobody knows how long", Kind.REBOOT, False, -1),
        row("a Redeploy takes nobody knows how long", Kind.REDEPLOY, False, -1),
    ],
)
def test_planned_work_announces_that(kind: Kind, *, by_live_migration: bool, seconds: int):
    assert planned_seconds(kind, by_live_migration=by_live_migration) == seconds


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (30, "30 s"),
        (60, "60 s"),
        (119, "119 s"),
        (120, "2 min"),
        (150, "150 s"),
        (900, "15 min"),
        (3600, "60 min"),
        (7200, "2 h"),
        (86400, "24 h"),
        (7 * 86400, "7 days"),
        (29.6, "30 s"),
    ],
)
def test_a_duration_is_shown_in_its_largest_whole_unit_of_which_there_are_two(seconds: float, shown: str):
    assert in_words(timedelta(seconds=seconds)) == shown


def test_every_cause_that_makes_events_has_a_description():
    assert set(Cause) - set(DESCRIPTIONS) == {Cause.STOP, Cause.DEALLOCATE, Cause.START}

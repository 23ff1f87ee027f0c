"""What a line of the history says, and what many of them come to."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from forewarn.core.event import Approval, Event
from forewarn.core.history import Approver, HistoryEntry, Spread, summarise
from forewarn.core.operation import Attempt, Outcome
from forewarn.core.phase import Phase
from forewarn.core.terms import Action, AutoApproval
from tests.store.samples import ATTEMPT, EVENT, NOW, OPERATION


def event(*, given: float | None = 0, **more) -> Event:
    started = None if given is None else NOW + timedelta(seconds=given)
    ended = {"phase": Phase.COMPLETED, "started_at": started, "ended_at": NOW, "approvals": ()}
    return replace(EVENT, **(ended | more))


def attempt(vm: str, seconds: float | None, outcome: Outcome = Outcome.DONE, **more) -> Attempt:
    ended_at = None if seconds is None else NOW + timedelta(seconds=seconds)
    return replace(ATTEMPT, vm=vm, outcome=outcome, ended_at=ended_at, **more)


def test_a_line_gives_the_interruption_of_each_machine_that_was_touched():
    line = HistoryEntry(OPERATION, event(), (attempt("web-0", 9), attempt("web-1", 12.5), attempt("web-2", None)))

    assert [each.total_seconds() for each in line.interruptions] == [9, 12.5]


def test_a_clock_that_was_set_back_makes_no_interruption_shorter_than_none():
    line = HistoryEntry(OPERATION, event(), (attempt("web-0", -30),))

    assert line.interruptions == [timedelta(0)]


def test_where_an_action_failed_nobody_knows_how_long_machines_were_away():
    line = HistoryEntry(OPERATION, event(), (attempt("web-0", 9), attempt("web-1", 0, Outcome.FAILED)))

    assert line.interruptions == []
    assert summarise([line]).interruption is None


def test_a_machine_whose_host_failed_was_away_from_that_moment_on_not_from_when_it_was_brought_back():
    failed = replace(OPERATION, started_at=NOW - timedelta(hours=2))

    line = HistoryEntry(failed, event(), (attempt("web-0", 120, action=Action.RESTORE),))

    assert line.interruptions == [timedelta(hours=2, seconds=120)]


def test_a_line_without_an_event_has_no_notice_and_its_targets_are_its_machines():
    line = HistoryEntry(OPERATION, None)

    assert (line.notice_promised, line.notice_given) == (None, None)
    assert line.resources == OPERATION.targets
    assert line.about is OPERATION


def test_what_nobody_expected_to_take_any_time_is_not_told_as_minus_one():
    assert HistoryEntry(OPERATION, event(duration_seconds=-1)).interruption_expected_seconds is None
    assert HistoryEntry(OPERATION, event(duration_seconds=0)).interruption_expected_seconds == 0


@pytest.mark.parametrize(
    ("by", "is_guest", "approver"),
    [
        (None, False, Approver.NOBODY),
        ("web-0", True, Approver.GUESTS),
        ("alice", False, Approver.OPERATORS),
        (AutoApproval.ALL_DOWN, False, Approver.POLICY),
    ],
    ids=["nobody", "a guest", "an operator", "nobody was up"],
)
def test_a_line_says_who_let_the_event_start(by: str | None, approver: Approver, *, is_guest: bool):
    approvals = (Approval(by, NOW), Approval("later", NOW)) if by else ()

    line = HistoryEntry(OPERATION, event(approvals=approvals), is_approved_by_guest=is_guest)

    assert line.approver is approver


def test_nobody_let_an_event_start_that_did_not():
    approved = event(given=None, phase=Phase.CANCELLED, approvals=(Approval("web-0", NOW),))

    assert HistoryEntry(OPERATION, approved, is_approved_by_guest=True).approver is None


def test_a_summary_counts_outcomes_and_gives_least_median_and_most():
    lines = [
        HistoryEntry(
            OPERATION, event(given=0, notice=timedelta(seconds=30)), (attempt("a", 10), attempt("b", 20))
        ),
        HistoryEntry(OPERATION, event(given=300), (attempt("a", 30),)),
        HistoryEntry(OPERATION, event(given=900, phase=Phase.FAILED, duration_seconds=-1), (attempt("a", 60),)),
        HistoryEntry(OPERATION, event(given=None, phase=Phase.CANCELLED)),
        HistoryEntry(replace(OPERATION, phase=Phase.COMPLETED), None, (attempt("a", 5),)),
    ]

    summary = summarise(lines)

    assert summary.lines == 5
    assert summary.outcomes == {Phase.COMPLETED: 3, Phase.CANCELLED: 1, Phase.FAILED: 1}
    assert summary.notice_promised == Spread(30, 900, 900)
    assert summary.notice_given == Spread(0, 300, 900)
    assert summary.interruption_expected == Spread(9, 9, 9)
    assert summary.interruption == Spread(5, 25, 60)
    assert summary.interruption_vm_seconds == 125


def test_a_summary_counts_who_let_events_start_and_leaves_out_those_that_never_did():
    approved = event(approvals=(Approval("web-0", NOW),))
    lines = [
        HistoryEntry(OPERATION, approved, is_approved_by_guest=True),
        HistoryEntry(OPERATION, approved),
        HistoryEntry(OPERATION, event()),
        HistoryEntry(OPERATION, event(given=None, phase=Phase.CANCELLED)),
        HistoryEntry(OPERATION, None),
    ]

    started_by = summarise(lines).started_by

    assert started_by == {Approver.GUESTS: 1, Approver.OPERATORS: 1, Approver.POLICY: 0, Approver.NOBODY: 1}


def test_a_summary_of_nothing_has_nothing_to_say():
    summary = summarise([])

    assert summary.lines == 0
    assert set(summary.outcomes.values()) == {0}
    assert (summary.notice_promised, summary.notice_given) == (None, None)
    assert (summary.interruption_expected, summary.interruption) == (None, None)

"""What is found in how a guest asks and takes errors: each definition by itself."""

from __future__ import annotations

import re

import pytest

from forewarn.core.terms import Kind
from forewarn.report.findings import drop_oldest, open_gap, usual_gap
from forewarn.report.moment import Pace
from forewarn.report.notes import EventLife, GuestNotes
from forewarn.report.sentences import long, what_gaps_mean
from forewarn.report.views import report_on
from tests.report.notes import NEWEST, at, be_away, codes, end, every, fail, poll, polled, reboot, start

# How it asks.


@pytest.mark.parametrize(
    ("seconds", "found"), [(1, set()), (10, set()), (10.5, {"too_slow"}), (60, {"too_slow"})], ids=str
)
def test_usual_gap_over_ten_seconds_is_too_slow(seconds: float, found: set[str]):
    asked = every(seconds)

    assert codes(polled(*asked), asked[-1]) == found


def test_single_gap_of_thirty_seconds_is_a_long_gap():
    assert codes(polled(*every(1), at(39)), at(40)) == {"long_gap"}
    assert codes(polled(*every(1), at(38)), at(40)) == set()


@pytest.mark.parametrize(("now", "found"), [(69, set()), (70, {"long_gap"})], ids=["wait", "gone"])
def test_stopped_guest_has_an_open_gap(now: int, found: set[str]):
    assert codes(polled(*every(1)), at(now)) == found


def test_guest_with_a_single_poll_is_not_good():
    report = report_on(polled(at(0)), at(3 * 3600), Pace.VIRTUAL)

    assert (report.is_good, report.polls.longest_gap_seconds) == (False, 10800)
    assert "180 min" in report.findings[0].sentence


def test_open_gap_is_counted_by_the_chosen_clock():
    notes = polled(*every(1))

    assert codes(notes, at(7200, real=10), Pace.VIRTUAL) == {"long_gap"}
    assert codes(notes, at(7200, real=10), Pace.REAL) == set()


def test_slow_guest_stops_after_three_usual_gaps():
    notes = polled(*every(30))

    assert [codes(notes, at(270 + 90)), codes(notes, at(271 + 90))] == [{"too_slow"}, {"too_slow"}]
    assert [open_gap(notes, at(270 + now), Pace.VIRTUAL) for now in (90, 91)] == [0, 91]


def test_deleted_or_stopped_vm_is_not_silent():
    deleted, stopped = polled(*every(1)), polled(*every(1))
    deleted.is_gone = True
    be_away(stopped, 10)

    assert (codes(deleted, at(7200)), codes(stopped, at(7200))) == (set(), set())


def test_silence_before_the_vm_stopped_counts():
    notes = polled(*every(1))
    be_away(notes, 3600)

    assert codes(notes, at(7200)) == {"long_gap"}


def test_pending_poll_is_not_silence():
    notes = polled(*every(1))
    notes.begin_poll(at(10))
    held = codes(notes, at(600))
    notes.end_poll(at(600))

    assert held == set()
    assert codes(notes, at(661)) == {"long_gap"}


def test_held_poll_leaves_no_gap():
    notes = polled(at(0))
    notes.begin_poll(at(1))
    for minute in range(1, 10):
        poll(notes, at(60 * minute))
    notes.end_poll(at(541))
    poll(notes, at(542))

    assert codes(notes, at(543)) == set()
    assert (notes.last_poll, list(notes.timing(Pace.VIRTUAL).gaps)) == (at(542), [1, 1])


def test_gaps_are_counted_by_the_chosen_clock():
    notes = polled(*(at(60 * number, real=1 * number) for number in range(5)))

    assert codes(notes, at(300, real=5), Pace.VIRTUAL) == {"too_slow"}
    assert codes(notes, at(300, real=5), Pace.REAL) == set()


def test_absence_is_not_a_gap():
    notes = polled(*every(1, count=11))
    be_away(notes, 12, 200)

    poll(notes, at(205))

    assert notes.timing(Pace.VIRTUAL).longest_gap == 5
    assert codes(notes, at(206)) == set()


def test_polls_after_an_absence_do_not_change_the_usual_gap():
    notes = polled(*every(20, count=4))
    be_away(notes, 70)
    for second in range(80, 680, 20):
        poll(notes, at(second))

    assert codes(notes, at(680)) == {"too_slow"}
    assert usual_gap(notes, Pace.VIRTUAL) == 20


def test_gap_cut_by_an_absence_counts_its_longest_part():
    notes = polled(at(0))
    be_away(notes, 5, 60)
    poll(notes, at(80))

    report = report_on(notes, at(81), Pace.VIRTUAL)

    assert (report.polls.usual_gap_seconds, report.polls.longest_gap_seconds) == (None, 20)
    assert report.polls.count == 2


def test_gap_after_an_absence_counts():
    notes = polled(*every(1, count=11))
    be_away(notes, 12, 20)

    poll(notes, at(60))

    assert codes(notes, at(60)) == {"long_gap"}


@pytest.mark.parametrize(("at_once", "found"), [(5, set()), (6, {"over_the_limit"})], ids=str)
def test_the_limit_is_five_at_once(at_once: int, found: set[str]):
    assert codes(polled(*[at(0)] * at_once), at(1)) == found


def test_five_a_second_for_long_are_within_the_limit_and_six_are_not():
    assert codes(polled(*every(0.2, count=100)), at(30)) == set()
    assert codes(polled(*every(1 / 6, count=100)), at(30)) == {"over_the_limit"}


def test_virtual_clock_blames_nobody_within_the_limit_of_one_clock():
    by_hand = polled(*(at(number, real=number / 1000) for number in range(20)))
    in_real_time = polled(*(at(0, real=number) for number in range(20)))

    assert codes(by_hand, at(20, real=1), Pace.VIRTUAL) == set()
    assert codes(in_real_time, at(0, real=20), Pace.VIRTUAL) == set()
    assert codes(by_hand, at(20, real=1), Pace.REAL) == {"over_the_limit"}


@pytest.mark.parametrize(
    ("version", "is_fault", "lacks"),
    [
        ("2017-08-01", True, {"Preempt", "Terminate", "Description", "DurationInSeconds"}),
        ("2017-11-01", True, {"Terminate", "Description", "DurationInSeconds"}),
        ("2019-08-01", False, {"DurationInSeconds"}),
    ],
)
def test_old_version_is_a_fault_if_it_hides_events(version: str, is_fault: bool, lacks: set[str]):  # noqa: FBT001 - a row of the table
    (found,) = report_on(polled(*every(1), version=version), at(10), Pace.REAL).findings

    assert (found.code, found.is_fault) == ("old_version", is_fault)
    named = {"Freeze", "Preempt", "Terminate", "Description", "DurationInSeconds"} & set(
        re.findall(r"\w+", found.sentence)
    )
    assert named == lacks


def test_guest_without_a_document_gets_advice():
    notes = GuestNotes("web-0")
    for moment in every(1):
        fail(notes, moment, 400)
        notes.bad_requests += 1

    report = report_on(notes, at(10), Pace.REAL)

    assert not report.is_good
    assert "Metadata: true" in report.findings[0].sentence


@pytest.mark.parametrize("count", [1, 2])
def test_malformed_requests_among_good_ones_are_a_remark(count: int):
    notes = polled(*every(1))
    notes.bad_requests += count

    (found,) = report_on(notes, at(10), Pace.REAL).findings

    assert (found.code, found.is_fault, found.count) == ("bad_requests", False, count)


# What it does with errors.


def test_immediate_retries_are_hammering():
    notes = polled(*every(1))
    for tenth in range(5):
        fail(notes, at(10 + tenth / 10))
    poll(notes, at(12))

    assert codes(notes, at(13)) == {"hammered_after_errors"}


def test_retry_after_a_second_is_not_hammering():
    notes = polled(*every(1))
    for second in range(10, 20):
        fail(notes, at(second))
    poll(notes, at(20))

    report = report_on(notes, at(21), Pace.VIRTUAL)

    assert report.is_good
    assert (report.errors.count, report.errors.put_in, report.errors.longest_return_seconds) == (10, 10, 1)
    assert report.errors.by_status == {"503": 10}


def test_unawaited_answer_is_not_a_hang_up():
    notes = polled(*every(1))
    notes.errors.add_unawaited(at(10))
    poll(notes, at(12))
    alone = report_on(notes, at(13), Pace.VIRTUAL)
    fail(notes, at(13), 503)
    fail(notes, at(14), 0)
    poll(notes, at(15))
    among_others = report_on(notes, at(16), Pace.VIRTUAL)

    assert (alone.errors.count, alone.errors.by_status, alone.errors.unawaited) == (1, {}, 1)
    assert alone.errors.longest_return_seconds == 2
    assert among_others.errors.by_status == {"hang-up": 1, "503": 1}


@pytest.mark.parametrize(("now", "found"), [(70, set()), (71, {"gave_up_after_errors"})], ids=["wait", "gone"])
def test_guest_silent_after_an_error_has_given_up(now: int, found: set[str]):
    notes = polled(*every(1))
    fail(notes, at(10), 0)

    assert codes(notes, at(now)) == found


# Bounds and words.


def test_dropped_events_leave_their_findings():
    notes = polled(*every(1))
    for number in range(100):
        life = EventLife(str(number), Kind.REBOOT, ("web-0",), 900.0, announced=at(10))
        notes.add_event(life)
        start(life, 20)
        end(life, 30)
        drop_oldest(notes, at(31), Pace.VIRTUAL, 32)

    report = report_on(notes, at(32), Pace.VIRTUAL)

    assert (len(report.events), report.earlier_events) == (32, 68)
    assert [(each.code, each.count) for each in report.findings] == [("missed_event", 100)]


def test_events_of_other_vms_are_dropped_first():
    notes = polled(*every(1))
    mine = reboot(notes)
    for number in range(10):
        notes.add_event(EventLife(str(number), Kind.REBOOT, ("web-1",), 900.0))
    drop_oldest(notes, at(31), Pace.VIRTUAL, 3)

    assert list(notes.events) == [mine.id, "8", "9"]


def test_copy_does_not_change_with_the_notes():
    notes = polled(*every(1))
    life = reboot(notes)
    copy = notes.copy()

    start(life, 20)
    poll(notes, at(60))

    assert copy.events["ID"].life.started is None
    assert (copy.polls, copy.timing(Pace.VIRTUAL).longest_gap, copy.versions[NEWEST]) == (11, 2, 11)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.01, "less than 0.1 s"), (0.4, "0.4 s"), (5, "5 s"), (60, "60 s"), (125, "2 min 5 s"), (900, "15 min")],
)
def test_durations_are_readable(seconds: float, text: str):
    assert long(seconds) == text


def test_advice_on_a_shorter_gap_has_what_is_left_of_each_notice():
    assert {"30 s", "10 s"} <= set(re.findall(r"\d+ s", what_gaps_mean(20)))

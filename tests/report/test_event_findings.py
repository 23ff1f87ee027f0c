"""What is found in what a guest makes of events: each definition by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
from forewarn.report.findings import Finding
from forewarn.report.moment import Pace
from forewarn.report.notes import EventLife, GuestNotes
from forewarn.report.views import report_on
from tests.report.notes import (
    NEWEST,
    at,
    be_away,
    codes,
    end,
    every,
    keep_asking,
    poll,
    polled,
    reboot,
    see,
    start,
)


def test_approval_is_timed_from_the_first_answer_with_the_event():
    notes = polled(*every(1))
    life = reboot(notes)
    notes.approve(at(31), life, NEWEST)
    start(life, 31, "web-0")
    end(life, 96)
    see(notes, at(97))

    report = report_on(notes, at(98), Pace.VIRTUAL)

    assert report.events[0].approved_after_seconds == 20
    assert report.events[0].end_noticed_after_seconds == 1


def test_never_approved_is_a_remark():
    notes = polled(*every(1))
    start(reboot(notes), 910)
    keep_asking(notes, 12, 910)

    report = report_on(notes, at(911), Pace.VIRTUAL)

    assert [(each.code, each.is_fault) for each in report.findings] == [("never_approved", False)]
    assert report.is_good


@pytest.mark.parametrize(
    "change",
    [
        lambda notes, life: start(life, 15),
        lambda notes, life: start(life, 15, "web-1"),
        lambda notes, life: start(life, 75, "AllInstancesDown"),
        lambda notes, life: None,
        lambda notes, life: end(life, 400, Phase.CANCELLED),
    ],
    ids=["no time to", "somebody else did at once", "nobody was up", "not yet due", "called off"],
)
def test_excused_unapproved_event_is_no_finding(change: Callable[[GuestNotes, EventLife], None]):
    notes = polled(*every(1))
    change(notes, reboot(notes))

    assert Finding.NEVER_APPROVED not in codes(notes, at(401))


@pytest.mark.parametrize("other", ["web-1", "operator"])
def test_guest_whose_event_another_approved_has_never_approved(other: str):
    notes = polled(*every(1))
    start(reboot(notes), 75, other)
    keep_asking(notes, 12, 75)

    report = report_on(notes, at(76), Pace.VIRTUAL)

    assert [each.code for each in report.findings] == ["never_approved"]
    assert f"Reboot of web-0 (id) was approved by {other}" in report.findings[0].sentence
    assert f"approved by {other}" in report.facts[-1]


def test_event_that_another_approved_at_once_has_not_lapsed():
    notes = polled(*every(1))
    life = reboot(notes)
    start(life, 300, "web-1")
    life.approved = at(14)

    assert Finding.NEVER_APPROVED not in codes(notes, at(301))


def test_an_eviction_need_not_be_approved():
    notes = polled(*every(1))
    start(reboot(notes, kind=Kind.PREEMPT), 40)

    assert codes(notes, at(41)) == set()


def test_guest_that_approves_some_events_need_not_approve_others():
    notes = polled(*every(1))
    life = reboot(notes)
    other = EventLife("OTHER", Kind.FREEZE, ("web-0",), 900.0, announced=at(11))
    see(notes, at(12), life, other)
    notes.approve(at(13), life, NEWEST)
    start(life, 13, "web-0")
    start(other, 911)

    assert Finding.NEVER_APPROVED not in codes(notes, at(912))


def test_approval_after_the_start_is_late():
    notes = polled(*every(1))
    life = reboot(notes)
    start(life, 910)
    keep_asking(notes, 12, 910)
    notes.approve(at(911), life, NEWEST)

    assert codes(notes, at(912)) == {"approved_late"}


def test_event_started_at_once_cannot_be_approved_late():
    notes = polled(*every(1))
    life = reboot(notes)
    life.announced = None
    start(life, 11)
    notes.approve(at(12), life, NEWEST)

    assert codes(notes, at(13)) == set()


def test_repeated_approvals_are_a_remark():
    notes = polled(*every(1))
    life = reboot(notes)
    for second in (12, 13, 14):
        notes.approve(at(second), life, NEWEST)
    start(life, 12, "web-0")

    (found,) = report_on(notes, at(15), Pace.VIRTUAL).findings

    assert (found.code, found.is_fault) == ("approved_again", False)
    assert "3 times" in found.sentence


def test_approving_an_event_that_names_another_vm_of_the_scope_is_a_remark():
    notes = polled(*every(1))
    notes.approve(at(12), reboot(notes, "web-1"), NEWEST)

    report = report_on(notes, at(13), Pace.VIRTUAL)

    assert [(found.code, found.is_fault) for found in report.findings] == [("approved_others", False)]
    assert report.is_good


def test_event_between_two_polls_was_missed():
    notes = polled(*every(1))
    life = EventLife("ID", Kind.PREEMPT, ("web-0",), 30.0, announced=at(10))
    notes.add_event(life)
    start(life, 40)
    end(life, 55)

    assert codes(notes, at(56)) == {"missed_event"}


@pytest.mark.parametrize(("now", "found"), [(39, []), (40, ["unread_event"]), (71, ["long_gap", "unread_event"])])
def test_open_unseen_event_is_unread(now: int, found: list[str]):
    notes = polled(*every(1))
    notes.add_event(EventLife("ID", Kind.REBOOT, ("web-0",), 900.0, announced=at(10)))

    report = report_on(notes, at(now), Pace.VIRTUAL)

    assert sorted(each.code for each in report.findings) == found
    assert report.is_good is not bool(found)


def test_event_of_another_vm_need_not_be_read():
    notes = polled(*every(1))
    notes.add_event(EventLife("ID", Kind.REBOOT, ("web-1",), 900.0, announced=at(10)))

    assert codes(notes, at(45)) == set()


def test_event_while_the_vm_is_down_is_not_unread():
    notes = polled(*every(1))
    be_away(notes, 10)
    notes.add_event(EventLife("ID", Kind.REBOOT, ("web-0",), 900.0, announced=at(11)))

    assert codes(notes, at(900)) == set()


def test_advice_names_the_version_that_hides_the_event():
    notes = polled(*every(1), version="2017-08-01")
    life = EventLife("ID", Kind.PREEMPT, ("web-0",), 30.0, announced=at(10))
    notes.add_event(life)
    for second in range(10, 40):
        poll(notes, at(second), "2017-08-01")
    start(life, 40)
    end(life, 55)

    sentences = {each.code: each.sentence for each in report_on(notes, at(56), Pace.VIRTUAL).findings}

    assert all(each in sentences["missed_event"] for each in ("30 s", "2017-08-01", "Preempt", "2020-07-01"))


def test_event_first_seen_started_is_learned_late():
    notes = polled(*every(1))
    life = EventLife("ID", Kind.PREEMPT, ("web-0",), 30.0, announced=at(10))
    start(life, 40)
    see(notes, at(39), life)

    assert Finding.LEARNED_LATE in codes(notes, at(41))


@pytest.mark.parametrize(
    ("now", "found"), [(150, set()), (160, {"deaf_to_the_end"})], ids=["not yet", "for long enough"]
)
def test_guest_silent_for_a_minute_after_the_end_is_deaf(now: int, found: set[str]):
    notes = polled(*every(1))
    life = reboot(notes)
    notes.approve(at(12), life, NEWEST)
    start(life, 12, "web-0")
    end(life, 97)
    be_away(notes, 12, 97)

    assert codes(notes, at(now)) == found


@pytest.mark.parametrize("kind", [Kind.PREEMPT, Kind.TERMINATE])
def test_end_of_an_event_that_deletes_the_vm_need_not_be_seen(kind: Kind):
    notes = polled(*every(1))
    life = reboot(notes, kind=kind)
    start(life, 40, "web-0")
    end(life, 55)
    be_away(notes, 40)

    assert codes(notes, at(1000)) == set()


def test_vm_that_is_away_or_deleted_is_not_deaf():
    notes = polled(*every(1))
    life = reboot(notes)
    start(life, 12, "web-0")
    end(life, 97)
    away, gone = notes.copy(), notes.copy()
    be_away(away, 12)
    gone.is_gone = True

    assert (codes(away, at(1000)), codes(gone, at(1000))) == (set(), set())


def test_guest_has_to_see_a_cancellation_too():
    notes = polled(*every(1))
    end(reboot(notes), 100, Phase.CANCELLED)

    (found,) = report_on(notes, at(1000), Pace.VIRTUAL).findings

    assert found.code == "deaf_to_the_end"
    assert "cancelled" in found.sentence


def test_stale_document_does_not_undo_that_the_end_was_seen():
    notes = polled(*every(1))
    life = reboot(notes)
    notes.approve(at(12), life, NEWEST)
    start(life, 12, "web-0")
    end(life, 97)
    see(notes, at(98))
    see(notes, at(99), life)

    assert Finding.DEAF_TO_THE_END not in codes(notes, at(1000))

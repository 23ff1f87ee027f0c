"""The witness: what it makes of requests and commits, on a clock of its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from forewarn.core.document import Document
from forewarn.core.event import Approval
from forewarn.core.phase import Phase
from forewarn.core.terms import Kind, VmState
from forewarn.core.world import Changes
from forewarn.report.moment import Pace
from forewarn.report.observer import shown_events
from forewarn.report.views import report_on
from forewarn.wire.imds.document import render
from tests.report.stage import HELD, START, VERSION, Stage, approval


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_first_answer_approval_and_end_of_an_event_are_noted(stage: Stage):
    guest = stage.guest()
    stage.poll(guest)
    event = stage.announce("ID", "web-0")
    stage.pass_time(5)
    stage.poll(guest)
    stage.pass_time(1)
    stage.approve(guest, "ID")
    stage.commit(replace(event, phase=Phase.STARTED))
    stage.pass_time(60)
    stage.commit(replace(event, phase=Phase.COMPLETED))
    stage.pass_time(2)
    stage.poll(guest)

    notes = stage.notes().events["ID"]
    moments = (notes.life.announced, notes.shown, notes.approved, notes.life.started, notes.life.ended, notes.gone)
    assert [each and (each.at - START).total_seconds() for each in moments] == [0, 5, 6, 6, 66, 68]


def test_first_approval_by_anybody_is_noted(stage: Stage):
    stage.poll(stage.guest())
    event = stage.announce("ID", "web-0")
    approvals = []
    for by in ("web-1", "web-2"):
        stage.pass_time(60)
        approvals.append(Approval(by, stage.clock.now()))
        stage.commit(replace(event, approvals=tuple(approvals)))

    life = stage.notes().events["ID"].life
    assert (life.approved_by, life.approved.at - START) == (("web-1", "web-2"), timedelta(minutes=1))


def test_event_seen_before_its_commit_is_the_same_event(stage: Stage):
    guest = stage.guest()
    event = replace(stage.announce("ID", "web-0"), phase=Phase.STARTED)
    early = Stage()
    early.events = {"ID": event}
    early.poll(guest)
    early.commit(event)

    notes = early.notes().events["ID"]
    assert (notes.life.kind, notes.life.resources) == (Kind.REBOOT, ("web-0",))
    assert notes.shown is not None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>proxy</html>",
        b'{"DocumentIncarnation": 1, "Events": null}',
        b'{"Events": [{"EventId": "A',
        b"[]",
    ],
    ids=["nothing", "a page", "null", "truncated", "a list"],
)
def test_unreadable_document_shows_no_events(stage: Stage, body: bytes):
    stage.announce("ID", "web-0")

    stage.conduct.note(stage.ask(stage.guest()), 200, body, "a fault")

    assert shown_events(body) is None
    assert (stage.notes().polls, stage.notes().documents) == (1, 0)
    assert stage.notes().events["ID"].shown is None


def test_held_request_counts_from_its_arrival(stage: Stage):
    guest = stage.guest()
    stage.poll(guest)
    held = stage.ask(guest, HELD)
    stage.pass_time(900)

    stage.conduct.note(held, 304, b"")

    assert stage.notes().timing(Pace.VIRTUAL).longest_gap == 0
    assert (stage.notes().last_polled or 0)[1] - (stage.notes().last_poll or 0)[1] == 900


def test_request_counts_against_the_limit_when_it_arrives(stage: Stage):
    guest = stage.guest()
    held = stage.ask(guest, HELD)
    for _ in range(3):
        stage.pass_time(1, real=1)
        stage.poll(guest)
    stage.conduct.note(held, 304, b"")
    stage.pass_time(0.5, real=0.5)
    stage.poll(guest)

    notes = stage.notes()
    assert (notes.requests, [each.beyond_limit for each in notes.timings]) == (5, [0, 0])
    assert notes.last_poll.real == 3.5


def test_late_errors_are_not_hammering(stage: Stage):
    guest = stage.guest()
    stage.poll(guest, 503, "status")
    late = []
    for _ in range(4):
        stage.pass_time(1, real=1)
        late.append(stage.ask(guest))
    for exchange in (*late[1:], late[0]):
        stage.conduct.note(exchange, 503, b"", "status")

    assert (stage.notes().errors.returns, stage.notes().timing(Pace.REAL).hammered) == (4, 0)


def test_summary_says_that_the_first_answer_is_pending(stage: Stage):
    stage.ask(stage.guest())

    report = report_on(stage.notes(), stage.conduct.now(), Pace.REAL)

    assert (report.is_good, report.polls.count, report.polls.answered) == (False, 1, 0)
    assert "first answer" in report.summary


def test_late_answer_to_a_deleted_vm_adds_no_notes(stage: Stage):
    guest = stage.guest()
    stage.poll(guest)
    held = stage.ask(guest, HELD)
    stage.conduct.learn(Changes(1, (replace(guest.vm, state=VmState.DELETED),)))

    stage.conduct.note(held, 404, b"")

    notes = stage.notes()
    assert (notes.is_gone, notes.polls, notes.open_polls) == (True, 2, 0)
    assert (notes.errors.count, notes.bad_requests) == (0, 0)


def test_refusals_are_counted_by_cause(stage: Stage):
    guest = stage.guest()
    stage.poll(guest, 400, target="/metadata/scheduledevents?api-version=2099-01-01")
    stage.poll(guest, 429)
    stage.poll(guest, 503, "status")
    stage.poll(guest, 0, "closed")
    stage.approve(guest, "NOBODYS", status=400)

    notes = stage.notes()
    assert (notes.bad_requests, notes.limited, notes.refused_approvals) == (1, 1, 1)
    assert (dict(notes.errors.by_status), notes.errors.put_in) == ({400: 2, 429: 1, 503: 1, 0: 1}, 2)
    assert notes.polls == 4


def test_poll_is_open_until_its_answer_or_a_disconnect(stage: Stage):
    guest = stage.guest()
    first, second = stage.ask(guest), stage.ask(guest)
    both = stage.notes().open_polls
    stage.conduct.note(first, 304, b"")
    one = stage.notes().open_polls
    stage.pass_time(90, real=90)
    stage.conduct.leave(second)

    assert (both, one, stage.notes().open_polls) == (2, 1, 0)
    assert (stage.notes().polls, stage.notes().documents) == (2, 1)
    assert stage.notes().last_polled.real == 90, "until then it waited"


def test_poll_delayed_past_the_start_hinders_the_guest(stage: Stage):
    guest = stage.guest()
    stage.poll(guest)
    delayed = stage.ask(guest)
    event = stage.announce("ID", "web-0")
    stage.pass_time(900, real=40)
    stage.commit(replace(event, phase=Phase.STARTED))
    body = render(Document(1, 1, (stage.events["ID"],)), VERSION)

    stage.conduct.note(delayed, 200, body, "delay")

    notes = stage.notes().events["ID"]
    assert (notes.shown_scheduled, notes.hit_by) == (None, ("delay",))


def test_fault_hinders_only_its_guest_and_only_during_the_event(stage: Stage):
    guest, other = stage.guest(), stage.guest("web-1")
    stage.poll(guest, 503, "status")
    event = stage.announce("ID", "web-0", "web-1")
    stage.poll(guest)
    stage.poll(other, 503, "status")
    stage.pass_time(60)
    stage.commit(replace(event, phase=Phase.CANCELLED))
    stage.pass_time(1)
    stage.poll(guest, 503, "status")

    assert stage.notes().events["ID"].hit_by == ()
    assert stage.notes("web-1").events["ID"].hit_by == ("status",)


def test_approval_refused_by_a_fault_hinders_the_guest(stage: Stage):
    guest = stage.guest()
    stage.announce("ID", "web-0")
    stage.poll(guest)

    stage.approve(guest, "ID", status=503, fault="status")

    assert stage.notes().events["ID"].hit_by == ("status",)


def test_accepted_approval_counts_though_its_answer_was_lost(stage: Stage):
    guest = stage.guest()
    stage.announce("ID", "web-0")
    stage.poll(guest)

    stage.approve(guest, "ID", status=0, fault="reset", is_done=True)

    notes = stage.notes().events["ID"]
    assert (notes.approved is not None, notes.approvals, notes.hit_by) == (True, 1, ())
    assert stage.notes().errors.by_status == {0: 1}


@pytest.mark.parametrize("is_done", [True, False], ids=["done", "not done"])
def test_unawaited_approval_counts_if_accepted(stage: Stage, *, is_done: bool):
    guest = stage.guest()
    stage.announce("ID", "web-0")
    stage.poll(guest)

    stage.conduct.leave(stage.ask(guest, approval("ID")), "slow_body", is_done=is_done)

    notes = stage.notes()
    assert (notes.approvals, notes.events["ID"].hit_by) == ((1, ()) if is_done else (0, ("slow_body",)))
    assert (notes.errors.unawaited, notes.errors.count) == (1, 1)


def test_disconnect_without_a_fault_is_not_an_error(stage: Stage):
    guest = stage.guest()
    stage.poll(guest)

    stage.conduct.leave(stage.ask(guest, HELD))

    assert stage.notes().errors.count == 0


def test_stopped_vm_is_away(stage: Stage):
    guest = stage.guest()
    stage.poll(guest)
    stage.conduct.learn(Changes(1, (replace(guest.vm, state=VmState.DEALLOCATED),)))
    stage.pass_time(3600)
    stage.conduct.learn(Changes(2, (guest.vm,)))
    stage.pass_time(2)
    stage.poll(guest)

    assert stage.notes().timing(Pace.VIRTUAL).longest_gap == 2


def test_vm_with_the_name_of_a_deleted_one_gets_new_notes(stage: Stage):
    guest = stage.guest()
    stage.poll(guest)
    stage.conduct.learn(Changes(1, (replace(guest.vm, state=VmState.DELETED),)))
    was_gone = stage.notes().is_gone
    stage.poll(stage.guest())

    assert (was_gone, stage.notes().is_gone, stage.notes().polls) == (True, False, 1)

"""The poll loop against a plain imitation of Azure's endpoint."""

from __future__ import annotations

import random
import threading
import time
from datetime import datetime, timedelta, timezone

import pytest

from forewarn.agent.clock import Clock
from forewarn.agent.endpoints import Endpoints
from forewarn.agent.metadata import Metadata
from forewarn.agent.settings import Settings
from forewarn.agent.watching import Sighting, Watcher
from tests.agent.azure import (
    CLOSED,
    EMPTY_BODY,
    GONE,
    HALF_A_DOCUMENT,
    NULL_EVENTS,
    PORTAL,
    SERVER_ERROR,
    THROTTLED,
    TRUNCATED,
    Azure,
    Fault,
    event,
)
from tests.agent.azure import azure as azure_at
from tests.agent.looking import QUICK, STEADY, looking
from tests.waiting import free_port, wait_until


def test_an_event_is_seen_when_it_comes_when_it_changes_and_when_it_goes(azure: Azure):
    with looking(azure.url) as seen:
        azure.show(event("A"))
        seen.wait_until(lambda: seen.ids == ["A"], "the event")
        azure.start("A")
        seen.wait_until(lambda: any(each.has_started for each in seen.last.document.events), "its start")
        azure.show()
        seen.wait_until(lambda: seen.ids == [], "its end")

    changes = [each for each in seen.sightings if not each.is_unchanged]
    assert [[each.status for each in change.document.events] for change in changes[-3:]] == [
        ["Scheduled"],
        ["Started"],
        [],
    ]


def test_a_sighting_says_whether_the_document_is_the_same(azure: Azure):
    with looking(azure.url) as seen:
        seen.wait_for_sightings(3)

    assert [each.is_unchanged for each in seen.sightings[:3]] == [False, True, True]


def test_an_incarnation_that_goes_backwards_does_not_hide_an_event(azure: Azure):
    azure.show(incarnation=190)
    with looking(azure.url) as seen:
        seen.wait_for_sightings(1)
        azure.show(event("A"), incarnation=1)
        seen.wait_until(lambda: seen.ids == ["A"], "the event")
        azure.show(event("B"), incarnation=1)
        seen.wait_until(lambda: seen.ids == ["B"], "another event in the same incarnation")

    assert seen.troubles == []


@pytest.mark.parametrize("not_before", [None, "", "soon", 5], ids=["missing", "empty", "no date", "a number"])
def test_a_started_event_without_a_usable_not_before_is_seen(azure: Azure, not_before: object):
    azure.show(event("A", EventStatus="Started", NotBefore=not_before))

    with looking(azure.url) as seen:
        seen.wait_for_sightings(1)

    (only,) = seen.last.document.events
    assert only.has_started
    assert only.not_before is None


def test_members_that_are_missing_null_or_unknown_do_not_hide_an_event(azure: Azure):
    azure.show(
        {"EventId": "BARE"},
        event("ODD", EventType="Levitate", EventStatus="Pondering", Resources="web-0", Later={"x": [1]}),
        event("DATED", NotBefore="2037-03-02T12:15:00Z", DurationInSeconds="9"),
    )

    with looking(azure.url) as seen:
        seen.wait_for_sightings(1)

    bare, odd, dated = seen.last.document.events
    assert (bare.id, bare.type, bare.resources) == ("BARE", "Unknown", ())
    assert (odd.type, odd.status, odd.is_scheduled) == ("Levitate", "Pondering", False)
    assert dated.not_before == datetime(2037, 3, 2, 12, 15, tzinfo=timezone.utc)
    assert dated.duration_seconds == 9


# Errors.


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(SERVER_ERROR, id="500"),
        pytest.param(GONE, id="410"),
        pytest.param(THROTTLED, id="429"),
        pytest.param(TRUNCATED, id="cut off"),
        pytest.param(HALF_A_DOCUMENT, id="truncated JSON"),
        pytest.param(PORTAL, id="HTML of a proxy"),
        pytest.param(NULL_EVENTS, id="null events"),
        pytest.param(EMPTY_BODY, id="empty body"),
        pytest.param(Fault(200, b'{"error":"not now"}'), id="an error with 200"),
        pytest.param(Fault(400), id="400"),
        pytest.param(Fault(302, headers={"Location": "/"}), id="redirect"),
    ],
)
def test_one_failed_request_is_told_and_neither_ends_the_watching_nor_the_event(azure: Azure, fault: Fault):
    azure.show(event("A"))

    with looking(azure.url) as seen:
        seen.wait_for_sightings(1)
        azure.fail(fault)
        seen.wait_for_troubles(1)
        seen.wait_for_more_sightings(2)

    assert len(seen.troubles) == 1
    assert all([each.id for each in sighting.document.events] == ["A"] for sighting in seen.sightings)


def test_closed_sockets_do_not_end_the_watching(azure: Azure):
    with looking(azure.url) as seen:
        seen.wait_for_sightings(1)
        azure.fail(CLOSED, CLOSED, CLOSED)
        wait_until(lambda: azure.faults_left == 0, "all faults to be met")
        seen.wait_for_more_sightings(1)

    assert seen.troubles


def test_an_endpoint_that_comes_up_late_is_found():
    port = free_port()

    with looking(f"http://127.0.0.1:{port}") as seen:
        seen.wait_for_troubles(3)
        with azure_at(port=port):
            seen.wait_for_sightings(1)
            troubles = list(seen.troubles)  # when it has gone again, there are more

    assert {trouble.kind for trouble in troubles} == {"unreachable"}
    assert len({trouble.since for trouble in troubles}) == 1


def test_a_listener_that_fails_does_not_end_the_watching(azure: Azure):
    calls = []

    def fail(sighting: Sighting) -> None:
        calls.append(sighting)
        raise ZeroDivisionError

    stop = threading.Event()
    settings = Settings(endpoints=(azure.url,), **QUICK)
    watcher = Watcher(Metadata(Endpoints((azure.url,)), settings), Clock(), settings, fail, calls.append)
    thread = threading.Thread(target=watcher.run, args=(stop,))
    thread.start()
    wait_until(lambda: len(calls) >= 2, "another sighting after the failure")
    stop.set()
    thread.join(60)

    assert not thread.is_alive()


def test_being_blind_is_told_when_no_good_answer_came_for_too_long(azure: Azure):
    azure.fail_always(lambda _: SERVER_ERROR)

    with looking(azure.url, blind_after_seconds=0.3) as seen:
        seen.wait_until(lambda: any(each.is_blind for each in seen.troubles), "blindness")
        azure.fail_always(lambda _: None)
        seen.wait_for_more_sightings(1)
        is_blind_at_the_end = seen.watcher.is_blind

    assert not seen.troubles[0].is_blind
    assert not is_blind_at_the_end


def test_being_blind_is_told_while_the_first_answer_is_still_out(azure: Azure):
    azure.first_delay_seconds = 30

    with looking(azure.url, blind_after_seconds=0.2, first_timeout_seconds=40) as seen:
        seen.wait_for_troubles(1)

    assert seen.troubles[0].is_blind
    assert "has not answered yet" in seen.troubles[0].message
    assert len(azure.asked) == 1


def test_a_slow_first_answer_is_waited_for(azure: Azure):
    azure.first_delay_seconds = 0.6
    azure.show(event("A"))

    with looking(azure.url, timeout_seconds=0.2, first_timeout_seconds=20) as seen:
        seen.wait_until(lambda: seen.ids == ["A"], "the event")

    assert seen.troubles == []


def test_a_storm_of_faults_ends_neither_the_watching_nor_the_event(azure: Azure):
    azure.show(event("A"))
    faults = [SERVER_ERROR, GONE, Fault(429), TRUNCATED, HALF_A_DOCUMENT, PORTAL, NULL_EVENTS, EMPTY_BODY, CLOSED]
    faults += [Fault(400), Fault(404), Fault(302, headers={"Location": "/"}), Fault(200, b'{"error":"not now"}')]
    dice = random.Random(7)
    azure.fail_always(lambda _: dice.choice(faults) if len(azure.asked) < 300 and dice.random() < 0.7 else None)

    with looking(azure.url) as seen:
        wait_until(lambda: len(azure.polls()) >= 300, "the storm to pass")
        seen.wait_for_more_sightings(3)

    assert seen.troubles
    assert all([each.id for each in sighting.document.events] == ["A"] for sighting in seen.sightings)


# Pace.


def test_an_endpoint_is_polled_every_second_unless_told_otherwise():
    assert Settings().poll_seconds == 1


def test_after_a_fault_the_next_try_comes_sooner_than_the_next_poll(azure: Azure):
    azure.fail(*[SERVER_ERROR] * 4)
    before = STEADY()

    with looking(azure.url, poll_seconds=60) as seen:
        seen.wait_for_sightings(1)
        took = STEADY() - before

    assert len(seen.troubles) == 4
    assert took < 60 * 2


def test_polls_come_at_the_pace_that_was_asked_for_with_some_jitter(azure: Azure):
    at: list[float] = []
    azure.fail_always(lambda _: at.append(STEADY()))

    with looking(azure.url, poll_seconds=0.1) as seen:
        seen.wait_for_sightings(12)

    gaps = [after - before for before, after in zip(at, at[1:])]
    assert sum(gaps) > 0.8 * 0.1 * len(gaps)
    assert len({round(gap, 4) for gap in gaps}) > 1


def test_a_new_look_is_taken_at_once_and_without_a_condition(azure: Azure):
    azure.has_tags = True
    with looking(azure.url, poll_seconds=60, wait_seconds=0) as seen:
        seen.wait_for_sightings(1)
        before = STEADY()
        seen.watcher.look_again()
        seen.wait_until(lambda: seen.last.is_anew, "the new look")
        took = STEADY() - before

    assert took < 50
    assert "if-none-match" not in azure.polls()[-1].headers
    assert [each.is_anew for each in seen.sightings] == [False, True]


def test_a_look_that_is_wanted_later_is_taken_then_also_where_the_endpoint_holds_the_question(azure: Azure):
    azure.has_tags = True
    azure.fail_always(lambda asked: Fault(304, b"", delay_seconds=30) if "prefer" in asked.headers else None)
    with looking(azure.url, poll_seconds=60, wait_seconds=40, blind_after_seconds=300) as seen:
        wait_until(lambda: len(azure.polls()) >= 2, "the question that is held")
        before = STEADY()
        seen.watcher.look_again(0.3)
        seen.watcher.look_again(60)
        seen.wait_until(lambda: seen.last.is_anew, "the new look")
        took = STEADY() - before

    assert 0.3 <= seen.last.steady_at - before <= took < 28


def test_a_new_look_that_fails_is_taken_again(azure: Azure):
    with looking(azure.url) as seen:
        seen.wait_for_sightings(1)
        azure.fail(SERVER_ERROR)
        seen.watcher.look_again()
        seen.wait_until(lambda: any(each.is_anew for each in seen.sightings), "the new look")

    assert sum(each.is_anew for each in seen.sightings) <= 1


def test_an_endpoint_that_does_not_hold_questions_is_polled(azure: Azure):
    azure.has_tags = True

    with looking(azure.url, poll_seconds=0.05, wait_seconds=30) as seen:
        seen.wait_for_sightings(6)

    with_wish = [asked for asked in azure.polls() if "prefer" in asked.headers]
    assert len(with_wish) == 1


def test_a_stop_is_quick_also_while_an_answer_is_out(azure: Azure):
    azure.fail_always(lambda _: Fault(delay_seconds=50))
    with looking(azure.url, timeout_seconds=60) as seen:
        wait_until(lambda: len(azure.polls()) == 1, "a question")
        before = STEADY()

    assert not seen.thread.is_alive()
    assert STEADY() - before < 10


# The clock.


def test_the_endpoints_date_is_the_time_where_the_clocks_differ(azure: Azure):
    azure.now = lambda: datetime.now(timezone.utc) + timedelta(hours=5)

    with looking(azure.url) as seen:
        seen.wait_for_sightings(1)

    ahead = seen.last.at - datetime.now(timezone.utc)
    assert timedelta(hours=4, minutes=59) < ahead < timedelta(hours=5, minutes=1)


def test_a_difference_of_a_second_leaves_the_clock_alone():
    clock = Clock()

    clock.learn(datetime.now(timezone.utc) - timedelta(seconds=1.5))

    assert abs(clock.now() - datetime.now(timezone.utc)) < timedelta(seconds=1)


@pytest.mark.parametrize("hours", [1, -1])
def test_a_step_of_the_machines_clock_is_not_believed_once_the_endpoint_has_told_the_time(hours: int):
    start = datetime(2026, 3, 2, 12, tzinfo=timezone.utc)
    wall, passed = [start], [50.0]
    clock = Clock(wall=lambda: wall[0], passing=lambda: passed[0])
    clock.learn(start)

    wall[0] += timedelta(hours=hours)
    passed[0] += 7

    assert clock.now() == start + timedelta(seconds=7)


def test_a_machine_that_slept_has_not_lost_the_time(monkeypatch: pytest.MonkeyPatch):
    start = datetime(2026, 3, 2, 12, tzinfo=timezone.utc)
    passed = [50.0]
    monkeypatch.setattr(time, "clock_gettime", lambda kind: passed[0] if kind == time.CLOCK_BOOTTIME else 0.0)
    clock = Clock(wall=lambda: start, steady=lambda: 0.0)
    clock.learn(start)

    passed[0] += 300  # and `monotonic` stood still

    assert clock.now() == start + timedelta(minutes=5)


def test_before_the_endpoint_has_told_the_time_the_machines_clock_counts_also_when_it_is_put_right():
    wall = [datetime(1970, 1, 1, tzinfo=timezone.utc)]
    clock = Clock(wall=lambda: wall[0])

    wall[0] = datetime(2026, 3, 2, 12, tzinfo=timezone.utc)

    assert clock.now() == wall[0]


def test_the_clock_follows_an_endpoint_whose_time_jumps():
    start = datetime(2026, 3, 2, 12, tzinfo=timezone.utc)
    clock = Clock(wall=lambda: start, passing=lambda: 0.0)

    clock.learn(start + timedelta(minutes=15))
    ahead = clock.now()
    clock.learn(start)

    assert ahead == start + timedelta(minutes=15)
    assert clock.now() == start


def test_a_new_look_that_fails_is_tried_again_at_the_usual_pace(azure: Azure):
    with looking(azure.url, poll_seconds=0.4) as seen:
        seen.wait_for_sightings(1)
        azure.fail_always(lambda _: SERVER_ERROR)
        seen.watcher.look_again()
        before = STEADY()
        azure.wait_for_polls(4)
        took = STEADY() - before

    assert took > 3 * 0.9 * 0.4 / 4 - 0.02

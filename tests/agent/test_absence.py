"""When an event that an answer lacks is gone, and how it has ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from forewarn.agent.absence import Absence, Doubt, LastSeen, ending_of, judge
from forewarn.agent.case import Case, Consent, Ending
from forewarn.agent.events import Document, Sighting
from forewarn.agent.sightings import last_seen
from tests.agent.little_world import NOW, a_case, an_event

A, B = "http://a", "http://b"
SEEN = LastSeen(NOW, NOW + timedelta(minutes=15), has_started=False, named_by=(A,))


def after(
    *endpoints: str,
    seen: LastSeen = SEEN,
    at: datetime = NOW,
    among: tuple[str, ...] = (A, B),
    apart_seconds: float = 1.0,
) -> Absence:
    """What is left after these have answered, one after the other, without the event."""
    absence = Absence()
    for number, endpoint in enumerate(endpoints):
        sighting = Sighting(
            Document(()),
            at,
            is_anew=True,
            endpoint=endpoint,
            endpoints=among,
            steady_at=100.0 + number * apart_seconds,
        )
        absence = judge({"E1": seen}, absence.doubts, sighting, 1.0)
    return absence


def test_an_event_is_gone_when_the_endpoint_that_has_named_it_lacks_it_twice():
    assert after(A) == Absence(doubts={"E1": Doubt(100.0)}, look_after=1.0)
    assert after(A, A) == Absence(gone=frozenset({"E1"}))


def test_answers_that_lack_an_event_within_a_second_count_as_one_however_many_they_are():
    many = after(*[A] * 300, apart_seconds=0.003)

    assert many.gone == frozenset()
    assert many.doubts == {"E1": Doubt(100.0)}
    assert many.look_after == pytest.approx(1 - 299 * 0.003)


@pytest.mark.parametrize(
    ("seen", "at"),
    [
        (replace(SEEN, has_started=True, not_before=None), NOW),
        (replace(SEEN, let_go_at=NOW), NOW),
        (replace(SEEN, was_asked=True), NOW),
        (SEEN, NOW + timedelta(minutes=15)),
    ],
    ids=["it has started", "it was approved", "an approval was sent", "its time has come"],
)
def test_an_event_at_which_the_platform_may_be_is_gone_after_four_answers_over_three_seconds(
    seen: LastSeen, at: datetime
):
    assert after(A, A, A, seen=seen, at=at).gone == frozenset()
    assert after(A, A, A, A, seen=seen, at=at).gone == {"E1"}


def test_the_answers_against_an_event_are_in_a_row():
    once = after(A)
    back = judge({}, once.doubts, Sighting(Document(()), NOW, is_anew=True, endpoint=A, steady_at=101.0), 1.0)

    assert back == Absence()


def test_an_endpoint_that_has_never_named_an_event_cannot_take_it_away_however_often_it_is_asked():
    assert after(B, B, B) == Absence()
    assert after(A, B, B).gone == frozenset()


def test_each_endpoint_that_has_named_an_event_may_say_that_it_is_gone():
    assert after(B, B, seen=replace(SEEN, named_by=(A, B))).gone == {"E1"}


@pytest.mark.parametrize(
    ("seen", "among"),
    [(replace(SEEN, named_by=()), (A, B)), (SEEN, (B, "http://c"))],
    ids=["it is not known who has named it", "who has named it is asked no longer"],
)
def test_any_endpoint_is_believed_where_nobody_is_left_who_has_named_it(seen: LastSeen, among: tuple[str, ...]):
    assert after(B, B, seen=seen, among=among).gone == {"E1"}


def test_any_endpoint_is_believed_an_hour_after_the_last_sight_of_an_event_whose_time_has_come():
    late, far = NOW + timedelta(minutes=61), replace(SEEN, not_before=NOW + timedelta(days=1))

    assert after(*[B] * 4, at=NOW + timedelta(minutes=59)).gone == frozenset()
    assert after(*[B] * 4, at=late).gone == {"E1"}
    assert after(*[B] * 4, at=late, seen=far).gone == frozenset()


def test_an_answer_that_could_not_be_read_whole_ends_nothing():
    odd = Sighting(Document((), None, ("an event without an EventId",)), NOW, is_anew=True, endpoint=A)
    whole = Sighting(Document(()), NOW, is_anew=True, endpoint=A)

    first = judge({"E1": SEEN}, {}, odd, 1.0)

    assert first.gone == frozenset()
    assert judge({"E1": SEEN}, first.doubts, whole, 1.0).gone == frozenset()


def test_an_entry_that_can_never_be_read_does_not_keep_what_was_done_for_ever():
    odd = Sighting(Document((), None, ("an event without an EventId",)), NOW, is_anew=True, endpoint=A)
    absence = Absence()
    for number in range(300):
        assert not absence.gone
        absence = judge({"E1": SEEN}, absence.doubts, replace(odd, steady_at=100.0 + number), 1.0)

    assert absence.gone == {"E1"}


BOOT, EARLIER_BOOT = "b-2", "b-1"
WITHIN = timedelta(seconds=45)


@pytest.mark.parametrize(
    ("case", "seconds", "ending"),
    [
        (a_case(started_at=NOW, boot=BOOT), 1, Ending.FINISHED),
        (a_case(boot=BOOT), 1, Ending.CANCELLED),
        (a_case(boot=BOOT, consent=Consent.GIVEN, consent_at=NOW - timedelta(seconds=9)), 1, Ending.CANCELLED),
        (a_case(boot=BOOT, consent=Consent.GIVEN, consent_at=NOW), 1, Ending.FINISHED),
        (a_case(boot=BOOT, consent=Consent.ASKED, consent_at=NOW), 1, Ending.CANCELLED),
        (a_case(boot=BOOT), 901, Ending.FINISHED),
        (a_case(boot=EARLIER_BOOT), 60, Ending.FINISHED),
        (a_case(boot=EARLIER_BOOT), 1, Ending.FINISHED),
        (a_case(boot=BOOT, consent=Consent.GIVEN), 60, Ending.FINISHED),
        (a_case(boot=BOOT), 60, Ending.CANCELLED),
        (a_case(an_event(minutes=None), boot=BOOT), 9999, Ending.CANCELLED),
    ],
    ids=[
        "it had started",
        "it was there a moment ago, Scheduled",
        "it was approved, still Scheduled after that, and called off under our eyes",
        "it was approved, and gone at the next look",
        "its approval was sent, and not answered",
        "its time had come",
        "the machine has been down meanwhile",
        "the machine has been down, however briefly",
        "it was approved, and nobody watched",
        "nobody watched, and it was not due",
        "nobody watched, and it never said when",
    ],
)
def test_how_an_event_that_is_gone_has_ended(case: Case, seconds: float, ending: Ending):
    seen, now = last_seen(case), NOW + timedelta(seconds=seconds)

    assert ending_of(seen, now, WITHIN, has_rebooted=case.boot != BOOT) is ending

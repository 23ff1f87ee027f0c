"""What operators may say about an event, and what they are told."""

from __future__ import annotations

import pytest

from forewarn.agent.case import Case, Consent, Ending
from forewarn.agent.orders import Order, Refusal, Verb, find, give
from tests.agent.little_world import NOW, a_case, an_event


def order(verb: Verb, *, is_urgent: bool = False) -> Order:
    return Order(verb, "E1", "ann", is_urgent)


def test_approving_lets_the_preparation_come_first():
    case, words = give(a_case(), order(Verb.APPROVE), approves=True)

    assert (case.told_to_approve_by, case.is_urgent) == ("ann", False)
    assert words == "Event E1 is approved as soon as it is prepared."


def test_approving_now_does_not_wait():
    case, words = give(a_case(), order(Verb.APPROVE, is_urgent=True), approves=True)

    assert case.is_urgent
    assert words == "Event E1 is approved at once."


def test_what_is_held_stays_held_until_it_is_released():
    held, _ = give(a_case(), order(Verb.HOLD), approves=True)
    refusal = give(held, order(Verb.APPROVE), approves=True)
    released, _ = give(held, order(Verb.RELEASE), approves=True)

    assert held.held_by == "ann"
    assert refusal == Refusal(409, "Event E1 is held by ann. First: forewarn agent release E1")
    assert released.held_by == ""


@pytest.mark.parametrize(
    ("case", "verb", "message"),
    [
        (a_case(ending=Ending.FINISHED), Verb.APPROVE, "Event E1 is over: it was finished."),
        (a_case(started_at=NOW), Verb.HOLD, "Event E1 has started: it can no longer be approved or held."),
        (
            a_case(consent=Consent.GIVEN, consent_by="agent"),
            Verb.HOLD,
            "Event E1 has been approved by agent; that cannot be taken back.",
        ),
        (a_case(), Verb.RELEASE, "Event E1 is not held."),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(case: Case, verb: Verb, message: str):
    assert give(case, order(verb), approves=True) == Refusal(409, message)


def test_an_agent_that_approves_nothing_says_so():
    refusal = give(a_case(), order(Verb.APPROVE), approves=False)

    assert isinstance(refusal, Refusal)
    assert "approves nothing" in refusal.message


@pytest.mark.parametrize(
    ("said", "found"),
    [("4f1c-1", "4F1C-1"), ("4F1C-2", "4F1C-2"), ("9", "9A"), ("4f", 409), ("77", 404), ("", 404)],
    ids=["in small letters", "whole", "how it begins", "ambiguous", "unknown", "nothing"],
)
def test_an_event_is_found_by_its_id_or_how_that_begins(said: str, found: str | int):
    cases = [a_case(an_event(event)) for event in ("4F1C-1", "4F1C-2", "9A")]

    answer = find(cases, said)

    assert (answer.status if isinstance(answer, Refusal) else answer.id) == found

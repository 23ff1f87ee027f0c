"""What operators may say about an event, and what they are told."""

from __future__ import annotations

import pytest

from forewarn.agent.case import Case, Consent, Ending
from forewarn.agent.course import failures
from forewarn.agent.orders import Order, Refusal, Verb, find, give
from forewarn.agent.policy import Together
from tests.agent.little_world import BEGUN, DO, FAILED, NOW, a_case, a_profile, a_run, a_step, an_event

DRAIN = a_profile(a_step())


def order(verb: Verb, *, is_urgent: bool = False) -> Order:
    return Order(verb, "E1", "ann", is_urgent)


def test_approving_lets_the_preparation_come_first():
    case, words = give(a_case(), order(Verb.APPROVE), DRAIN, approves=True)

    assert (case.told_to_approve_by, case.is_urgent) == ("ann", False)
    assert words == "Event E1 is approved as soon as it is prepared."


def test_approving_now_does_not_wait():
    case, words = give(a_case(), order(Verb.APPROVE, is_urgent=True), DRAIN, approves=True)

    assert case.is_urgent
    assert words == "Event E1 is approved without waiting for its preparation."


def test_an_approval_that_was_taken_and_led_to_nothing_is_sent_again_if_an_operator_says_so():
    unconfirmed = a_case(consent=Consent.GIVEN, consent_by="agent", consent_at=NOW, unconfirmed_at=NOW)

    refusal = give(unconfirmed, order(Verb.APPROVE), DRAIN, approves=True)
    again, words = give(unconfirmed, order(Verb.APPROVE, is_urgent=True), DRAIN, approves=True)
    held = give(unconfirmed, order(Verb.HOLD), DRAIN, approves=True)

    assert isinstance(refusal, Refusal)
    assert refusal.message == (
        "Event E1 has been approved by agent and has not started. "
        "To send that again: forewarn agent approve --now E1"
    )
    assert (again.consent, again.unconfirmed_at, again.told_to_approve_by) == (Consent.ASKED, None, "ann")
    assert words == "Event E1 was approved by agent and has not started: that is sent again."
    assert isinstance(held, Refusal)


def test_an_event_whose_preparation_failed_is_not_promised_an_approval_but_may_be_approved_now():
    failed = a_case(runs={("drain", DO): a_run(FAILED, note="exit status 3")})
    why = failures(failed, DRAIN, NOW)

    refusal = give(failed, order(Verb.APPROVE), DRAIN, approves=True, failures=why)
    urgent = give(failed, order(Verb.APPROVE, is_urgent=True), DRAIN, approves=True, failures=why)

    assert refusal == Refusal(
        409,
        "Event E1 is not prepared: step drain failed (exit status 3). "
        "To approve it all the same: forewarn agent approve --now E1",
    )
    assert not isinstance(urgent, Refusal)


@pytest.mark.parametrize(
    "case",
    [a_case(), a_case(runs={("drain", DO): a_run(FAILED)}), a_case(runs={("drain", DO): a_run(BEGUN)})],
    ids=["not begun", "tried again", "under way"],
)
def test_a_preparation_that_may_yet_succeed_has_not_failed(case: Case):
    assert failures(case, a_profile(a_step(retries=1)), NOW) == []


def test_what_is_held_stays_held_until_it_is_released():
    held, _ = give(a_case(), order(Verb.HOLD), DRAIN, approves=True)
    refusal = give(held, order(Verb.APPROVE), DRAIN, approves=True)
    released, _ = give(held, order(Verb.RELEASE), DRAIN, approves=True)

    assert held.held_by == "ann"
    assert refusal == Refusal(409, "Event E1 is held by ann. First: forewarn agent release E1")
    assert released.held_by == ""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, ""),
        ({"told_to_approve_by": "bob"}, " It is approved as soon as it is prepared, as bob has said before."),
        (
            {"told_to_approve_by": "bob", "is_urgent": True},
            " It is approved now, prepared or not, as bob has said before.",
        ),
    ],
    ids=["nothing was said", "approve", "approve now"],
)
def test_whoever_releases_is_told_what_was_said_before_it_was_held(said: dict, words: str):
    _, answer = give(a_case(held_by="ann", **said), order(Verb.RELEASE), DRAIN, approves=True)

    assert answer == f"Event E1 is held no longer.{words}"


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
        (
            a_case(an_event(status="")),
            Verb.APPROVE,
            "Event E1 can be approved only while Scheduled, and its status is not said.",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(case: Case, verb: Verb, message: str):
    assert give(case, order(verb), DRAIN, approves=True) == Refusal(409, message)


def test_an_agent_that_approves_nothing_says_so():
    refusal = give(a_case(), order(Verb.APPROVE), DRAIN, approves=False)

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


def test_a_hold_while_an_approval_is_under_way_does_not_promise_too_much():
    case, words = give(a_case(consent=Consent.ASKED, consent_at=NOW), order(Verb.HOLD), DRAIN, approves=True)

    assert case.held_by == "ann"
    assert words == (
        "Event E1 is held from now on, but an approval has been sent before: "
        "if the endpoint has taken that, the event starts all the same."
    )


@pytest.mark.parametrize(
    ("vm", "together", "words"),
    [
        (
            "web-1",
            Together.LEADER,
            "web-0 is told that web-1 is ready as soon as it is, and approves event E1 for all.",
        ),
        ("web-0", Together.LEADER, "Event E1 is approved as soon as it is prepared and web-1 is ready too."),
        ("web-1", Together.EACH, "Event E1 is approved as soon as it is prepared."),
    ],
    ids=["a follower", "the leader", "each for itself"],
)
def test_approving_an_event_of_several_vms_says_who_approves_it(vm: str, together: Together, words: str):
    case = a_case(an_event(resources=("web-0", "web-1")), vm=vm)

    told, said = give(case, order(Verb.APPROVE), a_profile(together=together), approves=True)

    assert (told.told_to_approve_by, said) == ("ann", words)


@pytest.mark.parametrize(("vm", "together"), [("web-0", Together.REFUSE), ("", Together.LEADER)])
def test_approving_for_others_takes_an_urgent_word(vm: str, together: Together):
    case = a_case(an_event(resources=("web-0", "web-1")), vm=vm)
    profile = a_profile(together=together)

    refusal = give(case, order(Verb.APPROVE), profile, approves=True)
    urgent, _ = give(case, order(Verb.APPROVE, is_urgent=True), profile, approves=True)

    assert isinstance(refusal, Refusal)
    assert "If all are ready: forewarn agent approve --now E1" in refusal.message
    assert urgent.is_urgent

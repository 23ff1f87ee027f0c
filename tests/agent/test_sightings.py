"""What an answer means for the cases."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from forewarn.agent.absence import Doubt
from forewarn.agent.case import Case, Consent, Ending
from forewarn.agent.events import STARTED, Document, Event, Sighting
from forewarn.agent.policy import Policy
from forewarn.agent.sightings import Meaning, Notes, Viewpoint, judge_anew, note
from tests.agent.little_world import BEGUN, DO, NOW, UNDO, a_case, a_run, an_event

LATER = NOW + timedelta(seconds=1)


def viewpoint(name: str = "web-0") -> Viewpoint:
    return Viewpoint(
        boot="b-2",
        watched_within=timedelta(seconds=45),
        apart_seconds=1.0,
        which=lambda resources: name if name in resources else "",
        choose=lambda event, vm, _: (f"{event.type.lower()} {vm}".strip(), "because"),
    )


def noted(*cases: Case, events: tuple[Event, ...] = (), doubted=(), oddities=(), **said) -> Notes:
    """What an answer means; of what is doubted all answers but the last that it takes have come."""
    sighting = Sighting(Document(events, 7, oddities), LATER, steady_at=10.0, **said)
    doubts = {case.id: Doubt(9.0, 3 if case.started_at else 1) for case in cases if case.id in doubted}
    return note({case.id: case for case in cases}, doubts, sighting, viewpoint())


def test_a_new_event_becomes_a_case_with_the_profile_of_the_first_rule_that_fits():
    [found] = noted(events=(an_event(),)).noted

    assert found.what is Meaning.APPEARED
    assert (found.case.vm, found.case.profile, found.case.why) == ("web-0", "reboot web-0", "because")
    assert (found.case.first_seen_at, found.case.last_seen_at, found.case.boot) == (LATER, LATER, "b-2")
    assert found.case.not_before == an_event().not_before


def test_an_event_that_has_started_when_first_seen_is_known_to_have_started():
    [found] = noted(events=(an_event(status=STARTED, minutes=None),)).noted

    assert found.case.started_at == LATER


def test_all_events_of_an_answer_are_noted_not_only_the_first_or_the_last():
    notes = noted(events=(an_event("E1"), an_event("E2"), an_event("E3", resources=("db-0",))))

    assert [(each.case.id, each.case.vm) for each in notes.noted] == [("E1", "web-0"), ("E2", "web-0"), ("E3", "")]


def test_an_event_that_is_still_there_was_just_seen():
    [found] = noted(a_case(), events=(an_event(),)).noted

    assert found.what is Meaning.STILL_THERE
    assert (found.case.last_seen_at, found.case.boot) == (LATER, "b-2")


def test_an_event_that_starts_is_noted_and_its_last_not_before_is_kept():
    case = a_case(not_before=an_event().not_before)

    [found] = noted(case, events=(an_event(status=STARTED, minutes=None),)).noted

    assert found.what is Meaning.STARTED
    assert found.case.started_at == LATER
    assert found.case.not_before == an_event().not_before


def test_an_event_that_changes_gets_the_profile_that_fits_it_now():
    [found] = noted(a_case(prepared_at=NOW), events=(an_event(type="Redeploy"),)).noted

    assert found.what is Meaning.CHANGED
    assert found.case.profile == "redeploy web-0"
    assert found.case.prepared_at is None, "that was noted of other steps"


def test_an_event_that_changes_after_its_preparation_began_is_prepared_for_by_the_profile_that_fits_it_now():
    before = a_case(prepared_at=NOW, runs={("drain", DO): a_run()})

    [found] = noted(before, events=(an_event(type="Redeploy"),)).noted

    assert (found.case.profile, found.case.prepared_at) == ("redeploy web-0", None)
    assert found.case.runs == before.runs, "what was done is to be undone"


@pytest.mark.parametrize(
    "unsaid",
    [
        {"source": ""},
        {"minutes": None},
        {"duration_seconds": None},
        {"description": ""},
        {"type": "Unknown"},
        {"resources": ()},
    ],
    ids=lambda unsaid: next(iter(unsaid)),
)
def test_what_an_answer_leaves_out_that_an_earlier_one_said_has_not_changed(unsaid: dict[str, Any]):
    said = {"source": "Platform", "duration_seconds": 9, "description": "a host update"}
    before = a_case(an_event(**said))

    [found] = noted(before, events=(an_event(**{**said, **unsaid}),)).noted

    assert (found.what, found.case.event) == (Meaning.STILL_THERE, before.event)


def test_a_profile_stays_once_its_preparation_has_begun_and_the_platform_too():
    before = a_case(runs={("drain", DO): a_run()})

    [found] = noted(before, events=(an_event(type="Redeploy", status=STARTED),)).noted

    assert (found.case.profile, found.case.event.type) == ("drain", "Redeploy")


def test_an_event_that_no_longer_names_this_vm_is_no_longer_its_own():
    [found] = noted(a_case(), events=(an_event(resources=("db-0",)),)).noted

    assert found.case.vm == ""


def test_an_event_that_is_missing_from_one_answer_is_not_gone():
    notes = noted(a_case())

    assert notes.noted == ()
    assert notes.missing == {"E1"}
    assert notes.look_after == 1.0


@pytest.mark.parametrize(
    ("is_anew", "doubted", "oddities", "is_gone"),
    [
        (True, {"E1"}, (), True),
        (False, {"E1"}, (), False),
        (True, set(), (), False),
        (True, {"E1"}, ("an event without an EventId",), False),
    ],
    ids=["asked anew", "not asked anew", "missing for the first time", "part of it could not be read"],
)
def test_an_event_is_gone_when_a_second_answer_asked_for_anew_lacks_it_too(
    doubted: set[str], oddities: tuple[str, ...], *, is_anew: bool, is_gone: bool
):
    notes = noted(a_case(), doubted=doubted, oddities=oddities, is_anew=is_anew)

    assert [each.what for each in notes.noted] == ([Meaning.GONE] if is_gone else [])
    assert ("E1" in notes.missing) is not is_gone
    assert (notes.look_after is not None) is not is_gone


def test_an_event_that_is_back_in_the_second_answer_never_was_gone():
    notes = noted(a_case(), events=(an_event(),), doubted={"E1"}, is_anew=True)

    assert [each.what for each in notes.noted] == [Meaning.STILL_THERE]
    assert notes.missing == frozenset()


@pytest.mark.parametrize(
    ("case", "ending"),
    [(a_case(started_at=NOW, boot="b-2"), Ending.FINISHED), (a_case(boot="b-2"), Ending.CANCELLED)],
    ids=["after Started it has finished", "while Scheduled it was cancelled"],
)
def test_how_a_gone_event_ended(case: Case, ending: Ending):
    [found] = noted(case, doubted={"E1"}, is_anew=True).noted

    assert (found.case.ending, found.case.ended_at) == (ending, LATER)


def test_an_event_that_is_over_and_comes_back_begins_anew_but_is_not_approved_again():
    over = a_case(
        ending=Ending.CANCELLED,
        closed_at=NOW,
        runs={("drain", DO): a_run()},
        consent=Consent.GIVEN,
        consent_by="agent",
    )

    [found] = noted(over, events=(an_event(),)).noted

    assert found.what is Meaning.RETURNED
    assert (found.case.ending, found.case.closed_at, found.case.runs) == (None, None, {})
    assert (found.case.consent, found.case.consent_by) == (Consent.GIVEN, "agent")


def test_an_event_that_comes_back_while_it_is_undone_waits_for_what_is_under_way():
    undoing = a_case(ending=Ending.CANCELLED, runs={("drain", UNDO): a_run(BEGUN)})

    notes = noted(undoing, events=(an_event(),))

    assert (notes.noted, notes.back) == ((), {"E1"})


def test_an_event_that_comes_back_between_two_attempts_at_its_undo_goes_on_with_what_is_left():
    undoing = a_case(ending=Ending.CANCELLED, prepared_at=NOW, held_by="ann", runs={("drain", DO): a_run()})

    [found] = noted(undoing, events=(an_event(type="Redeploy"),)).noted

    assert found.what is Meaning.RETURNED
    assert (found.case.is_open, found.case.prepared_at, found.case.held_by) == (True, None, "ann")
    assert (found.case.profile, found.case.runs) == ("redeploy web-0", undoing.runs)


def test_what_an_operator_said_holds_when_an_event_comes_back_as_it_was():
    over = a_case(ending=Ending.CANCELLED, closed_at=NOW, held_by="ann", told_to_approve_by="bob", is_urgent=True)

    [same] = noted(over, events=(an_event(),)).noted
    [other] = noted(over, events=(an_event(resources=("web-0", "db-0")),)).noted

    assert (same.case.held_by, same.case.told_to_approve_by, same.case.is_urgent) == ("ann", "bob", True)
    assert (other.case.held_by, other.case.told_to_approve_by, other.case.is_urgent) == ("ann", "", False)


def test_a_lower_incarnation_changes_nothing():
    case = a_case()
    sighting = Sighting(Document((an_event(),), 1), LATER)

    notes = note({"E1": case}, {}, sighting, viewpoint())

    assert [each.what for each in notes.noted] == [Meaning.STILL_THERE]


def test_a_case_is_judged_again_when_this_vm_learns_its_name():
    case = a_case(an_event(resources=("pool_0",)), vm="", profile="others")

    renamed = judge_anew(case, viewpoint("pool_0"))

    assert (renamed.vm, renamed.profile) == ("pool_0", "reboot pool_0")


def test_a_case_is_judged_by_the_rules_of_now_also_before_this_vm_knows_its_name():
    case = a_case(vm="web-0", profile="as it was", prepared_at=NOW)

    judged = judge_anew(case, viewpoint("pool_0"), is_named=False)

    assert (judged.vm, judged.profile, judged.prepared_at) == ("web-0", "reboot web-0", None)


def test_a_case_remembers_which_endpoints_have_named_its_event():
    [first] = noted(events=(an_event(),), endpoint="http://a").noted
    [second] = noted(first.case, events=(an_event(),), endpoint="http://b").noted

    assert (second.what, second.case.named_by) == (Meaning.STILL_THERE, ("http://a", "http://b"))


def test_an_endpoint_that_does_not_know_an_event_leaves_it_uncertain_and_is_not_asked_anew():
    case = a_case(named_by=("http://a",))

    notes = noted(case, doubted={"E1"}, is_anew=True, endpoint="http://b", endpoints=("http://a", "http://b"))

    assert (notes.noted, notes.missing, notes.look_after) == ((), {"E1"}, None)


def test_an_answer_that_could_not_be_read_whole_ends_nothing():
    odd = noted(a_case(), oddities=("an event without an EventId",))

    assert (odd.noted, odd.missing) == ((), {"E1"})


def test_the_rules_go_by_the_time_that_was_announced_also_when_the_event_has_started():
    asked: list[Event] = []

    def choose(event: Event, vm: str, policy: Policy) -> tuple[str, str]:
        asked.append(event)
        return "night" if event.not_before else "log only", "because"

    night = a_case(an_event(), profile="night", not_before=an_event().not_before)
    started = an_event(status=STARTED, minutes=None)

    found = note({"E1": night}, {}, Sighting(Document((started,)), LATER), replace(viewpoint(), choose=choose))

    assert [each.case.profile for each in found.noted] == ["night"]
    assert asked[-1].has_started

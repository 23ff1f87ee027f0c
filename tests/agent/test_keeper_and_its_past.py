"""What a new agent makes of the words and rules that were there before it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.agent import handlers
from forewarn.agent.case import Consent, Outcome
from forewarn.agent.journal import Journal
from forewarn.agent.messages import Named
from forewarn.agent.orders import Order, Verb
from forewarn.agent.policy import Approval, Together
from tests.agent.azure import SERVER_ERROR, Azure, event
from tests.agent.kept import Stage, kept
from tests.agent.little_world import UNDO, a_profile, a_step
from tests.agent.test_keeper_after_a_restart import left_behind, now

DRAIN = a_profile(a_step())


def test_rules_that_were_changed_in_between_hold_for_an_event_for_which_nothing_was_begun(
    azure: Azure, tmp_path: Path
):
    left_behind(tmp_path, profile="another", prepared_at=now() - timedelta(seconds=1))
    azure.show(event("E1"))
    stage = Stage()

    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        case = agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert case.profile == "drain"
    assert stage.ran() == ["E1 drain do"]


def test_what_an_operator_said_survives_a_start_at_which_the_name_comes_late(azure: Azure, tmp_path: Path):
    left_behind(tmp_path, told_to_approve_by="somebody")
    azure.show(event("E1"))
    manual = a_profile(a_step(), approval=Approval.MANUAL)

    with kept(azure.url, tmp_path, Stage(), manual, name="") as agent:
        azure.wait_for_polls(5)
        before = agent.case()
        agent.keeper.send(Named("web-0"))
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert before.told_to_approve_by == "somebody"


def spoil_entry(place: Path) -> None:
    with closing(Journal(place)) as journal:
        journal._rows.execute("UPDATE cases SET body = '{\"event\": 1}'")


def spoil_journal(place: Path) -> None:
    for path in place.glob("journal.db*"):
        path.write_bytes(b"this is no database" * 100)


SPOILT = pytest.mark.parametrize(
    ("spoil", "why"),
    [(spoil_entry, "cannot be read"), (spoil_journal, "was broken")],
    ids=["an entry", "the journal"],
)


@SPOILT
def test_what_was_said_of_an_event_and_cannot_be_read_holds_it_until_somebody_releases_it(
    azure: Azure, tmp_path: Path, spoil: Callable[[Path], None], why: str
):
    left_behind(tmp_path, held_by="somebody")
    spoil(tmp_path)
    azure.show(event("E1"))

    with kept(azure.url, tmp_path, Stage(), DRAIN) as agent:
        held = agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        azure.wait_for_polls(5)
        posted = list(azure.approved)
        agent.keeper.say(Order(Verb.RELEASE, "E1", "somebody"))
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert why in held.held_by
    assert posted == []


@SPOILT
def test_it_is_held_also_by_the_next_agent_if_the_first_saw_nothing(
    azure: Azure, tmp_path: Path, spoil: Callable[[Path], None], why: str
):
    left_behind(tmp_path, held_by="somebody")
    spoil(tmp_path)
    azure.fail_always(lambda _: SERVER_ERROR)
    with kept(azure.url, tmp_path, Stage(), DRAIN):
        azure.wait_for_polls(3)
    azure.fail_always(lambda _: None)
    azure.show(event("E1"))

    with kept(azure.url, tmp_path, Stage(), DRAIN) as agent:
        held = agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        azure.wait_for_polls(5)

    assert why in held.held_by
    assert azure.approved == []


@SPOILT
def test_what_is_released_or_comes_later_is_not_held_by_it(
    azure: Azure, tmp_path: Path, spoil: Callable[[Path], None], why: str
):
    left_behind(tmp_path, held_by="somebody")
    spoil(tmp_path)
    azure.show(event("E1"))
    manual = a_profile(a_step(), approval=Approval.MANUAL)
    with kept(azure.url, tmp_path, Stage(), manual) as agent:
        agent.wait_for(lambda case: why in case.held_by, "the event")
        agent.keeper.say(Order(Verb.RELEASE, "E1", "somebody"))
        agent.wait_for(lambda case: not case.held_by, "its release")
    azure.show(event("E1"), event("E2"))

    with kept(azure.url, tmp_path, Stage(), DRAIN) as agent:
        agent.keeper.say(Order(Verb.RESET, "E1", "somebody"))
        for each in ("E1", "E2"):
            agent.wait_for(lambda case: case.consent is Consent.GIVEN, f"the approval of {each}", each)

    assert set(azure.approved) == {"E1", "E2"}


class Real:
    """The handlers that there are."""

    find = staticmethod(handlers.find)


def state_of(units: Path) -> str:
    return (units / "web.service").read_text().strip()


@SPOILT
def test_how_a_unit_was_is_known_after_what_was_written_of_its_event_is_lost(
    azure: Azure, tmp_path: Path, units: Path, spoil: Callable[[Path], None], why: str
):
    (units / "web.service").write_text("active\n")
    place = tmp_path / "state"
    place.mkdir()
    options = {"unit": "web.service", "systemctl": str(units.parent / "systemctl")}
    stop = a_profile(
        a_step("stop", uses="systemd", options=options, is_for_all_events=True), approval=Approval.NEVER
    )
    azure.show(event("E1"))
    with kept(azure.url, place, Real(), stop) as agent:
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
    stopped = state_of(units)
    spoil(place)

    with kept(azure.url, place, Real(), stop) as agent:
        agent.wait_for(lambda case: why in case.held_by and case.prepared_at is not None, "the preparation")
        azure.show()
        agent.wait_until_closed()

    assert (stopped, state_of(units)) == ("inactive", "active")


def test_how_a_unit_was_is_known_to_the_next_event_if_it_could_not_be_undone(
    azure: Azure, tmp_path: Path, units: Path
):
    (units / "web.service").write_text("active\n")
    place = tmp_path / "state"
    place.mkdir()
    options = {"unit": "web.service", "systemctl": str(units.parent / "systemctl")}
    step = a_step("stop", uses="systemd", options=options, is_for_all_events=True, retry_pause_seconds=0.001)
    stop = a_profile(step, approval=Approval.NEVER)
    azure.show(event("E1"))
    with kept(azure.url, place, Real(), stop) as agent:
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        (units.parent / "systemctl").rename(units.parent / "away")
        azure.show()
        failed = agent.wait_until_closed()
        (units.parent / "away").rename(units.parent / "systemctl")
        azure.show(event("E2"))
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation", "E2")
        azure.show()
        agent.wait_until_closed("E2")

    assert failed.run("stop", UNDO).outcome is Outcome.FAILED
    assert state_of(units) == "active"


def test_half_a_character_in_an_event_does_not_keep_it_or_another_from_being_prepared_and_approved(
    azure: Azure, tmp_path: Path
):
    azure.show(event("E1", Description="half a character: \ud83d"), event("E2", Resources=["db\ud83d", "web-0"]))
    each = a_profile(a_step(), together=Together.EACH)

    with kept(azure.url, tmp_path, Stage(), each) as agent:
        for name in ("E1", "E2"):
            agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval", name)
        case = agent.case("E1")
        stuck = agent.keeper.standing.stuck

    assert case.event.description == "half a character: ?"
    assert stuck == {}

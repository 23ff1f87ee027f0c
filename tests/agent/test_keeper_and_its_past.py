"""What a new agent makes of the words and rules that were there before it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from forewarn.agent.case import Consent
from forewarn.agent.journal import Journal
from forewarn.agent.keeper import Named
from forewarn.agent.orders import Order, Verb
from forewarn.agent.policy import Approval
from tests.agent.azure import Azure, event
from tests.agent.kept import Stage, kept
from tests.agent.little_world import a_profile, a_step
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


def test_an_event_whose_entry_cannot_be_read_is_held_until_somebody_releases_it(azure: Azure, tmp_path: Path):
    case = left_behind(tmp_path)
    journal = Journal(tmp_path)
    journal._rows.execute("UPDATE cases SET body = '{\"event\": 1}' WHERE id = ?", (case.id,))
    journal.close()
    azure.show(event("E1"))

    with kept(azure.url, tmp_path, Stage(), DRAIN) as agent:
        held = agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        azure.wait_for_polls(5)
        posted = list(azure.approved)
        agent.keeper.say(Order(Verb.RELEASE, "E1", "somebody"))
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert "cannot be read" in held.held_by
    assert posted == []

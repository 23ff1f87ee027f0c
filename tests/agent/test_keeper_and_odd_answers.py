"""The keeper and answers that are odd, or none at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from forewarn.agent.case import Consent
from forewarn.agent.policy import Approval
from tests.agent.azure import GONE, NULL_EVENTS, SERVER_ERROR, TRUNCATED, Azure, Fault, event
from tests.agent.kept import Stage, kept
from tests.agent.little_world import a_profile, a_step
from tests.waiting import wait_until

DRAIN = a_profile(a_step())


def is_approved(case) -> bool:
    return case.consent is Consent.GIVEN


@pytest.mark.parametrize("fault", [SERVER_ERROR, GONE, NULL_EVENTS, TRUNCATED], ids=["500", "410", "null", "cut"])
def test_an_endpoint_that_fails_never_means_that_an_event_is_over(azure: Azure, tmp_path: Path, fault: Fault):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        azure.show(event("E1"))
        agent.wait_for(is_approved, "the approval")

        azure.fail(*[fault] * 10)
        wait_until(lambda: azure.faults_left == 0, "the faults to be over")
        azure.wait_for_polls(3)

        assert agent.case().is_open
    assert stage.ran() == ["E1 drain do"]


def test_one_answer_that_lacks_the_event_does_not_mean_that_it_is_over(azure: Azure, tmp_path: Path):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        azure.show(event("E1"))
        agent.wait_for(is_approved, "the approval")

        azure.fail(Fault(body=b'{"DocumentIncarnation": 9, "Events": []}'))
        azure.wait_for_polls(10)

        assert agent.case().is_open
    assert stage.ran() == ["E1 drain do"]


def test_what_is_odd_about_answers_is_said_once(azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    azure.show(event("E1"), {"EventType": "Reboot"})

    with kept(azure.url, tmp_path, Stage(), a_profile(approval=Approval.NEVER)) as agent:
        agent.wait_for(lambda case: case.is_open, "the event")
        azure.wait_for_polls(10)

    said = [each for each in caplog.messages if each.startswith("the endpoint's answer has")]
    assert len(said) == 1


@pytest.mark.parametrize(
    "date", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"]
)
def test_an_event_with_an_odd_date_is_seen_and_does_not_stop_the_one_beside_it(
    azure: Azure, tmp_path: Path, date: str
):
    with kept(azure.url, tmp_path, Stage(), a_profile(a_step(), lead_seconds=3600 * 24 * 365 * 20)) as agent:
        azure.show(event("E1", NotBefore=date), event("E2"))

        agent.wait_for(is_approved, "the approval", "E2")
        odd = agent.wait_for(lambda _: True, "the odd one")

    assert odd.event.not_before is None


def test_an_endpoint_that_takes_over_and_knows_nothing_of_an_event_does_not_cancel_it(
    azure: Azure, another_azure: Azure, tmp_path: Path
):
    stage = Stage()
    careful = a_profile(a_step(), approval=Approval.NEVER)
    with kept(azure.url, tmp_path, stage, careful, endpoints=(azure.url, another_azure.url)) as agent:
        azure.show(event("E1"))
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        azure.fail_always(lambda _: SERVER_ERROR)
        another_azure.wait_for_polls(20)

        waiting = agent.keeper.standing.waiting_for["E1"]
        case = agent.case()

    assert case is not None
    assert (case.ending, case.named_by) == (None, (azure.url,))
    assert stage.ran() == ["E1 drain do"]
    assert waiting == (f"an answer of {azure.url} that shows whether it is there",)


def test_an_event_whose_status_is_not_said_is_seen_and_not_approved(azure: Azure, tmp_path: Path):
    with kept(azure.url, tmp_path, Stage(), DRAIN) as agent:
        azure.show(event("E1", EventStatus=None))
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        azure.wait_for_polls(5)

    assert azure.approved == []

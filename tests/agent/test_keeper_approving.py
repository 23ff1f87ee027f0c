"""The keeper and approvals that fail, come too late or take long."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from forewarn.agent.approving import Answered, Approver
from forewarn.agent.case import Consent, Ending
from tests.agent.azure import Asked, Azure, Fault, event
from tests.agent.kept import Stage, kept
from tests.agent.little_world import a_profile, a_step
from tests.waiting import wait_until

DRAIN = a_profile(a_step())


def no_more_threads(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def is_approved(case) -> bool:
    return case.consent is Consent.GIVEN


def test_a_failed_approval_is_asked_again_until_it_is_taken_and_then_never_more(azure: Azure, tmp_path: Path):
    faults = iter([Fault(500), Fault(is_closed=True)])
    azure.fail_always(lambda asked: next(faults, None) if asked.method == "POST" else None)
    with kept(azure.url, tmp_path, Stage(), DRAIN) as agent:
        azure.show(event("E1"))
        case = agent.wait_for(is_approved, "the approval")
        azure.wait_for_polls(20)

    assert len([each for each in azure.asked if each.method == "POST"]) == 3
    assert azure.approved == ["E1"]
    assert case.consent_tries == 3


def test_an_approval_of_what_is_gone_meanwhile_is_not_asked_again(azure: Azure, tmp_path: Path):
    def refuse(asked: Asked) -> Fault | None:
        if asked.method != "POST":
            return None
        azure._events = []  # it went while the approval was on its way; the answer is given under the lock
        return Fault(400)

    azure.fail_always(refuse)
    with kept(azure.url, tmp_path, Stage(), DRAIN) as agent:
        azure.show(event("E1"))
        over = agent.wait_until_closed()
        azure.wait_for_polls(10)

    assert len([each for each in azure.asked if each.method == "POST"]) == 1
    assert over.ending is Ending.CANCELLED


def test_an_approval_for_which_there_is_no_thread_has_failed_and_is_sent_again():
    told: list[Answered] = []
    sent: list[str] = []
    approver = Approver(sent.append, told.append)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_more_threads)
        first = approver.send("E1")
    approver.settle(told.pop())
    again = approver.send("E1")
    wait_until(lambda: told, "the second")

    assert (first, again) == (True, True)
    assert sent == ["E1"]
    assert told[0].problem is None


def test_an_approval_that_takes_long_holds_nothing_up(azure: Azure, tmp_path: Path):
    azure.fail_always(lambda asked: Fault(200, b"", delay_seconds=3) if asked.method == "POST" else None)
    with kept(azure.url, tmp_path, Stage(), DRAIN) as agent:
        azure.show(event("E1"))
        agent.wait_for(lambda case: case.consent is Consent.ASKED, "the approval to be sent")
        azure.show(event("E1"), event("E2", Resources=["db-0"]))
        other = agent.wait_for(lambda _: True, "the other event", "E2")
        asked_so_far = len([each for each in azure.asked if each.method == "POST"])
        case = agent.wait_for(is_approved, "the approval")

    assert asked_so_far == 1
    assert other.first_seen_at < case.consent_at

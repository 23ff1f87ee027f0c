"""The keeper and the other agents: when its word is given, kept and taken back."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from forewarn.agent.company import Fate, Promise, TakenBack, as_seen
from forewarn.agent.events import Event
from forewarn.agent.orders import Order, Verb
from forewarn.agent.policy import Approval, Together
from tests.agent.azure import Azure, Fault, event
from tests.agent.kept import Stage, kept
from tests.agent.little_world import a_profile, a_step
from tests.agent.looking import STEADY
from tests.waiting import wait_until


class Leading:
    """Company in which a leader has been told, and cannot be told otherwise."""

    def ready_for(self, event: Event) -> frozenset[str]:
        return frozenset()

    def tell(self, promises: frozenset[Promise]) -> None:
        pass

    def take_back(self, event: str, seconds: float) -> TakenBack | None:
        return TakenBack("web-9", Fate.MAY_COUNT, 7) if event == "E1" else None


class Following(Leading):
    """Company that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[frozenset[Promise]] = [frozenset()]

    def tell(self, promises: frozenset[Promise]) -> None:
        if promises != self.told[-1]:
            self.told.append(promises)


def test_a_follower_whose_endpoint_falls_silent_takes_its_word_back(azure: Azure, tmp_path: Path):
    profile = a_profile(a_step(), together=Together.LEADER)
    company = Following()
    with kept(azure.url, tmp_path, Stage(), profile, company=company) as agent:
        azure.show(event("E1", Resources=["web-9", "web-0"]))
        wait_until(lambda: company.told[-1], "its word")
        seen_as = as_seen(agent.case().event)
        [word] = company.told[-1]
        holds_for = word.until - STEADY()
        azure.fail_always(lambda _: Fault(500))
        wait_until(lambda: not company.told[-1], "the word to be taken back", 60)

    assert company.told == [frozenset(), {Promise("E1", "web-0", "web-9", seen_as)}, frozenset()]
    assert holds_for <= agent.settings.fresh_within.total_seconds(), "also if nobody took it back"


def test_a_follower_whose_endpoint_holds_questions_gives_its_word_once_and_keeps_it(azure: Azure, tmp_path: Path):
    profile = a_profile(a_step(), together=Together.LEADER)
    company = Following()
    with kept(azure.url, tmp_path, Stage(), profile, poll_seconds=60, company=company) as agent:
        agent.keeper._view = replace(agent.keeper._view, fresh_within=timedelta(seconds=3))  # not three minutes
        azure.show(event("E1", Resources=["web-9", "web-0"]))
        agent.look_again(0)
        wait_until(lambda: company.told[-1], "its word")
        azure.wait_for_polls(3)
        told = list(company.told)

    assert len(told) == 2


def test_a_follower_that_is_held_says_whether_its_leader_knows(azure: Azure, tmp_path: Path):
    never = a_profile(a_step(), approval=Approval.NEVER)
    with kept(azure.url, tmp_path, Stage(), never, company=Leading()) as agent:
        azure.show(event("E1"), event("F2"))
        agent.wait_for(lambda _: True, "the events", "F2")
        told = agent.keeper.say(Order(Verb.HOLD, "e1", "ann"))
        alone = agent.keeper.say(Order(Verb.HOLD, "F2", "ann"))

    assert told == (
        "Event E1 is held: it is not approved until it is released. But web-9, who approves for all, could not be "
        "told yet: until it is, or for 7 s at most, it may still approve the event. The agent goes on telling it."
    )
    assert alone == "Event F2 is held: it is not approved until it is released."


class Slow(Leading):
    """Company in which all are ready, and which takes long to say so."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()
        self.may_answer = threading.Event()

    def ready_for(self, event: Event) -> frozenset[str]:
        self.is_asked.set()
        self.may_answer.wait(60)
        return frozenset({"web-9"})


def test_a_leader_says_whether_it_has_approved_only_after_it_did_what_it_was_about_to(
    azure: Azure, tmp_path: Path
):
    company = Slow()
    with kept(azure.url, tmp_path, Stage(), a_profile(together=Together.LEADER), company=company) as agent:
        before = agent.inbox.has_approved("E1")
        azure.show(event("E1", Resources=["web-0", "web-9"]))
        assert company.is_asked.wait(60)
        threading.Timer(0.3, company.may_answer.set).start()
        after = agent.inbox.has_approved("E1")

    assert (before, after) == (False, True)

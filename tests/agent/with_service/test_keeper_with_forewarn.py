"""The keeper against the real service, on its virtual clock: the platform's time is the agent's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.agent.case import Consent, Ending
from forewarn.agent.policy import Approval
from tests.agent.kept import Kept, Stage, kept
from tests.agent.little_world import a_profile, a_step
from tests.fleets import SMALL
from tests.running import RunningService, running
from tests.waiting import wait_until


@pytest.fixture
def forewarn() -> Iterator[RunningService]:
    """The service, whose only caller is web-0."""
    with running(SMALL, guest="web-0") as service:
        yield service


def url_of(service: RunningService) -> str:
    return f"http://127.0.0.1:{service.metadata_port}"


def restart(service: RunningService, agent: Kept) -> str:
    """Have the VM restarted, once the agent has asked; the event's id."""
    wait_until(lambda: agent.keeper.standing.good_at is not None, "the first answer")
    return service.post("/v1/vms/web-0/restart", {})["event"]["id"].upper()


def test_an_event_goes_its_whole_way(forewarn: RunningService, tmp_path: Path):
    stage = Stage()
    with kept(url_of(forewarn), tmp_path, stage, a_profile(a_step()), wait_seconds=30) as agent:
        event = restart(forewarn, agent)
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval", event)
        agent.wait_for(lambda case: case.started_at is not None, "Started", event)
        forewarn.advance(minutes=10)
        over = agent.wait_until_closed(event)

    assert stage.ran() == [f"{event} drain do", f"{event} drain undo"]
    assert over.ending is Ending.FINISHED


def test_a_lead_is_counted_on_the_platforms_clock(forewarn: RunningService, tmp_path: Path):
    stage = Stage()
    profile = a_profile(a_step(), lead_seconds=120, approval=Approval.NEVER)
    with kept(url_of(forewarn), tmp_path, stage, profile) as agent:
        event = restart(forewarn, agent)
        case = agent.wait_for(lambda _: True, "the event", event)
        early = list(stage.ran())
        forewarn.advance(seconds=(case.event.not_before - forewarn.now - timedelta(seconds=100)).total_seconds())
        wait_until(lambda: bool(stage.ran()), "the preparation")

    assert early == []
    assert stage.ran() == [f"{event} drain do"]


def test_an_event_that_is_cancelled_is_undone(forewarn: RunningService, tmp_path: Path):
    stage = Stage()
    profile = a_profile(a_step(), approval=Approval.NEVER)
    with kept(url_of(forewarn), tmp_path, stage, profile, wait_seconds=30) as agent:
        event = restart(forewarn, agent)
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation", event)
        forewarn.post(f"/v1/events/{event}/cancel")
        over = agent.wait_until_closed(event)

    assert over.ending is Ending.CANCELLED
    assert stage.ran() == [f"{event} drain do", f"{event} drain undo"]

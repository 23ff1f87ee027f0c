"""The poll loop against the real service: conditions, questions that are held, the virtual clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from forewarn.agent.clock import Clock
from forewarn.agent.endpoints import Endpoints
from forewarn.agent.http1 import Response
from forewarn.agent.metadata import EndpointError, Metadata
from forewarn.agent.names import Names
from forewarn.agent.settings import Settings
from tests.agent.looking import QUICK, STEADY, Looking, looking
from tests.fleets import SMALL
from tests.running import START, RunningService, running
from tests.waiting import wait_until

VM = "web-0"


@pytest.fixture
def forewarn() -> Iterator[RunningService]:
    """The service, whose only caller is web-0."""
    with running(SMALL, guest=VM) as service:
        yield service


class Stumbling(Metadata):
    """An endpoint that can be made to fail."""

    stumbles = 0  # how many exchanges fail

    def _exchange(self, *arguments: Any, **others: Any) -> Response:
        if self.stumbles:
            self.stumbles -= 1
            raise EndpointError("server_error", 500, "as a test has it")
        return super()._exchange(*arguments, **others)


def url_of(service: RunningService) -> str:
    return f"http://127.0.0.1:{service.metadata_port}"


def restart(service: RunningService, vm: str = VM) -> str:
    """Have a VM restarted; the id of the event, in capitals as guests see it."""
    return service.post(f"/v1/vms/{vm}/restart", {})["event"]["id"].upper()


def held(seen: Looking) -> None:
    """Wait until the endpoint holds a question."""
    wait_until(lambda: seen.watcher._is_held, "a question that is held")


def test_an_unchanged_document_is_asked_for_once(forewarn: RunningService, metadata_of):
    metadata = metadata_of(url_of(forewarn))

    first, second = metadata.get(), metadata.get()

    assert first.document is not None
    assert first.has_tag
    assert second.document is None


def test_how_long_an_answer_took_is_told_unless_it_may_have_been_held(forewarn: RunningService):
    with looking(url_of(forewarn), poll_seconds=60, wait_seconds=30) as seen:
        seen.wait_for_sightings(1)
        held(seen)
        restart(forewarn)
        seen.wait_for_sightings(2)

    assert seen.sightings[0].took_seconds is not None
    assert 0 < seen.sightings[0].took_seconds < 60
    assert seen.sightings[1].took_seconds is None


def test_a_change_wakes_a_question_that_is_held(forewarn: RunningService, figures):
    with looking(url_of(forewarn), poll_seconds=60, wait_seconds=30) as seen:
        seen.wait_for_sightings(1)
        held(seen)
        before = STEADY()
        event = restart(forewarn)
        seen.wait_until(lambda: seen.ids == [event], "the event")
        took = STEADY() - before

    figures(f"from the operator's request to the sighting: {took * 1000:.1f} ms")
    assert took < 25
    assert seen.troubles == []


def test_an_endpoint_that_holds_questions_is_asked_to_again_after_a_fault(forewarn: RunningService):
    told = Settings(endpoints=(url_of(forewarn),), **(QUICK | {"poll_seconds": 0.2, "wait_seconds": 1}))
    metadata = Stumbling(Endpoints(told.endpoints), told)
    seen = Looking(metadata, Clock(), told)
    seen.thread.start()
    try:
        held(seen)
        metadata.stumbles = 1
        seen.wait_for_troubles(1)
        seen.wait_for_more_sightings(2)
        held(seen)
    finally:
        seen.stop()

    assert seen.watcher._holds_from == 0


def test_a_question_that_is_held_is_broken_off_for_a_new_look(forewarn: RunningService):
    with looking(url_of(forewarn), poll_seconds=60, wait_seconds=30) as seen:
        seen.wait_for_sightings(1)
        held(seen)
        before = STEADY()
        seen.watcher.look_again()
        seen.wait_until(lambda: seen.last.is_anew, "the new look")
        took = STEADY() - before

    assert took < 25
    assert seen.troubles == []


def test_a_question_that_is_held_does_not_count_as_blindness(forewarn: RunningService):
    with looking(url_of(forewarn), poll_seconds=60, wait_seconds=30, blind_after_seconds=4) as seen:
        seen.wait_for_sightings(4)

    assert seen.troubles == []


def test_without_a_wish_to_wait_the_service_is_polled(forewarn: RunningService):
    with looking(url_of(forewarn), poll_seconds=0.25, wait_seconds=0) as seen:
        seen.wait_for_sightings(1)
        event = restart(forewarn)
        seen.wait_until(lambda: seen.ids == [event], "the event")

    assert seen.troubles == []


def test_the_services_virtual_clock_is_the_time(forewarn: RunningService):
    with looking(url_of(forewarn), wait_seconds=0, poll_seconds=0.25) as seen:
        seen.wait_for_sightings(1)
        at_first = seen.last.at
        forewarn.advance(hours=3)
        seen.wait_until(lambda: seen.last.at - START >= timedelta(hours=3), "the new time")

    assert abs(at_first - START) < timedelta(minutes=1)


def test_an_event_is_followed_from_its_notice_to_its_end(forewarn: RunningService):
    with looking(url_of(forewarn), wait_seconds=30) as seen:
        seen.wait_for_sightings(1)
        event = restart(forewarn)
        seen.wait_until(lambda: seen.ids == [event], "the event")
        forewarn.advance(minutes=15)
        seen.wait_until(lambda: any(each.has_started for each in seen.last.document.events), "its start")
        forewarn.advance(minutes=15)
        seen.wait_until(lambda: seen.ids == [], "its end")

    assert seen.troubles == []


def test_an_approval_starts_the_event(forewarn: RunningService, metadata_of):
    metadata = metadata_of(url_of(forewarn))
    metadata.get()
    event = restart(forewarn)

    metadata.approve(event)
    forewarn.advance(seconds=1)
    answer = metadata.get()

    assert answer.document is not None
    assert [(each.id, each.has_started) for each in answer.document.events] == [(event, True)]


def test_the_service_says_which_vm_this_is_and_events_name_it_so(forewarn: RunningService, metadata_of):
    metadata = metadata_of(url_of(forewarn))
    metadata.get()
    restart(forewarn)
    restart(forewarn, "web-1")

    names = Names(compute_name=metadata.compute_name())
    answer = metadata.get()

    assert answer.document is not None
    assert sorted(names.which(each.resources) for each in answer.document.events) == ["", VM]

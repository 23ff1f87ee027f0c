"""How soon the endpoint is asked again after it failed: often, within what Azure allows."""

from __future__ import annotations

import pytest

from forewarn.agent.clock import Clock
from forewarn.agent.endpoints import Endpoints
from forewarn.agent.metadata import EndpointError, Metadata
from forewarn.agent.settings import Settings
from forewarn.agent.watching import Watcher

NOWHERE = "http://127.0.0.1:1"


def pauses(kind: str, tries: int, poll_seconds: float = 1) -> list[float]:
    """The pauses after so many failures in a row."""
    settings = Settings(endpoints=(NOWHERE,), poll_seconds=poll_seconds)
    metadata = Metadata(Endpoints((NOWHERE,)), settings)
    watcher = Watcher(metadata, Clock(), settings, lambda _: None, lambda _: None, jitter=lambda: 1.0)
    return [watcher._note_failure(EndpointError(kind, 500, "a test")) for _ in range(tries)]


def test_after_a_failure_the_endpoint_is_asked_four_times_a_second_for_as_long_as_an_event_may_last():
    found = pauses("server", 70)

    assert found[:15] == [0.25] * 15
    assert sum(found[:15]) > 3, "an event may be there for 3 s only"
    assert (found[15], found[59], found[60]) == (1.0, 1.0, 2.0)


@pytest.mark.parametrize(("kind", "pause"), [("throttled", 1.0), ("gone", 0.5)])
def test_an_endpoint_that_asks_for_time_is_given_some(kind: str, pause: float):
    assert pauses(kind, 3) == [pause] * 3


@pytest.mark.parametrize("poll_seconds", [0.2, 0.3, 0.5, 1])
def test_in_haste_the_endpoint_is_asked_five_times_a_second_at_most(poll_seconds: float):
    assert min(pauses("server", 20, poll_seconds)) >= 0.2

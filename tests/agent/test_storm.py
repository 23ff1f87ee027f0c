"""An hour of faults at the endpoint: no crash, no false approval, no event missed that could be seen for 3 s.

For more: `python -m tests.agent.storm --seeds 0-99`.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.agent.storm.hour import run_hour
from tests.agent.storm.hours import ENDPOINT, Hours
from tests.agent.storm.planted import PLANTED, Planted

_LONG = pytest.mark.long


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=_LONG) for seed in range(10) if seed != 2)])
def test_an_hour_of_faults_costs_no_event_and_no_false_approval(seed: int, record_property):
    outcome = run_hour(seed)

    seen, events = outcome.counts["events seen"], outcome.counts["events"]
    record_property("figures", f"seed {seed}: {seen} of {events} events seen")
    assert outcome.problems == []
    assert outcome.counts["events seen"] > 20
    assert outcome.counts["approvals taken"] > 3


def test_a_seed_is_the_same_hour_every_time():
    assert run_hour(4, 120).trace == run_hour(4, 120).trace


@contextmanager
def _waiting(hours: Hours, name: str, **kind: socket.socket) -> Iterator[None]:
    """Somebody waits, on virtual time that does not pass."""
    thread = threading.Thread(target=hours.wait, args=(1.0,), kwargs=kind, name=name)
    thread.start()
    with hours._news:
        assert hours._news.wait_for(lambda: thread in {wait.thread for wait in hours._waits}, 10)
    try:
        yield
    finally:
        hours.close()
        thread.join(60)


def test_a_question_on_its_way_is_not_mistaken_for_one_whose_asker_has_left():
    hours = Hours()
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        left = stack.enter_context(socket.create_connection(listener.getsockname()))
        held = stack.enter_context(listener.accept()[0])
        asking = stack.enter_context(socket.create_connection(listener.getsockname()))
        arrived = stack.enter_context(listener.accept()[0])
        stack.enter_context(_waiting(hours, ENDPOINT, holds=held))  # nobody waits for its answer any more
        stack.enter_context(_waiting(hours, "watcher", answer_on=asking))

        assert len(hours._busy()) == 2  # the end of the one has not arrived, nor has the other question

        left.close()
        assert select.select([held], [], [], 10)[0]
        stack.enter_context(_waiting(hours, ENDPOINT, holds=arrived))
        assert hours._busy() == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of a bug that ends a thread
@pytest.mark.parametrize(
    "bug", [pytest.param(bug, id=bug.name, marks=[_LONG] if bug.seconds > 600 else []) for bug in PLANTED]
)
def test_a_planted_bug_is_caught(bug: Planted):
    with bug.mutation():
        outcome = run_hour(bug.seed, bug.seconds, **bug.settings)

    assert bug.law in {problem.partition(":")[0] for problem in outcome.problems}

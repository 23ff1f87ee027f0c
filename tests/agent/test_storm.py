"""An hour of faults at the endpoint: no crash, no false approval, no event missed that could be seen for 3 s.

For more: `python -m tests.agent.storm --seeds 0-99`.
"""

from __future__ import annotations

import pytest

from tests.agent.storm.hour import run_hour
from tests.agent.storm.planted import PLANTED, Planted

_LONG = pytest.mark.long


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=_LONG) for seed in range(3, 10))])
def test_an_hour_of_faults_costs_no_event_and_no_false_approval(seed: int, figures):
    outcome = run_hour(seed)

    figures(f"seed {seed}: {outcome.counts['events seen']} of {outcome.counts['events']} events seen")
    assert outcome.problems == []
    assert outcome.counts["events seen"] > 20
    assert outcome.counts["approvals taken"] > 3


def test_a_seed_is_the_same_hour_every_time():
    assert run_hour(4, 300).trace == run_hour(4, 300).trace


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of a bug that ends a thread
@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught(bug: Planted):
    with bug.mutation():
        outcome = run_hour(bug.seed, bug.seconds, **bug.settings)

    assert bug.law in {problem.partition(":")[0] for problem in outcome.problems}

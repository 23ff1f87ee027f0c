"""Faults of the engine under the laws: what they break is flagged, and excused on their own event alone."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest

from forewarn.core.event import Event
from forewarn.core.fault import Fault, FaultRule
from tests.simulation.many import run_seed

EARLY = FaultRule(Fault.EARLY_START, rate=0.3, seed=1, options={"seconds": 120})
SHORT = FaultRule(Fault.SHORTENED_NOTICE, rate=0.3, seed=2, options={"seconds": 20})
SEEDS = range(4)
COUNTED = ("started early by a fault", "had its notice shortened by a fault")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_laws_excuse_what_has_the_mark_of_a_fault(seed: int):
    outcome = run_seed(seed, faults=[EARLY, SHORT])

    assert outcome.problem is None
    assert all(outcome.counts[what] for what in COUNTED)


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [(EARLY, "law 1: .* before its NotBefore, unapproved|law 1: .* was promised"), (SHORT, "law 2: .* of notice")],
    ids=["early start", "shortened notice"],
)
def test_the_same_without_the_mark_is_flagged(rule: FaultRule, complaint: str):
    with patch.object(Event, "faults", ()):
        problems = [run_seed(seed, faults=[rule]).problem for seed in SEEDS]

    assert any(problems)
    for problem in filter(None, problems):
        assert re.search(complaint, problem), problem


@pytest.mark.parametrize(
    ("planted", "rule", "law"),
    [("starts a minute early", EARLY, 1), ("promises a tenth too little", SHORT, 2)],
)
def test_the_mark_of_one_event_excuses_no_other(planted: str, rule: FaultRule, law: int):
    problems = [run_seed(seed, planted, faults=[rule]).problem for seed in SEEDS]

    assert any(problems)
    assert all(problem.startswith(f"law {law}:") for problem in problems if problem)

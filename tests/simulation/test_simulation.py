"""The laws hold over 200 simulated days with crashes and faults, and each checker catches its planted bug."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.simulation.counting import HARD_THINGS
from tests.simulation.laws import LAWS
from tests.simulation.many import run_seed, run_seeds
from tests.simulation.planted import PLANTED

SEEDS = range(200)
PLANTED_SEEDS = range(50)


def test_the_laws_hold_over_two_hundred_days_with_crashes_and_every_hard_thing_happens(figures):
    outcomes = list(run_seeds(SEEDS))

    counts: Counter[str] = Counter()
    for outcome in outcomes:
        counts.update(outcome.counts)
    figures("\n".join(f"{counts[what]:8d}  {what}" for what in HARD_THINGS))
    failed = [
        f"seed {outcome.seed}: {outcome.problem}\n{outcome.replay}" for outcome in outcomes if outcome.problem
    ]
    assert not failed, "\n".join(failed)
    assert [what for what in HARD_THINGS if not counts[what]] == []


def test_a_seed_repeats_exactly():
    first, second = run_seed(3), run_seed(3)

    assert first == second


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: f"law {planted.law}: {planted.name}")
def test_a_planted_bug_is_caught_by_the_checker_of_its_law(planted):
    for seed in PLANTED_SEEDS:
        problem = run_seed(seed, planted.name).problem
        if problem is not None:
            break

    assert problem is not None, f"{planted.name} was not caught in {len(PLANTED_SEEDS)} seeds"
    assert problem.startswith(f"law {planted.law}:"), problem
    assert re.search(planted.complaint, problem)


def test_every_law_has_a_planted_bug():
    assert {planted.law for planted in PLANTED} == {law.number for law in LAWS} == set(range(1, 14))

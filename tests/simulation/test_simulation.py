"""The laws hold over many simulated days with crashes and faults, and each checker catches its planted bug."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.simulation.counting import HARD_THINGS
from tests.simulation.laws import LAWS
from tests.simulation.many import run_seed, run_seeds
from tests.simulation.planted import PLANTED

# When they were chosen, every hard thing happened in two of them at least. Choose anew when make test gets slow.
RICH_SEEDS = (29, 35, 43, 51, 57, 88, 148, 154, 168, 172, 178, 196)
FEW, MANY = 25, 200
PLANTED_SEEDS = range(50)
SHOWS_AT = {  # where none of the first seeds shows a bug, one that does is tried before them
    "forgets that a move was never shown": 14,
    "forgets who lands on a host": 37,
    "overlooks a lost reply": 12,
    "forgets who waits for a host": 9,
    "starts before a domain has recovered": 38,
    "works on every host at once": 21,
    "pauses without calling anything off": 7,
    "forgets the window": 3,
}


def missing(counts: Counter[str]) -> list[str]:
    return [what for what in HARD_THINGS if not counts[what]]


def assert_laws_hold(batches: Iterable[Iterable[int]], figures) -> None:
    """Run batches of days until every hard thing has happened; the first batch is always run."""
    counts: Counter[str] = Counter()
    failed = []
    for batch in batches:
        for outcome in run_seeds(batch):
            counts.update(outcome.counts)
            if outcome.problem:
                failed.append(f"seed {outcome.seed}: {outcome.problem}\n{outcome.replay}")
        if failed or not missing(counts):
            break
    figures("\n".join(f"{counts[what]:8d}  {what}" for what in HARD_THINGS))
    assert not failed, "\n".join(failed)
    assert missing(counts) == []


def test_the_laws_hold_over_twenty_five_days_with_crashes_and_every_hard_thing_happens(figures):
    first = sorted({*RICH_SEEDS, *range(FEW - len(RICH_SEEDS))})
    others = [seed for seed in range(MANY) if seed not in first]

    assert_laws_hold([first, *(others[start : start + FEW] for start in range(0, len(others), FEW))], figures)


@pytest.mark.long
def test_the_laws_hold_over_two_hundred_days_with_crashes_and_every_hard_thing_happens(figures):
    assert_laws_hold([range(MANY)], figures)


def test_a_seed_repeats_exactly():
    first, second = run_seed(3), run_seed(3)

    assert first == second


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: f"law {planted.law}: {planted.name}")
def test_a_planted_bug_is_caught_by_the_checker_of_its_law(planted):
    for seed in dict.fromkeys([SHOWS_AT.get(planted.name, 0), *PLANTED_SEEDS]):
        problem = run_seed(seed, planted.name).problem
        if problem is not None:
            break

    assert problem is not None, f"{planted.name} was not caught in {len(PLANTED_SEEDS)} seeds"
    assert problem.startswith(f"law {planted.law}:"), problem
    assert re.search(planted.complaint, problem)


def test_every_hint_names_a_planted_bug():
    assert set(SHOWS_AT) <= {planted.name for planted in PLANTED}


def test_every_law_has_a_planted_bug():
    assert {planted.law for planted in PLANTED} == {law.number for law in LAWS} == set(range(1, 14))

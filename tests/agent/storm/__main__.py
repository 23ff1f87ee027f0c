"""Hours of storm as a command: python -m tests.agent.storm --seeds 0-9."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from forewarn.agent.clock import Clock
from tests.agent.storm.hour import Outcome, run_hour
from tests.agent.storm.planted import PLANTED
from tests.agent.storm.weather import FAULTS


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def run_seed(seed: int, planted: str | None = None) -> Outcome:
    """One seed, perhaps with a bug planted."""
    bug = next((each for each in PLANTED if each.name == planted), None)
    if bug is None:
        return run_hour(seed)
    with bug.mutation():
        return run_hour(seed, **bug.settings)


def main() -> int:
    """Run the seeds; 1 when one of them broke a law, or a fault was never met."""
    parser = argparse.ArgumentParser(prog="python -m tests.agent.storm", description=__doc__)
    parser.add_argument("--seeds", type=_seeds, default=_seeds("0-9"), help="one seed or a range, like 0-99")
    parser.add_argument("--jobs", type=int, help="processes (default: one per core)")
    parser.add_argument("--planted", choices=[each.name for each in PLANTED], help="with this bug planted")
    given = parser.parse_args()
    steady = Clock().monotonic
    began_at, failures, counts = steady(), 0, Counter[str]()
    with ProcessPoolExecutor(given.jobs) as pool:
        for outcome in pool.map(run_seed, given.seeds, [given.planted] * len(given.seeds)):
            counts += outcome.counts
            failures += bool(outcome.problems)
            for problem in outcome.problems:
                print(f"seed {outcome.seed}: {problem}", flush=True)
    print(f"{len(given.seeds)} hours of storm in {steady() - began_at:.1f} s, {failures} failed")
    for what, count in sorted(counts.items()):
        print(f"{count:8d}  {what}")
    unmet = [kind for kind in FAULTS if not counts[f"answer: {kind}"]]
    if unmet:
        print(f"never happened: {', '.join(unmet)}")
    return 1 if failures or unmet else 0


if __name__ == "__main__":
    sys.exit(main())

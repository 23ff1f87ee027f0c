"""The simulation as a command: many seeds on all cores, and counts of the hard things that happened."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.simulation.counting import HARD_THINGS
from tests.simulation.many import Outcome, run_seeds
from tests.simulation.planted import PLANTED


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> int:
    """Run the seeds; 1 when one of them broke a law or a hard thing never happened."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=_seeds, default=_seeds("0-199"), help="one seed or a range, like 0-999")
    parser.add_argument("--jobs", type=int, default=0, help="processes (default: one per core)")
    parser.add_argument("--planted", choices=[planted.name for planted in PLANTED], help="with this bug planted")
    arguments = parser.parse_args()
    began = time.monotonic()
    failures: list[Outcome] = []
    counts: Counter[str] = Counter()
    for done, outcome in enumerate(run_seeds(arguments.seeds, arguments.jobs, arguments.planted), 1):
        counts.update(outcome.counts)
        if outcome.problem is not None:
            failures.append(outcome)
            print(f"\nseed {outcome.seed}: {outcome.problem}\n  {outcome.replay}", flush=True)
        if sys.stderr.isatty():
            print(f"\r{done} of {len(arguments.seeds)} seeds", end="", file=sys.stderr, flush=True)
    print(f"\n{len(arguments.seeds)} simulated days in {time.monotonic() - began:.1f} s, {len(failures)} failed")
    for what, count in sorted(counts.items()):
        print(f"{count:8d}  {what}{'  <- hard' if what in HARD_THINGS else ''}")
    missing = [what for what in HARD_THINGS if not counts[what]]
    if missing:
        print(f"never happened: {', '.join(missing)}")
    return 1 if failures or missing else 0


if __name__ == "__main__":
    sys.exit(main())

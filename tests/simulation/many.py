"""Many seeds at once, a process per core."""

from __future__ import annotations

import logging
import multiprocessing
import os
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import structlog

from tests.simulation.planted import PLANTED
from tests.simulation.run import Simulation
from tests.simulation.witness import LawBroken

# What a run has to have met, or it has shown too little.
HARD_THINGS = (
    "action without an outcome",
    "approval in the last second",
    "approved beforehand",
    "approved twice",
    "cancelled",
    "clock stepped ahead",
    "clock stepped back",
    "crash after commit",
    "crash after the driver began",
    "crash before commit",
    "crash between commit and driver",
    "driver could not be asked",
    "driver refused to begin",
    "host failed under guests",
    "landed on a host under notice",
    "lost reply of a commit",
    "lost reply of a driver",
    "lost reply to a guest",
    "one action at a time held",
    "ordered: fails",
    "ordered: fails down",
    "ordered: hangs",
    "preempt overtook",
    "ran at once and silently",
    "refused: Busy",
    "refused: LimitReached",
    "refused: NoticeTooShort",
    "scope off after silence",
    "scope on with events before",
    "shared-host gate held",
    "started while nobody was up",
    "terminates wait for each other",
    "undecidable attempt",
    "update-domain hold",
    "wrong approval refused",
)


@dataclass(frozen=True)
class Outcome:
    """What became of one seed."""

    seed: int
    counts: Counter[str]
    problem: str | None = None
    planted: str | None = None

    @property
    def replay(self) -> str:
        """The command that does it again."""
        bug = f' --planted "{self.planted}"' if self.planted else ""
        return f"replay it with: .venv/bin/python -m tests.simulation --seeds {self.seed}{bug}"


def run_seed(seed: int, planted: str | None = None) -> Outcome:
    """One simulated day and its end."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    bug = next((each for each in PLANTED if each.name == planted), None)
    simulation = Simulation(seed)
    try:
        with bug() if bug else nullcontext():
            simulation.run()
    except LawBroken as broken:
        return Outcome(seed, simulation.counts, str(broken), planted)
    except Exception:  # noqa: BLE001 - an error is a finding too
        return Outcome(seed, simulation.counts, traceback.format_exc(), planted)
    finally:
        simulation.close()
    return Outcome(seed, simulation.counts)


def run_seeds(seeds: Iterable[int], jobs: int = 0, planted: str | None = None) -> Iterator[Outcome]:
    """The outcome of each seed, in whatever order they end."""
    jobs = jobs or os.cpu_count() or 1
    work = partial(run_seed, planted=planted)
    if jobs == 1:
        yield from map(work, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(work, seeds, chunksize=2)

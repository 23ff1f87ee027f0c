"""Many seeds at once, a process per core."""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import structlog

from forewarn.core.fault import FaultRule
from tests.simulation.planted import PLANTED
from tests.simulation.run import Simulation
from tests.simulation.witness import LawBroken
from tests.structured_logs import structlog_with


class Stumbled(BaseException):
    """The plane met a bug of its own, told it and went on; here it does not."""


_BUGS = {"operation could not be gone on with", "an observer failed"}


def _listen(_logger: object, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """What the plane logs: nothing is written, and a bug that it reports is a finding."""
    if line["event"] in _BUGS:
        problem = line.get("exc_info")
        cause = problem if isinstance(problem, BaseException) else sys.exc_info()[1]
        raise Stumbled(line["event"]) from cause
    raise structlog.DropEvent


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


def run_seed(seed: int, planted: str | None = None, faults: Sequence[FaultRule] = ()) -> Outcome:
    """One simulated day and its end."""
    quiet = structlog.make_filtering_bound_logger(logging.ERROR)
    bug = next((each for each in PLANTED if each.name == planted), None)
    simulation = Simulation(seed, faults)
    try:
        with structlog_with(processors=[_listen], wrapper_class=quiet), bug() if bug else nullcontext():
            simulation.run()
    except LawBroken as broken:
        return Outcome(seed, simulation.counts, str(broken), planted)
    except (Exception, Stumbled):  # noqa: BLE001 - an error is a finding too
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

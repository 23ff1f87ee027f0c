"""A year of a fleet in one go: a rollout a month, a degraded host a day, and what became of it all.

python -m tests.rollouts.year [--hosts 1000] [--days 365]
"""

from __future__ import annotations

import argparse
import logging
import random
import resource
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import structlog

from forewarn.control.commands.hosts import recover_host
from forewarn.control.commit import Accepted
from forewarn.core.event import Event
from forewarn.core.notice import Limits
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.rollout import Rollout
from forewarn.core.terms import Condition, Kind
from forewarn.core.world import Changes
from tests.rollouts.bench import RolloutBench

VMS_PER_HOST = 20
_VMS_PER_SET = 25
_DOMAINS = 5
_DAYS_OF_REPAIR = 3
_MONTH = 30


def fleet(hosts: int) -> dict[str, Any]:
    """Sets of 25 VMs over five update domains, each domain on hosts of its own; three zones."""
    names = [f"host-{n}" for n in range(hosts)]
    of_domain = [names[domain::_DOMAINS] for domain in range(_DOMAINS)]
    vms = []
    for number in range(hosts * VMS_PER_HOST):
        set_number, domain = divmod(number, _DOMAINS)
        there = of_domain[domain]
        vms.append(
            {
                "name": f"vm-{number}",
                "host": there[set_number % len(there)],
                "availability_set": f"set-{number // _VMS_PER_SET}",
                "update_domain": domain,
            }
        )
    sets = [{"name": f"set-{n}"} for n in range(-(-len(vms) // _VMS_PER_SET))]
    return {"hosts": [{"name": name} for name in names], "availability_sets": sets, "vms": vms}


@dataclass
class Summary:
    """What a year was like."""

    rollouts: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    degraded: int = 0
    short_notice: int = 0  # events that started before their time without an approval
    two_domains_at_once: int = 0

    def in_words(self) -> list[str]:
        """For whoever waits for it."""
        return [
            f"rollouts: {_words(self.rollouts)}",
            f"operations: {_words(self.operations)}",
            f"events: {_words(self.events)}",
            f"degraded hosts: {self.degraded}",
            f"started too early: {self.short_notice}, two update domains at once: {self.two_domains_at_once}",
        ]


def _words(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


class Year:
    """A fleet, its guests, and what happens to it."""

    def __init__(self, hosts: int, seed: int = 1) -> None:
        self.bench = RolloutBench(fleet(hosts), Limits(silence=timedelta(days=1000)))
        self.summary = Summary()
        self._dice = random.Random(seed)
        self._repairs: list[tuple[int, str]] = []  # the day, and the host
        for number in range(0, hosts * VMS_PER_HOST // _VMS_PER_SET, 10):  # every tenth set has guests that ask
            self.bench.turn_on(f"vm-{number * _VMS_PER_SET}")
        self.bench.plane.committed.subscribe(self._saw)

    def pass_by(self, days: int) -> None:
        """Let that many days pass."""
        for day in range(days):
            if day % _MONTH == 0:
                kind = Kind.REBOOT if day % (3 * _MONTH) == 0 else Kind.FREEZE
                self.bench.roll(kind, max_parallel=50, max_failures=100)
            self._degrade(day)
            self.bench.advance(days=1)
        self.bench.advance(days=1)

    def _degrade(self, day: int) -> None:
        world = self.bench.plane.world
        well = [host.name for host in world.hosts.values() if host.condition is Condition.UP]
        host = self._dice.choice(well)
        accepted = self.bench.degrade(host, minutes=30)
        assert isinstance(accepted, Accepted), accepted
        self.summary.degraded += 1
        self._repairs.append((day, host))
        while self._repairs and self._repairs[0][0] <= day - _DAYS_OF_REPAIR:
            recover_host(self.bench.plane, self._repairs.pop(0)[1], "operator")

    def _saw(self, changes: Changes) -> None:
        for entity in changes.entities:
            match entity:
                case Rollout(ended_at=ended) if ended is not None:
                    self.summary.rollouts[entity.state] += 1
                case Operation() if not entity.phase.is_open:
                    self.summary.operations[f"{entity.cause} {entity.phase}"] += 1
                case Event(phase=Phase.STARTED) if entity.version == changes.number:
                    self._saw_start(entity)
                case Event() if not entity.phase.is_open:
                    self.summary.events[f"{entity.kind} {entity.phase}"] += 1
                case _:
                    pass

    def _saw_start(self, event: Event) -> None:
        started = event.started_at
        if started is not None and not event.approvals and started < event.not_before:
            self.summary.short_notice += 1
        set_name = self.bench.vm(event.resources[0]).set_name or ""
        others = {
            each.update_domain
            for each in self.bench.plane.world.events_in(event.scope)
            if each.phase is Phase.STARTED and each.update_domain != event.update_domain
        }
        if others and set_name:
            self.summary.two_domains_at_once += 1


def main() -> int:
    """Run it, and tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.rollouts.year", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--days", type=int, default=365)
    arguments = parser.parse_args()
    quiet = structlog.make_filtering_bound_logger(logging.WARNING)
    structlog.configure(wrapper_class=quiet, cache_logger_on_first_use=True)
    began = time.process_time()
    year = Year(arguments.hosts)
    vms, seconds = arguments.hosts * VMS_PER_HOST, time.process_time() - began
    print(f"{arguments.hosts} hosts, {vms} VMs: {seconds:.1f} s to set up")
    began, wall = time.process_time(), time.monotonic()
    year.pass_by(arguments.days)
    seconds, wall = time.process_time() - began, time.monotonic() - wall
    for line in year.summary.in_words():
        print(line)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{arguments.days} days in {seconds:.1f} s of one core ({wall:.1f} s by the clock), {memory} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

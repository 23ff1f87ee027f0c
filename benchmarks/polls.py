"""Server CPU per poll against nginx `return 200`, in the same run: keep-alive, and a connection each.

    make bench                      (or: .venv/bin/python -m benchmarks.polls --rounds 5 --seconds 3)

The poll goes through everything that a guest's poll goes through: who is calling, the version check, the poll
ledger and the rate limiter (its limit too high to be reached). Server CPU is the processes' own user and system
time; the load comes from wrk on whatever core is left. The run fails unless every answer was 200.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.parts import ForewarnServer, NginxServer, Server, load

FLEETS = (100, 10_000, 100_000)
MOST_KEEP_ALIVE = 1.25
MOST_CONNECTION_EACH = 1.7
MOST_SPREAD = 0.10


def measure(servers: dict[str, Server], seconds: float, rounds: int, *, close: bool) -> dict[str, float]:
    """Median CPU microseconds per request of each server; they take turns, so that noise hits all."""
    samples: dict[str, list[float]] = {name: [] for name in servers}
    for server in servers.values():
        load(server, 1.0, close=close)
    for _ in range(rounds):
        for name, server in servers.items():
            samples[name].append(load(server, seconds, close=close))
    return {name: statistics.median(values) for name, values in samples.items()}


def report(title: str, figures: dict[str, float], most: float) -> tuple[dict[str, float], bool]:
    """Print a table; the ratios to nginx, and whether they are within bounds."""
    base = figures["nginx"]
    ratios = {name: value / base for name, value in figures.items() if name != "nginx"}
    print(f"\n{title}")
    print(f"  {'server':<28}{'CPU us/request':>16}{'to nginx':>10}")
    for name, value in figures.items():
        print(f"  {name:<28}{value:>16.2f}{value / base:>10.2f}")
    first = next(iter(ratios))
    spread = max(abs(ratio / ratios[first] - 1) for ratio in ratios.values())
    print(f"  at most {most}: {'yes' if max(ratios.values()) <= most else 'NO'}", end="; ")
    print(f"the same for all fleets within {spread:.1%} (at most {MOST_SPREAD:.0%})")
    return ratios, max(ratios.values()) <= most and spread <= MOST_SPREAD


def main() -> int:
    """Run it all; 1 when a bound is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.polls", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one round per server")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--fleets", type=int, nargs="+", default=list(FLEETS))
    parser.add_argument("--json", action="store_true", help="print the ratios as JSON at the end")
    arguments = parser.parse_args()
    results: dict[str, dict[str, float]] = {}
    is_good = True
    with tempfile.TemporaryDirectory() as directory:
        servers: dict[str, Server] = {"nginx": NginxServer(Path(directory))}
        for size in arguments.fleets:
            servers[f"forewarn, {size:,} VMs"] = ForewarnServer(Path(directory), size)
        try:
            for server in servers.values():
                server.start()
            runs: list[tuple[str, bool, float, Callable[[], None] | None]] = [
                ("keep-alive, 64 connections", False, MOST_KEEP_ALIVE, None),
                ("a connection each", True, MOST_CONNECTION_EACH, None),
            ]
            for title, close, most, _ in runs:
                figures = measure(servers, arguments.seconds, arguments.rounds, close=close)
                results[title], within = report(title, figures, most)
                is_good &= within
        finally:
            for server in servers.values():
                server.stop()
    if arguments.json:
        print(json.dumps(results))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())

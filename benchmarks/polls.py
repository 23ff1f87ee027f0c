"""Server CPU per poll against nginx `return 200`, in the same run: keep-alive, and a connection each.

    make bench                      (or: .venv/bin/python -m benchmarks.polls --rounds 15 --seconds 1)

The poll goes through everything that a guest's poll goes through: who is calling, the version check, the poll
ledger and the rate limiter (its limit too high to be reached). Server CPU is the processes' own user and system
time; the load comes from wrk on whatever core is left. The servers take turns, each round is compared within
itself, and the median of the rounds counts. The run fails unless every answer was 200.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.parts import ForewarnServer, NginxServer, Server, load, tag_of

FLEETS = (100, 10_000, 100_000)
MODES = (("keep-alive, 64 connections", (), 1.25, 1.1), ("a connection each", ("Connection: close",), 1.7, 1.4))
MOST_SPREAD = 0.10
_VARYING = """
local count = 0
request = function()
  count = count + 1
  wrk.headers["X-Request-Id"] = tostring(count)
  return wrk.format()
end
"""

Rounds = list[dict[str, float]]
Load = Callable[[], float]


def take_turns(loads: dict[str, Load], rounds: int) -> Rounds:
    """What each costs, round by round."""
    for each in loads.values():
        each()
    names = list(loads)
    found: Rounds = []
    for turn in range(rounds):  # everybody goes first, second, ... in turn: the place in a round matters
        order = names[turn % len(names) :] + names[: turn % len(names)]
        took = {name: loads[name]() for name in order}
        found.append({name: took[name] for name in names})
    return found


def other_polls(nginx: Server, forewarn: Server, seconds: int, script: Path) -> dict[str, Load]:
    """Polls that differ from each other or name a tag: no bound, but to be known."""
    script.write_text(_VARYING)
    condition = f"If-None-Match: {tag_of(forewarn)}"
    return {
        "nginx": partial(load, nginx, seconds),
        "unchanged since, 304": partial(load, forewarn, seconds, condition),
        "changed since, 200": partial(load, forewarn, seconds, 'If-None-Match: "another"'),
        "each with a header of its own": partial(load, forewarn, seconds, script=script),
    }


def ratio(rounds: Rounds, name: str, base: str) -> float:
    """How much one costs compared with another: the median of what each round says."""
    return statistics.median(each[name] / each[base] for each in rounds)


def show(title: str, rounds: Rounds) -> dict[str, float]:
    """Print a table; the ratios to nginx."""
    ratios = {name: ratio(rounds, name, "nginx") for name in rounds[0] if name != "nginx"}
    print(f"\n{title}: {len(rounds)} rounds")
    print(f"  {'':<30}{'CPU us/request':>16}{'to nginx':>10}")
    for name in rounds[0]:
        median = statistics.median(each[name] for each in rounds)
        print(f"  {name:<30}{median:>16.2f}{ratios.get(name, 1.0):>10.2f}")
    return ratios


def report(title: str, rounds: Rounds, most: float, aim: float) -> tuple[dict[str, float], bool]:
    """Print a table; the ratios to nginx, and whether they are within bounds."""
    ratios = show(title, rounds)
    spread = max(ratio(rounds, one, other) for one in ratios for other in ratios) - 1
    worst = max(ratios.values())
    print(f"  at most {most}: {'yes' if worst <= most else 'NO'}; aim {aim}: {'yes' if worst <= aim else 'no'}")
    is_even = spread <= MOST_SPREAD
    print(f"  fleets differ by {spread:.1%}, at most {MOST_SPREAD:.0%}: {'yes' if is_even else 'NO'}")
    return ratios, worst <= most and is_even


def main() -> int:
    """Run it all; 1 when a bound is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.polls", description=__doc__)
    parser.add_argument("--seconds", type=int, default=1, help="length of one round per server")
    parser.add_argument("--rounds", type=int, default=24)
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
            for name, server in servers.items():
                print(f"starting {name} ...", file=sys.stderr)
                server.start()
            for title, headers, most, aim in MODES:
                loads = {
                    name: partial(load, server, arguments.seconds, *headers) for name, server in servers.items()
                }
                results[title], is_within = report(title, take_turns(loads, arguments.rounds), most, aim)
                is_good &= is_within
            first = list(servers.values())[1]
            others = other_polls(servers["nginx"], first, arguments.seconds, Path(directory) / "varying.lua")
            results["other polls"] = show("other polls, keep-alive", take_turns(others, arguments.rounds))
        finally:
            for server in servers.values():
                server.stop()
    if arguments.json:
        print(json.dumps(results))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())

"""A preview for a fleet of ten thousand hosts, whose VMs lie about at random: the worst there is for waves.

python -m tests.rollouts.preview [--hosts 10000]
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from typing import Any

import msgspec

from forewarn.core.terms import Kind
from forewarn.wire.rollouts import preview_view
from tests.rollouts.bench import RolloutBench

_VMS_PER_HOST = 20
_VMS_PER_SET = 25


def fleet(hosts: int) -> dict[str, Any]:
    """Sets of 25 VMs over five update domains, each VM on any host."""
    dice = random.Random(1)
    vms = [
        {
            "name": f"vm-{n}",
            "host": f"host-{dice.randrange(hosts)}",
            "availability_set": f"set-{n // _VMS_PER_SET}",
            "update_domain": n % 5,
        }
        for n in range(hosts * _VMS_PER_HOST)
    ]
    return {
        "hosts": [{"name": f"host-{n}", "zone": str(n % 3)} for n in range(hosts)],
        "availability_sets": [{"name": f"set-{n}", "spread": False} for n in range(len(vms) // _VMS_PER_SET)],
        "vms": vms,
    }


def main() -> int:
    """Run it, and tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.rollouts.preview", description=__doc__)
    parser.add_argument("--hosts", type=int, default=10_000)
    hosts = parser.parse_args().hosts
    bench = RolloutBench(fleet(hosts))
    began = time.process_time()
    plan = bench.preview(Kind.REBOOT, max_parallel=100)
    answer = msgspec.json.encode(preview_view(plan))
    seconds = time.process_time() - began
    print(f"{hosts} hosts, {hosts * _VMS_PER_HOST} VMs in {plan.waves} waves: {len(answer)} bytes to read")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"previewed in {seconds:.1f} s of one core, at most {memory} MB with the fleet and its store")
    return 0


if __name__ == "__main__":
    sys.exit(main())

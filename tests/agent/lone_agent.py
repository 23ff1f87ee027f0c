"""A process that runs one attempt at a step and can be killed in the middle of it, like an agent.

python -m tests.agent.lone_agent PLACE KIND OPTIONS-AS-JSON
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forewarn.agent.handlers import find
from tests.agent.tasks import attempt

_ROOT = Path(__file__).parent.parent.parent


@contextmanager
def lone_agent(place: Path, kind: str, options: Mapping[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    """Such a process; killed at the end, if it was not before."""
    arguments = [sys.executable, "-m", "tests.agent.lone_agent", str(place), kind, json.dumps(options)]
    with subprocess.Popen(arguments, cwd=_ROOT, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


if __name__ == "__main__":
    result = find(sys.argv[2]).run(attempt(Path(sys.argv[1]), json.loads(sys.argv[3]), seconds=60))
    print(json.dumps([result.is_done, result.note]))

"""The reference pages, written from the code.

    .venv/bin/python -m tools.reference             writes all of them; `make docs` does this
    .venv/bin/python -m tools.reference cli rest    writes these two
    .venv/bin/python -m tools.reference --check     writes nothing; exits 1 if a page is not what the code says

A page is a function from the text that is there to the text that should be. The page of conformance is written by
the tests that it reports on, in a process of their own.
"""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tools.pages import (
    agent,
    arm,
    cli,
    faults,
    fleet_file,
    metadata,
    metrics,
    rest,
    scenario,
    settings,
    state_diagram,
)

ROOT = Path(__file__).parent.parent
COMMAND = ".venv/bin/python -m tools.reference"
_CONFORMANCE = "conformance"
_LONGEST_DIFFERENCE = 20


class Page(NamedTuple):
    """A generated page, or a page with a generated part."""

    file: str
    renew: Callable[[str], str]

    def read(self, root: Path = ROOT) -> str:
        """The text that is there; nothing where there is none."""
        path = root / self.file
        return path.read_text(encoding="utf-8") if path.exists() else ""


def _whole(file: str, write: Callable[[], str]) -> Page:
    return Page(f"docs/reference/{file}", lambda _there: write())


PAGES = {
    "cli": _whole("cli.md", cli.write),
    "settings": _whole("settings.md", settings.write),
    "agent": _whole("agent.md", agent.write),
    "rest": _whole("rest.md", rest.write),
    "arm": _whole("arm.md", arm.write),
    "metrics": _whole("metrics.md", metrics.write),
    "faults": _whole("faults.md", faults.write),
    "fleet-file": _whole("fleet-file.md", fleet_file.write),
    "scenario": _whole("scenario.md", scenario.write),
    "metadata": _whole("metadata.md", metadata.write),
    "state-diagram": Page("ARCHITECTURE.md", state_diagram.fill),
}


def find_stale(name: str, root: Path = ROOT) -> str:
    """How a page differs from what the code says, and how to renew it; nothing where it does not."""
    page = PAGES[name]
    there = page.read(root)
    try:
        renewed = page.renew(there)
    except state_diagram.NoPlace as problem:
        return f"{page.file}: {problem}"
    if there == renewed:
        return ""
    lines = difflib.unified_diff(there.splitlines(), renewed.splitlines(), page.file, "as the code says", n=1)
    difference = "\n".join(islice(lines, _LONGEST_DIFFERENCE))
    return f"{difference}\n{page.file} is not what the code says. Renew it: make docs, or {COMMAND} {name}"


def write(name: str, root: Path = ROOT) -> bool:
    """Renew a page; whether that changed anything."""
    page = PAGES[name]
    there = page.read(root)
    renewed = page.renew(there)
    if there == renewed:
        return False
    path = root / page.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(renewed, encoding="utf-8")
    return True


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; show which page is stale")
    known = [*PAGES, _CONFORMANCE]
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"all, or some of: {', '.join(known)}")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.pages if name not in known]:
        parser.error(f"there is no page {unknown[0]}; there are {', '.join(known)}")
    wanted = given.pages or known
    problems: list[str] = []
    for name in (name for name in PAGES if name in wanted):
        if given.check:
            problems += filter(None, [find_stale(name, root)])
            continue
        try:
            print(f"{'wrote' if write(name, root) else 'as it was:'} {PAGES[name].file}")
        except state_diagram.NoPlace as problem:
            problems.append(f"{PAGES[name].file}: {problem}")
    print("".join(f"{problem}\n" for problem in problems), end="", file=sys.stderr)
    ending = _tabulate_conformance(is_check=given.check) if _CONFORMANCE in wanted else 0
    return 1 if problems or ending else 0


def _tabulate_conformance(*, is_check: bool) -> int:
    command = [sys.executable, "-m", "tests.conformance.table", *(["--check"] if is_check else [])]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

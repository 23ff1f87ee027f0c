"""Where this machine has another version of Python.

    python3 tools/pythons.py 3.9        prints the path, or says how to get that version

It looks under pyenv's directory first, the latest patch release before others, and then in the PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


class MissingPython(Exception):
    """A version that this machine does not have. The message says how to get it."""


def find_python(version: str) -> Path:
    """The interpreter of a version such as 3.9, which was started once; `MissingPython` if there is none."""
    for path in _candidates(version):
        code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
        ran = subprocess.run([str(path), "-c", code], capture_output=True, text=True, check=False)
        if ran.stdout.strip() == version:
            return path
    raise MissingPython(
        f"The agent's tests need Python {version}, and this machine has none. "
        f"Install it with pyenv (pyenv install {version}), or put python{version} into the PATH."
    )


def _candidates(version: str) -> Iterator[Path]:
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    releases = [each for each in root.glob(f"versions/{version}.*") if re.fullmatch(r"[\d.]+", each.name)]
    for release in sorted(releases, key=lambda each: [int(part) for part in each.name.split(".")], reverse=True):
        yield release / "bin" / f"python{version}"
    found = shutil.which(f"python{version}")
    if found:
        yield Path(found)


def main(arguments: list[str]) -> int:
    """Print the path of the version that is named."""
    if len(arguments) != 1:
        print("Name a version: python3 tools/pythons.py 3.9", file=sys.stderr)
        return 2
    try:
        print(find_python(arguments[0]))
    except MissingPython as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

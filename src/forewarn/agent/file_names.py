"""Names of files for what others have named."""

from __future__ import annotations

import re
import zlib

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


def fit_for_a_file(name: str) -> str:
    """The name, fit for a file: what an event or a step is called is not to lead anywhere else."""
    fit = _UNFIT.sub("_", name).strip(".")[:80]
    return fit if fit == name else f"{fit}-{zlib.crc32(name.encode()):08x}"

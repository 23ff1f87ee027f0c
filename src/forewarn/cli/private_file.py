"""Files that hold a secret: read only where nobody else on this machine can."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from forewarn.errors import ForewarnError

_FOR_OTHERS = stat.S_IRWXO


def read_private(file: Path, *, what: str, option: str) -> str | None:
    """What the file holds; None where it is no text. `what` it is for and the `option` that names it are told."""
    try:
        with file.open(encoding="utf-8") as opened:
            is_open_to_others = os.fstat(opened.fileno()).st_mode & _FOR_OTHERS
            text = "" if is_open_to_others else opened.read()
    except OSError as problem:
        raise ForewarnError(
            f"{file} cannot be read: {problem.strerror}.", f"Name another with {option}."
        ) from None
    except UnicodeDecodeError:
        return None
    if is_open_to_others:
        raise ForewarnError(f"{file} holds {what}, and others on this machine may read it.", f"chmod 600 {file}")
    return text

"""The standard streams as they may be: closed from the beginning, or with nobody and no room at the other end."""

from __future__ import annotations

import os
import sys
from typing import TextIO

_STREAMS = ("stdin", "stdout", "stderr")


def stop_gaps() -> None:
    """Put something in the place of standard streams that were closed, so that no file and no socket gets there.

    What we start finds them closed as they were.
    """
    for number, name in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)  # takes the first place that is free, and is not handed down
            setattr(sys, name, os.fdopen(opened, "w" if number else "r", encoding="utf-8"))


def lose(stream: TextIO) -> None:
    """Have a stream that fails take all there is and keep nothing, or Python itself fails by it at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)

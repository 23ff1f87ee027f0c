"""Pieces of shell that tests give to handlers."""

from __future__ import annotations

from pathlib import Path


def until_there(file: Path) -> str:
    """Wait for a file; not for ever, should the test that makes it have died."""
    return f"i=0; while [ ! -e '{file}' ] && [ $((i+=1)) -lt 6000 ]; do sleep 0.02; done"

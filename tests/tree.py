"""The files of the project: all that is not ignored, whether git is there or not."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from tests.running import ROOT

CODE = ("src", "tests", "tools", "benchmarks")


@cache
def _ignored() -> tuple[str, ...]:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    return (".git", *(line.strip().rstrip("/") for line in lines if line.strip() and not line.startswith("#")))


def _walk(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        if not any(fnmatch(path.name, pattern) for pattern in _ignored()):
            yield from _walk(path) if path.is_dir() else [path]


@cache
def files() -> dict[str, bytes]:
    """Every file by its path from the root."""
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in _walk(ROOT)}


def texts(*suffixes: str, under: tuple[str, ...] = ("",)) -> dict[str, str]:
    """The text of every file with one of the suffixes, under one of the directories."""
    beginnings = tuple(f"{each}/" if each else "" for each in under)
    return {
        path: content.decode("utf-8")
        for path, content in files().items()
        if path.endswith(suffixes) and path.startswith(beginnings)
    }

"""What is tracked belongs to everyone: no machine of ours, no registry, nothing that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

import pytest

from tests.tidy.rules import assert_kept
from tests.tree import files

_PLACE = re.compile(r"(?<![\w.~$}/-])/(?:home|root|Users|work|workspaces?)/[\w.-]")
_REGISTRIES = (
    "pypi.",
    "pythonhosted.",
    "npmjs.",
    "crates.io",
    "rubygems.",
    "artifactory",
    "index-url",
    "registry=",
)
_REGISTRY = re.compile("|".join(map(re.escape, _REGISTRIES)), re.IGNORECASE)
_LOCKS = re.compile(r"(?:.+\.lock|package-lock\.json|pnpm-lock\.yaml|npm-shrinkwrap\.json|pylock(?:\..+)?\.toml)")
_LONGEST_LINE = 500
_WRITTEN_BY_HAND = {".js", ".mjs", ".css", ".html", ".svg"}

# All but this file, which has to name what it looks for.
READABLE = {
    path: content.decode("utf-8", "replace")
    for path, content in files().items()
    if path != "tests/tidy/test_files.py"
}


def machine_paths(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := _PLACE.search(line):
            yield f"{path}:{number}: {found[0]}... is on one machine. Write a path from the root of the project."


def registries(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := _REGISTRY.search(line):
            yield f"{path}:{number}: {found[0]} names a registry. Leave it to pip's own settings where to look."


def unreadable(path: str, content: bytes) -> Iterator[str]:
    """Binary files, and those that a tool has squeezed."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        yield f"{path}: a binary file. Make it from something that can be read, when it is needed."
    longest = max(map(len, text.splitlines()), default=0)
    is_squeezed = PurePath(path).suffix in _WRITTEN_BY_HAND and longest > _LONGEST_LINE
    if ".min." in path or is_squeezed:
        yield f"{path}: minified. Write it by hand, or do without."


def lock_files(path: str) -> Iterator[str]:
    if _LOCKS.fullmatch(PurePath(path).name):
        yield f"{path}: a lock file. Say the least version in pyproject.toml; newer ones are tested as they come."


def test_no_file_names_a_directory_of_one_machine():
    assert_kept(
        machine_paths,
        READABLE,
        planted=[f"cd /{name}/alice/forewarn\n" for name in ("home", "Users", "work", "root")],
        fine=["GET /v1/home/x\n", "https://example.org/home/x\n", "cd ~/forewarn\n", "/var/lib/forewarn\n"],
    )


def test_no_file_names_a_package_registry():
    assert_kept(
        registries,
        READABLE,
        planted=["https://pypi.org/simple\n", "pip install --index-url x y\n", "files.pythonhosted.org\n"],
        fine=["pip install forewarn\n", "the registry of metrics\n"],
    )


def test_every_file_can_be_read():
    found = [finding for path, content in files().items() for finding in unreadable(path, content)]

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("docs/logo.png", b"\x89PNG\r\n\x1a\n\0"),
        ("docs/latin.txt", b"caf\xe9"),
        ("src/portal/chart.min.js", b"x\n"),
        ("src/portal/chart.js", b"x" * 501),
    ],
    ids=["binary", "not UTF-8", "minified by name", "minified by line"],
)
def test_a_file_that_cannot_be_read_is_found(path: str, content: bytes):
    found = list(unreadable(path, content))

    assert len(found) == 1
    assert found[0].startswith(f"{path}: ")


def test_there_is_no_lock_file():
    found = [finding for path in files() for finding in lock_files(path)]

    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", ["uv.lock", "portal/package-lock.json", "pylock.toml", "a/Pipfile.lock"])
def test_a_lock_file_is_found(path: str):
    assert len(list(lock_files(path))) == 1

"""The page of uses: its files and programs, put in place for a test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.tree import texts

PATH = "docs/howto/agent-uses.md"
PAGE = texts(PATH)[PATH]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sections() -> dict[str, str]:
    """What stands under each heading."""
    parts = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def block(title: str, language: str, name: str = "") -> str:
    """The only block of that language under a heading; of several, the one whose first lines name a path."""
    found = [
        text
        for kind, text in _BLOCK.findall(sections()[title])
        if kind == language and name in "\n".join(text.splitlines()[:2])
    ]
    assert len(found) == 1, f"{title}: {len(found)} blocks of {language} {name}"
    return found[0]


def filled(text: str, places: Mapping[str, object]) -> str:
    """The text with a test's paths and addresses; each has to be there, and nothing else is changed."""
    for written, meant in places.items():
        assert written in text, f"{written} is not in:\n{text}"
        text = text.replace(written, str(meant))
    return text


def put(path: Path, text: str) -> Path:
    """A program of the page, or another one, where it can be run."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path

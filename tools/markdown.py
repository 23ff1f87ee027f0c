"""Pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")


def code(text: object) -> str:
    """The text as code in a line; nothing for nothing."""
    return f"`{text}`" if str(text) else ""


def block(language: str, text: str) -> str:
    """The text as a block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar in a cell stays a bar."""
    cells = [[cell.replace("|", r"\|").replace("\n", "<br>") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(title: str, *parts: str) -> str:
    """A page that says where it comes from, its parts apart from each other."""
    origin = "Written by `make docs` from the code; a change here is lost."
    return "\n\n".join([f"# {title}", origin, *(part for part in parts if part)]) + "\n"


def anchor(heading: str) -> str:
    """The name by which a link leads to a heading, as GitHub makes it."""
    return _NOT_IN_ANCHOR.sub("", heading.strip().lower()).replace(" ", "-")

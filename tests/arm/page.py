"""The page on Azure's tools: its commands and its programs, as they stand there."""

from __future__ import annotations

import re

from tests.running import ROOT

_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def blocks(language: str, heading: str | None = None) -> list[str]:
    """The blocks of a language, of the whole page or of one of its sections."""
    text = (ROOT / "docs" / "howto" / "azure-tools.md").read_text(encoding="utf-8")
    if heading is not None:
        text = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [body for name, body in _BLOCK.findall(text) if name == language]


def at_port(text: str, port: int) -> str:
    """The text for a service that is heard elsewhere."""
    return text.replace(":8255", f":{port}")

"""The life of an event as a picture, from the table of transitions."""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.core.phase import TRANSITIONS, Phase
from tools.markdown import block

BEGIN = "<!-- begin: state diagram (generated) -->"
END = "<!-- end -->"


class NoPlace(Exception):
    """The text has no markers between which the diagram could stand."""


def draw() -> str:
    """The diagram, in Mermaid's words."""
    return "\n".join(["stateDiagram-v2", *(f"    {line}" for line in _arrows())])


def _arrows() -> Iterator[str]:
    for (before, step), after in TRANSITIONS.items():
        yield f"{before or '[*]'} --> {after}: {step}"
    left = {before for before, _ in TRANSITIONS}
    yield from (f"{phase} --> [*]" for phase in Phase if phase not in left)


def fill(text: str) -> str:
    """The text with the diagram between its markers, and otherwise as it was."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise NoPlace(f"there is no place for the state diagram; write {BEGIN} and {END} where it is to stand")
    return f"{head}{BEGIN}\n{block('mermaid', draw())}\n{END}{tail}"

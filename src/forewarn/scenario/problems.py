"""What the checks of a scenario say in the same words: where something stands, and a name that nobody bears."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from forewarn.core.fleet_check import Place, Problem
from forewarn.wire.choices import suggest

_MOST_NAMED = 20


def at(where: Place, key: str) -> Place:
    """That key of an entry."""
    return Place(where.section, where.index, key)


def unknown(what: str, name: str, known: Collection[str], where: Place) -> Iterator[Problem]:
    """A problem, if nothing that there is has this name."""
    if name not in known:
        remedy = suggest(name, list(known)[:_MOST_NAMED]) if known else "There are none."
        yield Problem(where, f"There is no {what} {name}.", remedy)

"""What the checks of a scenario say in the same words: where something stands, and a name that nobody bears."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from forewarn.core.fleet_check import Place, Problem
from forewarn.scenario.file import ScenarioText
from forewarn.scenario.stage import number_in
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


def unknown_vm(text: ScenarioText, name: str, known: Collection[str], where: Place) -> Iterator[Problem]:
    """A problem, if there is never such a VM; what a scale set may get by an act that is wrong is not judged."""
    sets = text.scenario.fleet.scale_sets
    if text.is_right("at") or not any(number_in(each, name) is not None for each in sets):
        yield from unknown("VM", name, known, where)


def scripted_guests(text: ScenarioText) -> list[str]:
    """What they are called, also those whose entry is wrong."""
    left = [each.values for each in text.fragments if each.section == "guests"]
    titles = [each.title for each in text.scenario.guests if not each.outside]
    return titles + [str(said.get("name") or said.get("vm")) for said in left if not said.get("outside")]

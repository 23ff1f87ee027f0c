"""A case as JSON, for the journal, `/events` and the audit record, and back again.

How a step is undone is for the journal alone: options are nobody else's business.
Reading is strict where the journal is its own writer's, and lenient about members that a later version added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from forewarn.agent.case import Case, Consent, Direction, Ending, Outcome, Recipe, Run
from forewarn.agent.events import Event
from forewarn.agent.policy import Occasion

_NAMES = {kind: tuple(field.name for field in fields(kind)) for kind in (Case, Event, Run, Recipe)}
_INSTANTS = {field.name for kind in (Case, Event, Run) for field in fields(kind) if "datetime" in str(field.type)}


def write_case(case: Case, *, with_recipes: bool = False) -> dict[str, Any]:
    """The case, in words that JSON has."""
    shown = _shown(case)
    shown["event"] = _shown(case.event)
    shown["runs"] = [
        {"step": step, "direction": direction.value, **_write_run(run, with_recipes=with_recipes)}
        for (step, direction), run in case.runs.items()
    ]
    return shown


def _write_run(run: Run, *, with_recipes: bool) -> dict[str, Any]:
    said = _shown(run)
    recipe: Recipe | None = said.pop("recipe")
    return said | {"recipe": _shown(recipe)} if with_recipes and recipe else said


def read_case(said: Mapping[str, Any]) -> Case:
    """The case that `write_case` wrote; `ValueError`, `KeyError` or `TypeError` for anything else."""
    known = _members(Case, said)
    known["event"] = Event(**_members(Event, {**said["event"], "resources": tuple(said["event"]["resources"])}))
    known["runs"] = {
        (each["step"], Direction(each["direction"])): _read_run(each, known["event"].type) for each in said["runs"]
    }
    known["named_by"] = tuple(said.get("named_by", ()))
    known["consent"] = Consent(said["consent"])
    known["ending"] = Ending(said["ending"]) if said["ending"] else None
    return Case(**known)


def _read_run(said: Mapping[str, Any], event_type: str) -> Run:
    recipe = said.get("recipe")
    known = {"outcome": Outcome(said["outcome"]), "recipe": _read_recipe(recipe, event_type) if recipe else None}
    return Run(**{**_members(Run, said), **known})


def _read_recipe(said: Mapping[str, Any], event_type: str) -> Recipe | None:
    """What was noted; a journal that does not say on which occasion knows it only of what has an undo."""
    if "on" not in said and not said["has_undo"]:
        return None
    unsaid = {"on": Occasion.PREPARE, "of_type": "" if said["is_for_all_events"] else event_type}
    known = {**unsaid, **_members(Recipe, said)}
    return Recipe(**{**known, "on": Occasion(known["on"])})


def _members(kind: type, said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of the members that this version knows."""
    names = {field.name for field in fields(kind)}
    return {
        name: datetime.fromisoformat(value) if name in _INSTANTS and value is not None else value
        for name, value in said.items()
        if name in names
    }


def _shown(said: Case | Event | Run | Recipe) -> dict[str, Any]:
    """Its members. Not `asdict`, which copies every name of every event: there may be thousands."""
    shown = ((name, getattr(said, name)) for name in _NAMES[type(said)])
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in shown}

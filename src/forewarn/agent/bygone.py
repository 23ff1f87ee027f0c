"""Steps that the file does not have any more, as they were when they were done: for their undo. Pure.

A step is undone as the file says it now, if the file still has one of that name and kind with an undo. Else it is
undone as it was done: by the options of a step that is the same under another name, or by those that were noted
with the attempt. Options that may hold secrets are not noted. Without any the step cannot be undone; that is said.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from forewarn.agent.case import Case, Direction, Outcome, Recipe, Run
from forewarn.agent.policy import Occasion, Profile, Step


def recipe_of(step: Step) -> Recipe:
    """What is noted of a step with its attempt."""
    has_undo = step.has_undo and step.on is Occasion.PREPARE
    return Recipe(
        uses=step.uses,
        likeness=_likeness(step),
        has_undo=has_undo,
        options=json.loads(_as_text(step.options)) if has_undo and not step.has_secrets else None,
        group=step.group,
        timeout_seconds=step.timeout_seconds,
        retry_pause_seconds=step.retry_pause_seconds,
        is_for_all_events=step.is_for_all_events,
    )


def with_bygone(case: Case, profile: Profile, profiles: Mapping[str, Profile]) -> Profile:
    """The profile, and what was done for the case by steps that it does not have any more."""
    bygone: list[Step] = []
    forgotten: list[str] = []
    for (name, direction), run in case.runs.items():
        if direction is Direction.UNDO or run.outcome is Outcome.SKIPPED or _is_there_still(profile, name, run):
            continue
        step = _remade(name, run.recipe, profiles.values()) if run.recipe else None
        if step is not None:
            bygone.append(step)
        elif run.recipe is None or run.recipe.has_undo:
            forgotten.append(name)
    return replace(profile, bygone=tuple(bygone), forgotten=tuple(forgotten)) if bygone or forgotten else profile


def _is_there_still(profile: Profile, name: str, run: Run) -> bool:
    step = next((each for each in profile.steps if each.name == name), None)
    if step is None or run.recipe is None:
        return step is not None
    return step.uses == run.recipe.uses and (step.has_undo or not run.recipe.has_undo)


def _remade(name: str, recipe: Recipe, profiles: Iterable[Profile]) -> Step | None:
    """The step as it was; None where it cannot be known."""
    steps = (step for profile in profiles for step in profile.steps if step.uses == recipe.uses)
    same = next((step for step in steps if _likeness(step) == recipe.likeness), None)
    options = same.options if same else recipe.options
    if options is None:
        return None
    return Step(
        name,
        recipe.uses,
        options,
        group=recipe.group,
        timeout_seconds=recipe.timeout_seconds,
        retry_pause_seconds=recipe.retry_pause_seconds,
        has_undo=recipe.has_undo,
        is_for_all_events=recipe.is_for_all_events,
    )


def _likeness(step: Step) -> str:
    """The same for the same options, and too short to tell any secret among them."""
    return f"{zlib.crc32(_as_text(step.options).encode()):08x}"


def _as_text(options: Mapping[str, Any]) -> str:
    return json.dumps(options, sort_keys=True, default=str)

"""Steps that the file does not have any more, as they were when they were done: for their undo. Pure.

What was done is undone as it was done. A step of the same name that is of another kind or has other options is
another step: it has to be done too. How the first was done is known by a step of the file that is the same, under
any name, or by the options that were noted with the attempt. They are not noted where one is a secret or a table,
such as headers or an environment; the arguments of a command are, in a file for the agent's user alone. Without
any the step cannot be undone; that is said.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from forewarn.agent.case import Case, Direction, Outcome, Recipe, Run
from forewarn.agent.policy import Occasion, Profile, Step

_AS_DONE_AT = " as done at "  # between the name of a step that was edited since, and when


def recipe_of(step: Step) -> Recipe:
    """What is noted of a step with its attempt."""
    has_undo = step.has_undo and step.on is Occasion.PREPARE
    return Recipe(
        uses=step.uses,
        likeness=likeness_of(step),
        has_undo=has_undo,
        options=json.loads(_as_text(step.options)) if has_undo and not step.has_secrets else None,
        group=step.group,
        timeout_seconds=step.timeout_seconds,
        retry_pause_seconds=step.retry_pause_seconds,
        is_for_all_events=step.is_for_all_events,
        on=step.on,
    )


def edited(case: Case, profile: Profile) -> dict[str, str]:
    """What was done under a name that the file has for something else by now, and the name to keep it under.

    What was kept so, and is in the file again as it was, gets its name back. What was done without an undo on
    another occasion than the preparation was told, and is not told again.
    """
    taken = {*(step.name for step in profile.steps), *(name for name, _ in case.runs)}
    names = {}
    for step in profile.steps:
        run = case.run(step.name)
        is_another = run is not None and not _is_there_still(profile, step.name, run)
        if run is not None and is_another and _is_to_be_kept(run, step) and not _is_underway(case, step.name):
            names[step.name] = _untaken(f"{step.name}{_AS_DONE_AT}{run.begun_at:%H:%M:%SZ}", taken)
        if (run is None or step.name in names) and (kept_as := _kept_as(case, step)):
            names[kept_as] = step.name
    return names


def _is_to_be_kept(run: Run, step: Step) -> bool:
    return step.on is Occasion.PREPARE or (run.recipe is not None and run.recipe.has_undo)


def _kept_as(case: Case, step: Step) -> str:
    likeness = likeness_of(step)
    kept = (
        name
        for (name, direction), run in case.runs.items()
        if direction is Direction.DO
        and name.startswith(f"{step.name}{_AS_DONE_AT}")
        and was_after(run, step, likeness)
        and case.run(name, Direction.UNDO) is None
    )
    return next(kept, "")


def _is_underway(case: Case, name: str) -> bool:
    runs = [case.run(name, direction) for direction in Direction]
    return any(run is not None and run.outcome is Outcome.BEGUN for run in runs)


def _untaken(name: str, taken: Collection[str]) -> str:
    return next(
        each for number in count(1) if (each := name if number == 1 else f"{name} ({number})") not in taken
    )


def was_after(run: Run, step: Step, likeness: str) -> bool:
    """Whether an attempt, of which is known what it did, was after what a step of that likeness is after."""
    done = run.recipe
    is_undone = step.has_undo and step.on is Occasion.PREPARE
    return done is not None and done.has_undo and is_undone and (done.uses, done.likeness) == (step.uses, likeness)


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
    has_lost_its_undo = run.recipe.has_undo and not (step.has_undo and step.on is Occasion.PREPARE)
    is_alike = (step.uses, likeness_of(step)) == (run.recipe.uses, run.recipe.likeness)
    return is_alike and not has_lost_its_undo


def _remade(name: str, recipe: Recipe, profiles: Iterable[Profile]) -> Step | None:
    """The step as it was; None where it cannot be known."""
    steps = (step for profile in profiles for step in profile.steps if step.uses == recipe.uses)
    same = next((step for step in steps if likeness_of(step) == recipe.likeness), None)
    options = same.options if same else recipe.options
    if options is None:
        return None
    return Step(
        name,
        recipe.uses,
        options,
        on=recipe.on,
        group=recipe.group,
        timeout_seconds=recipe.timeout_seconds,
        retry_pause_seconds=recipe.retry_pause_seconds,
        has_undo=recipe.has_undo,
        is_for_all_events=recipe.is_for_all_events,
    )


def likeness_of(step: Step) -> str:
    """The same for the same options, and too short to tell any secret among them."""
    return f"{zlib.crc32(_as_text(step.options).encode()):08x}"


def _as_text(options: Mapping[str, Any]) -> str:
    return json.dumps(options, sort_keys=True, default=str)

"""What was done for a case by steps that its profile does not have, as it was done: for its undo. Pure.

The file was edited, or the event has changed, and the rules choose another profile. What was done is undone as it
was done. A step of the same name that is of another kind or has other options is another step: it has to be done
too; so has one that was told of another type of event. How the first was done is known by a step of the file that
is the same, under any name, or by the options that were noted with the attempt. They are not noted where one is a
secret or a table, such as headers or an environment; the arguments of a command are, in a file for the agent's
user alone. Without any the step cannot be undone; that is said.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from itertools import count
from typing import Any

from forewarn.agent.case import Case, Direction, Outcome, Recipe, Run, has_acted, is_underway, lost, place_of
from forewarn.agent.compat import dataclass
from forewarn.agent.policy import Occasion, Profile, Step

_AS_DONE_AT = " as done at "  # between the name of a step that is another by now, and when it was done
_AS_DONE_BEFORE = " as done before"  # the same, where nothing is to be undone: the last one is enough


def recipe_of(step: Step, event_type: str) -> Recipe:
    """What is noted of a step with its attempt."""
    return Recipe(
        uses=step.uses,
        likeness=likeness_of(step),
        has_undo=_is_undone(step),
        options=None if step.has_secrets else json.loads(_as_text(step.options)),
        group=step.group,
        timeout_seconds=step.timeout_seconds,
        retry_pause_seconds=step.retry_pause_seconds,
        is_for_all_events=step.is_for_all_events,
        on=step.on,
        of_type="" if step.is_for_all_events else event_type,
        retries=step.retries,
    )


@dataclass(frozen=True, slots=True)
class Renamed:
    """What was done is known by other names from now on."""

    aside: Mapping[str, str] = field(default_factory=dict)  # its step is another by now: the name it is kept under
    back: Mapping[str, str] = field(default_factory=dict)  # its step is the same again: from that name to its own
    stale: frozenset[str] = (
        frozenset()
    )  # of those that are back: something else was done since, so it is done anew

    def __bool__(self) -> bool:
        return bool(self.aside or self.back)


def renamed(case: Case, profile: Profile) -> Renamed:
    """What was done by steps of the profile's names that are others by now, or the same again.

    What was told on another occasion than the preparation is not told again because its words were edited.
    """
    taken = {*(step.name for step in profile.steps), *(name for name, _ in case.runs)}
    aside, back, stale = {}, {}, set()
    for step in profile.steps:
        run = case.run(step.name)
        if run is not None and _is_to_be_kept(case, run, step):
            aside[step.name] = _kept_name(step, run, taken)
        is_free = run is None or run.outcome is Outcome.SKIPPED or step.name in aside
        if is_free and (kept := _kept_as(case, step)):
            back[kept] = step.name
            if _was_followed(case, kept, step):
                stale.add(step.name)
    return Renamed(aside, back, frozenset(stale))


def with_other_names(case: Case, names: Renamed) -> Case:
    """The case with what was done under other names; whether it is prepared is found out anew."""
    new = {**names.aside, **names.back}
    places = {name for name, _ in case.runs} - set(new.values()) | set(new)
    runs = {
        (new.get(name, name), direction): lost(run) if new.get(name) in names.stale else run
        for (name, direction), run in case.runs.items()
        if name in places
    }
    return replace(case, runs=runs, prepared_at=None)


def _is_to_be_kept(case: Case, run: Run, step: Step) -> bool:
    """Whether a step of the same name has done something else, which is over."""
    if any(is_underway(case.run(step.name, direction)) for direction in Direction):
        return False
    if run.outcome is Outcome.SKIPPED or _is_same(case, run, step):
        return False
    is_told = run.recipe is not None and not run.recipe.has_undo and run.recipe.on is step.on
    return step.on is Occasion.PREPARE or not is_told


def _kept_name(step: Step, run: Run, taken: Collection[str]) -> str:
    if run.recipe is not None and not run.recipe.has_undo:
        return f"{step.name}{_AS_DONE_BEFORE}"
    return _untaken(f"{step.name}{_AS_DONE_AT}{run.begun_at:%H:%M:%SZ}", taken)


def kept_aside(case: Case, names: Iterable[str]) -> dict[str, str]:
    """Names under which what some steps did, and its undo, is kept when they begin anew."""
    taken = {name for name, _ in case.runs}
    done = ((name, run) for name in names if (run := case.run(name)) is not None)
    return {name: _untaken(f"{name}{_AS_DONE_AT}{run.begun_at:%H:%M:%SZ}", taken) for name, run in done}


def _kept_as(case: Case, step: Step) -> str:
    return next(
        (name for name in _kept_names(case, step) if _is_same(case, case.runs[name, Direction.DO], step)), ""
    )


def _kept_names(case: Case, step: Step) -> Iterator[str]:
    """Under which names something of the step is kept that may count again."""
    for name, direction in case.runs:
        has_undo = name.startswith(f"{step.name}{_AS_DONE_AT}")
        is_told = name == f"{step.name}{_AS_DONE_BEFORE}" and step.on is not Occasion.PREPARE
        if direction is Direction.DO and (has_undo or is_told) and case.run(name, Direction.UNDO) is None:
            yield name


def _was_followed(case: Case, kept: str, step: Step) -> bool:
    """Whether something else was done since under the step's name."""
    done = case.runs[kept, Direction.DO]
    return step.on is Occasion.PREPARE and any(
        place_of(run) > place_of(done) for run in others_of_its_name(case, step)
    )


def others_of_its_name(case: Case, step: Step) -> Iterator[Run]:
    """What was done for the case under the step's name that is not what the step does."""
    kept = (f"{step.name}{_AS_DONE_AT}", f"{step.name}{_AS_DONE_BEFORE}")
    for (name, direction), run in case.runs.items():
        is_of_its_name = name == step.name or name.startswith(kept)
        if direction is Direction.DO and is_of_its_name and has_acted(run) and not _is_same(case, run, step):
            yield run


def _untaken(name: str, taken: Collection[str]) -> str:
    return next(
        each for number in count(1) if (each := name if number == 1 else f"{name} ({number})") not in taken
    )


def was_after(run: Run, step: Step, likeness: str) -> bool:
    """Whether an attempt, of which is known what it did, was after what a step of that likeness is after."""
    done = run.recipe
    return (
        done is not None
        and done.has_undo
        and _is_undone(step)
        and (done.uses, done.likeness) == (step.uses, likeness)
    )


def with_bygone(case: Case, profile: Profile, profiles: Mapping[str, Profile]) -> Profile:
    """The profile, and what was done for the case by steps that it does not have."""
    bygone: list[Step] = []
    forgotten: list[str] = []
    for (name, direction), run in case.runs.items():
        if (
            direction is Direction.UNDO
            or run.outcome is Outcome.SKIPPED
            or _is_there_still(case, profile, name, run)
        ):
            continue
        step = _remade(name, run.recipe, profiles.values()) if run.recipe else None
        if step is not None:
            bygone.append(step)
        elif run.recipe is not None and is_underway(run):
            bygone.append(replace(_like(name, run.recipe), has_undo=False))  # to be waited for, if not undone
        if step is None and (run.recipe is None or run.recipe.has_undo):
            forgotten.append(name)
    return replace(profile, bygone=tuple(bygone), forgotten=tuple(forgotten)) if bygone or forgotten else profile


def _is_there_still(case: Case, profile: Profile, name: str, run: Run) -> bool:
    step = next((each for each in profile.steps if each.name == name), None)
    return step is not None and _is_same(case, run, step)


def _is_same(case: Case, run: Run, step: Step) -> bool:
    """Whether what was done is what the step would do for the event as it is now."""
    done = run.recipe
    if done is None:
        return True
    if done.on is not step.on or (done.has_undo and not _is_undone(step)):
        return False
    is_of_another_type = done.of_type not in {"", case.event.type} and step.on is Occasion.PREPARE
    return (done.uses, done.likeness) == (step.uses, likeness_of(step)) and not is_of_another_type


def _is_undone(step: Step) -> bool:
    return step.has_undo and step.on is Occasion.PREPARE


def _remade(name: str, recipe: Recipe, profiles: Iterable[Profile]) -> Step | None:
    """The step as it was; None where it cannot be known."""
    steps = (step for profile in profiles for step in profile.steps if step.uses == recipe.uses)
    same = next((step for step in steps if likeness_of(step) == recipe.likeness), None)
    options = same.options if same else recipe.options
    return None if options is None else replace(_like(name, recipe), options=options)


def _like(name: str, recipe: Recipe) -> Step:
    return Step(
        name,
        recipe.uses,
        on=recipe.on,
        group=recipe.group,
        timeout_seconds=recipe.timeout_seconds,
        retry_pause_seconds=recipe.retry_pause_seconds,
        retries=recipe.retries,
        has_undo=recipe.has_undo,
        is_for_all_events=recipe.is_for_all_events,
    )


def likeness_of(step: Step) -> str:
    """The same for the same options, and too short to tell any secret among them."""
    return f"{zlib.crc32(_as_text(step.options).encode()):08x}"


def _as_text(options: Mapping[str, Any]) -> str:
    return json.dumps(options, sort_keys=True, default=str)

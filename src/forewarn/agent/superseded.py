"""What was done for a case by steps of another profile, or for another type of event. Pure.

Every attempt is known by the step of the case's policy that made it. If the event changes, the policy may choose
another profile. A step of the same name that does something else is another step: it has to be done too. So does
one that was told of another type of event. What was done is kept under a name of its own until it is undone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from itertools import count

from forewarn.agent.case import Case, Direction, Outcome, Run, has_acted, is_underway, lost, place_of
from forewarn.agent.compat import dataclass
from forewarn.agent.policy import Occasion, Profile, Step, has_same_effect

_DONE_AT = " as done at "  # between the name of a superseded step and when it was done
_DONE_BEFORE = " as done before"  # the same, where nothing is to be undone: the last one is enough


def definition_of(case: Case, name: str) -> Step | None:
    """Return the step that made the attempt under that name; None if the policy has no such step."""
    run = case.run(name)
    if run is None:
        return None
    step = case.policy.profile(run.profile or case.profile).step(run.of_step or name)
    return step if step is None or step.name == name else replace(step, name=name)


def profile_of(case: Case) -> Profile:
    """Return the case's profile, with the superseded steps that were run for it."""
    profile = case.policy.profile(case.profile)
    if not case.runs:
        return profile
    current = {step.name: step for step in profile.steps}
    superseded = []
    for (name, direction), run in case.runs.items():
        if direction is Direction.UNDO or run.outcome is Outcome.SKIPPED:
            continue
        step = current.get(name)
        if step is None or not is_by(case, run, name, step):
            made_by = definition_of(case, name)
            superseded += [made_by] if made_by is not None else []
    return replace(profile, superseded=tuple(superseded)) if superseded else profile


def type_told(step: Step, event_type: str) -> str:
    """Return the type of event that an attempt at the step is told of; empty if that makes no difference to it."""
    return "" if step.is_for_all_events else event_type


@dataclass(frozen=True, slots=True)
class Renamed:
    """New names of attempts."""

    aside: Mapping[str, str] = field(default_factory=dict)  # superseded: from the step's name to one of its own
    back: Mapping[str, str] = field(default_factory=dict)  # current again: from that name to the step's
    stale: frozenset[str] = frozenset()  # of those: something else was done since, so they are done anew

    def __bool__(self) -> bool:
        return bool(self.aside or self.back)


def renamed(case: Case, profile: Profile) -> Renamed:
    """Return which attempts are superseded under their names, and which count again.

    A hook that was told on another occasion than the preparation is not told again because the event changed.
    """
    taken = {*(step.name for step in profile.steps), *(name for name, _ in case.runs)}
    aside, back, stale = {}, {}, set()
    for step in profile.steps:
        run = case.run(step.name)
        if run is not None and _is_to_be_kept(case, run, step):
            aside[step.name] = _kept_name(case, step, run, taken)
        is_free = run is None or run.outcome is Outcome.SKIPPED or step.name in aside
        if is_free and (kept := _kept_as(case, step)):
            back[kept] = step.name
            if _was_followed(case, kept, step):
                stale.add(step.name)
    return Renamed(aside, back, frozenset(stale))


def with_other_names(case: Case, names: Renamed) -> Case:
    """Return the case with its attempts under their new names, not yet prepared."""
    new = {**names.aside, **names.back}
    places = {name for name, _ in case.runs} - set(new.values()) | set(new)
    runs = {}
    for (name, direction), run in case.runs.items():
        if name in names.aside:
            run = replace(run, of_step=run.of_step or name)  # noqa: PLW2901 - the same attempt, elsewhere
        elif name in names.back:
            run = replace(run, of_step="")  # noqa: PLW2901 - the same
        if name in places:
            key = new.get(name, name)
            runs[key, direction] = lost(run) if key in names.stale else run
    return replace(case, runs=runs, prepared_at=None)


def _is_to_be_kept(case: Case, run: Run, step: Step) -> bool:
    """Whether an attempt under the step's name did something else, and is over."""
    if any(is_underway(case.run(step.name, direction)) for direction in Direction):
        return False
    if run.outcome is Outcome.SKIPPED or is_by(case, run, step.name, step):
        return False
    made_by = definition_of(case, step.name)
    is_told = made_by is not None and not _is_undone(made_by) and made_by.on is step.on
    return step.on is Occasion.PREPARE or not is_told


def _kept_name(case: Case, step: Step, run: Run, taken: Collection[str]) -> str:
    made_by = definition_of(case, step.name)
    if made_by is not None and not _is_undone(made_by):
        return f"{step.name}{_DONE_BEFORE}"
    return _untaken(f"{step.name}{_DONE_AT}{run.begun_at:%H:%M:%SZ}", taken)


def kept_aside(case: Case, names: Iterable[str]) -> dict[str, str]:
    """Return names under which attempts and their undos are kept when their steps begin anew."""
    taken = {name for name, _ in case.runs}
    done = ((name, run) for name in names if (run := case.run(name)) is not None)
    return {name: _untaken(f"{name}{_DONE_AT}{run.begun_at:%H:%M:%SZ}", taken) for name, run in done}


def _kept_as(case: Case, step: Step) -> str:
    kept = (name for name in _kept_names(case, step) if is_by(case, case.runs[name, Direction.DO], name, step))
    return next(kept, "")


def _kept_names(case: Case, step: Step) -> Iterator[str]:
    """The names of superseded attempts at a step of that name that may count again."""
    for (name, direction), run in case.runs.items():
        is_told = name.endswith(_DONE_BEFORE) and step.on is Occasion.PREPARE
        is_kept = direction is Direction.DO and run.of_step == step.name and name != step.name
        if is_kept and not is_told and case.run(name, Direction.UNDO) is None:
            yield name


def _was_followed(case: Case, kept: str, step: Step) -> bool:
    """Whether something else was done since under the step's name."""
    done = case.runs[kept, Direction.DO]
    return step.on is Occasion.PREPARE and any(
        place_of(run) > place_of(done) for run in others_of_its_name(case, step)
    )


def others_of_its_name(case: Case, step: Step) -> Iterator[Run]:
    """The attempts under the step's name that did something else."""
    for (name, direction), run in case.runs.items():
        is_of_its_name = step.name in {name, run.of_step}
        if direction is Direction.DO and is_of_its_name and has_acted(run) and not is_by(case, run, name, step):
            yield run


def _untaken(name: str, taken: Collection[str]) -> str:
    return next(
        each for number in count(1) if (each := name if number == 1 else f"{name} ({number})") not in taken
    )


def wants_same(made_by: Step | None, step: Step) -> bool:
    """Whether two steps have an undo and the same effect."""
    return made_by is not None and _is_undone(made_by) and _is_undone(step) and has_same_effect(made_by, step)


def is_by(case: Case, run: Run, name: str, step: Step) -> bool:
    """Whether an attempt did what the step would do for the event as it is now."""
    made_by = definition_of(case, name)
    if made_by is None:
        return True
    if made_by.on is not step.on or (_is_undone(made_by) and not _is_undone(step)):
        return False
    is_of_another_type = run.of_type not in {"", case.event.type} and step.on is Occasion.PREPARE
    return has_same_effect(made_by, step) and not is_of_another_type


def _is_undone(step: Step) -> bool:
    return step.has_undo and step.on is Occasion.PREPARE

"""Whose effect it is, where several events want the same. Pure.

Two steps are after the same if the same handler is given the same options, whatever profile they stand in. They
never come and go at the same time, and what one has done is not undone while the other's event is there.

Where the handler's effect is a state of this machine (`is_for_all_events`), it is one effect: an event that finds
it there relies on it; an event that is gone leaves it to whoever still wants it; `of_event` tells for all of them
whose attempt it was. Any other handler is told of the event, and what it did for one is not done for another:
each event's is done, and undone, for itself. Every attempt that acted is undone once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forewarn.agent.case import Case, Direction, Outcome, Run
from forewarn.agent.policy import Step
from forewarn.agent.scene import Scene


@dataclass(frozen=True, slots=True)
class Bringer:
    """The event whose attempt has an effect, or is about to have it."""

    event: str
    is_there: bool  # False: it is just coming or going


def bringer_of(step: Step, scene: Scene) -> Bringer | None:
    """Through which other event the effect is there, coming or going. Only what is for all is ever there."""
    # What comes or goes is asked for first: what is there for one event may just be undone for another.
    if moving := mover_of(step, scene):
        return Bringer(moving, is_there=False)
    rivals = list(scene.rivals(step))
    undone = {_origin(case, run) for case, run, undo in rivals if run is not None and _has_acted(undo)}
    for case, run, undo in rivals:
        # Also of an event that is gone, as long as nothing was undone for it: it leaves the effect to this one.
        if run is None or run.outcome is not Outcome.DONE or undo is not None:
            continue
        if step.is_for_all_events and scene.is_of_this_boot(run) and _origin(case, run) not in undone:
            return Bringer(_origin(case, run), is_there=True)
    return None


def mover_of(step: Step, scene: Scene) -> str:
    """The event for which the effect is just coming or going; empty: none."""
    moving = (case.id for case, *runs in scene.rivals(step) if any(is_underway(run) for run in runs))
    return next(moving, "")


def keeper_of(step: Step, scene: Scene) -> str:
    """The event that is still there and wants the effect to stay, or tries to have it; empty: none."""
    return next((case.id for case, run, _ in scene.rivals(step) if case.is_open and _has_acted(run)), "")


def undone_by(step: Step, scene: Scene) -> str:
    """The event for which the attempt that this case relies on was undone, or is just being; empty: none."""
    return next((case.id for case, _, undo in _sharers(step, scene) if _has_acted(undo)), "")


def heir_of(step: Step, scene: Scene) -> str:
    """The event that is gone too and has still to note that the effect is undone; empty: none."""
    if not _has_acted(scene.case.run(step.name, Direction.UNDO)):
        return ""
    return next((case.id for case, _, theirs in _sharers(step, scene) if theirs is None and not case.is_open), "")


def memory_of(step: Step, scene: Scene) -> str:
    """The name of where the step keeps how things were: as its own attempt did, or another's of the same effect.

    It is noted with the attempt, as the file may say something else of the step when it comes to the undo. Where
    it names another kind of handler by then, that one is not given what it could not read.
    """
    runs = [scene.case.run(step.name), *(run for _, run, _ in scene.rivals(step))]
    noted = (run.memory for run in runs if run is not None and run.memory.startswith(f"{step.uses}/"))
    return next(noted, own_memory(step, scene.case))


def own_memory(step: Step, case: Case) -> str:
    """What it is called where no attempt is known."""
    return f"{step.uses}/{case.profile}/{step.name}"


def _has_acted(run: Run | None) -> bool:
    """Whether an attempt was made, whatever came of it."""
    return run is not None and run.outcome is not Outcome.SKIPPED


def _sharers(step: Step, scene: Scene) -> Iterator[tuple[Case, Run, Run | None]]:
    """Other cases whose effect is of the same attempt."""
    own = scene.case.run(step.name)
    for case, run, undo in scene.rivals(step):
        if own is not None and run is not None and _origin(case, run) == _origin(scene.case, own):
            yield case, run, undo


def _origin(case: Case, run: Run) -> str:
    return run.of_event or case.id


def is_underway(run: Run | None) -> bool:
    """Whether an attempt has begun, and nothing is known of its end."""
    return run is not None and run.outcome is Outcome.BEGUN

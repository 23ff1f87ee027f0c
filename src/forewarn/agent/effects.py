"""Whose effect it is, where several events, or several steps of one, want the same. Pure.

Two steps are after the same if the same handler is given the same options, whatever profile they stand in. They
never come and go at the same time, and what one has done is not undone while the other's event is there.

Where the handler's effect is a state of this machine (`is_for_all_events`), it is one effect, and there as long as
it was brought about after it was last undone: whoever finds it there relies on it; an event that is gone leaves it
to whoever still wants it. Any other handler is told of the event, and what it did for one is not done for another:
each event's is done, and undone, for itself. Every attempt that acted is undone once.
"""

from __future__ import annotations

from datetime import timedelta

from forewarn.agent.bygone import likeness_of, others_of_its_name
from forewarn.agent.case import Case, Direction, Outcome, Run, has_acted, is_underway, is_undone_again, place_of
from forewarn.agent.compat import dataclass
from forewarn.agent.policy import Step
from forewarn.agent.scene import Scene

_LAGGARD = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Bringer:
    """The event whose attempt has an effect, or is about to have it."""

    event: str
    is_there: bool  # False: it is just coming or going


def bringer_of(step: Step, scene: Scene) -> Bringer | None:
    """Through which other attempt the effect is there, coming or going. Only what is for all is ever there."""
    # What comes or goes is asked for first: what is there for one event may just be undone for another.
    if moving := mover_of(step, scene):
        return Bringer(moving, is_there=False)
    if not step.is_for_all_events:
        return None
    rivals = list(scene.rivals(step))
    ended = [place_of(undo) for _, _, undo in rivals if undo is not None and has_acted(undo)]
    ended += [place_of(run) for run in others_of_its_name(scene.case, step)]
    for case, run, undo in rivals:
        # Also of an event that is gone, as long as nothing was undone for it: it leaves the effect to this one.
        if run.outcome is not Outcome.DONE or undo is not None:
            continue
        if scene.is_of_this_boot(run) and all(place_of(run) > each for each in ended):
            return Bringer(run.of_event or case.id, is_there=True)
    return None


def mover_of(step: Step, scene: Scene) -> str:
    """The event for which the effect is just coming or going; empty: none."""
    moving = (case.id for case, *runs in scene.rivals(step) if any(is_underway(run) for run in runs))
    return next(moving, "")


def keeper_of(step: Step, scene: Scene) -> str:
    """The other event that is still there and wants the effect to stay, or tries to have it; empty: none."""
    wanting = (case for case, run, undo in scene.rivals(step) if has_acted(run) and undo is None)
    return next((case.id for case in wanting if case.is_open and case.id != scene.case.id), "")


def successor_of(step: Step, scene: Scene) -> str:
    """The other event to which a state was left that is still there; empty: none.

    None where it was undone for anybody since, and the other has only to note that: each could wait for the other.
    """
    own = scene.case.run(step.name, Direction.UNDO)
    if own is None or own.outcome is not Outcome.SKIPPED or not step.is_for_all_events:
        return ""
    rivals = list(scene.rivals(step))
    ended = [place_of(undo) for _, _, undo in rivals if undo is not None and undo.outcome is Outcome.DONE]
    for case, run, undo in rivals:
        is_left = has_acted(run) and not _is_over(undo, run) and all(place_of(run) > each for each in ended)
        if is_left and case.id != scene.case.id:
            return case.id
    return ""


def _is_over(undo: Run | None, of: Run) -> bool:
    """Whether nothing more comes of an undo; one that has failed for good is over too."""
    if undo is None or is_underway(undo):
        return False
    return not is_undone_again(undo, of.recipe.retries if of.recipe else 0)


def laggard_of(step: Step, scene: Scene) -> str:
    """The event that is gone too, and undoes what was built on the state before it comes to it; empty: none.

    It is waited for while it is at it or tries again, and for a minute if it has not begun: it may wait for others
    itself. What has failed once does not wait for what is tried again: two could wait for each other.
    """
    if not step.is_for_all_events:
        return ""
    is_first_try = scene.case.run(step.name, Direction.UNDO) is None
    for case, run, undo in scene.rivals(step):
        if undo is not None or not has_acted(run) or not _is_another_that_is_gone(case, scene):
            continue
        is_at_it = any(is_underway(each) for (_, way), each in case.runs.items() if way is Direction.UNDO)
        has_time = case.ended_at is not None and timedelta(0) <= scene.now - case.ended_at < _LAGGARD
        built = _built_on(case, run)
        if is_at_it or (has_time and built) or (is_first_try and any(built)):
            return case.id
    return ""


def _built_on(case: Case, state: Run) -> list[Run | None]:
    """The undos that are not over of what was done after a state, and come before its own; None: not begun."""
    return [
        undo
        for (name, way), run in case.runs.items()
        if way is Direction.DO
        and has_acted(run)
        and not run.of_event  # what only relies on another's is undone by that
        and run.recipe is not None
        and run.recipe.has_undo
        and _comes_after(run, state)
        and not _is_over(undo := case.run(name, Direction.UNDO), run)
    ]


def _comes_after(run: Run, state: Run) -> bool:
    """Of one profile the groups say it, also where one of the first was done anew after the others."""
    if run.profile and run.profile == state.profile and run.recipe and state.recipe:
        return run.recipe.group > state.recipe.group
    return place_of(run) > place_of(state)


def undone_since(step: Step, scene: Scene) -> str:
    """The event for which the same was undone after it was done for this one, or is just being; empty: none."""
    own = scene.case.run(step.name)
    if own is None:
        return ""
    undone = ((case.id, undo) for case, _, undo in scene.rivals(step) if undo is not None and has_acted(undo))
    return next((event for event, undo in undone if place_of(undo) > place_of(own)), "")


def undone_by(step: Step, scene: Scene) -> str:
    """The event whose undo was this one's too; empty: none. Only what is for all is undone for all."""
    return undone_since(step, scene) if step.is_for_all_events else ""


def heir_of(step: Step, scene: Scene) -> str:
    """The event that is gone too and has still to note that the effect is undone; empty: none."""
    undo = scene.case.run(step.name, Direction.UNDO)
    if undo is None or not has_acted(undo) or not step.is_for_all_events:
        return ""
    return next(
        (
            case.id
            for case, run, theirs in scene.rivals(step)
            if theirs is None
            and _is_another_that_is_gone(case, scene)
            and has_acted(run)
            and place_of(run) < place_of(undo)
        ),
        "",
    )


def _is_another_that_is_gone(case: Case, scene: Scene) -> bool:
    return case.id != scene.case.id and not case.is_open


def memory_of(step: Step, scene: Scene) -> str:
    """The name of where the step keeps how things were: as its own attempt did, or another's of the same effect.

    It is noted with the attempt, as the file may say something else of the step when it comes to the undo. Where
    it names another kind of handler by then, that one is not given what it could not read.
    """
    runs = [scene.case.run(step.name), *(run for _, run, _ in scene.rivals(step))]
    noted = (run.memory for run in runs if run is not None and run.memory.startswith(f"{step.uses}/"))
    return next(noted, "") or own_memory(step)


def own_memory(step: Step) -> str:
    """What it is called where no attempt is known: after what the step does, in any profile, under any name.

    What was never undone is found there by the next that does the same, and not by a step that was edited.
    """
    return f"{step.uses}/{likeness_of(step)}"

"""Whose effect it is, where several events, or several steps of one, want the same. Pure.

Two steps are after the same if the same handler is given the same options, whatever profile they stand in. They
never come and go at the same time, and what one has done is not undone while the other's event is there.

Where the handler's effect is a state of this machine (`is_for_all_events`), it is one effect, and there as long as
it was brought about after it was last undone: whoever finds it there relies on it; an event that is gone leaves it
to whoever still wants it. Any other handler is told of the event, and what it did for one is not done for another:
each event's is done, and undone, for itself. Every attempt that acted is undone once.
"""

from __future__ import annotations

import json
import zlib
from datetime import timedelta

from forewarn.agent.case import Case, Direction, Outcome, Run, has_acted, is_underway, is_undone_again, place_of
from forewarn.agent.compat import dataclass
from forewarn.agent.policy import Step, referring_options
from forewarn.agent.scene import Scene
from forewarn.agent.superseded import definition_of, others_of_its_name

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
    ended = [place_of(each.undo) for each in rivals if each.undo is not None and has_acted(each.undo)]
    ended += [place_of(run) for run in others_of_its_name(scene.case, step)]
    for rival in rivals:
        run = rival.run
        # Also of an event that is gone, as long as nothing was undone for it: it leaves the effect to this one.
        if run.outcome is not Outcome.DONE or rival.undo is not None:
            continue
        if scene.is_of_this_boot(run) and all(place_of(run) > each for each in ended):
            return Bringer(run.of_event or rival.case.id, is_there=True)
    return None


def mover_of(step: Step, scene: Scene) -> str:
    """The event for which the effect is just coming or going; empty: none."""
    moving = (each.case.id for each in scene.rivals(step) if is_underway(each.run) or is_underway(each.undo))
    return next(moving, "")


def keeper_of(step: Step, scene: Scene) -> str:
    """The other event that is still there and wants the effect to stay, or tries to have it; empty: none."""
    wanting = (each.case for each in scene.rivals(step) if has_acted(each.run) and each.undo is None)
    return next((case.id for case in wanting if case.is_open and case.id != scene.case.id), "")


def successor_of(step: Step, scene: Scene) -> str:
    """The other event to which a state was left that is still there; empty: none.

    None where it was undone for anybody since, and the other has only to note that: each could wait for the other.
    """
    own = scene.case.run(step.name, Direction.UNDO)
    if own is None or own.outcome is not Outcome.SKIPPED or not step.is_for_all_events:
        return ""
    rivals = list(scene.rivals(step))
    ended = [place_of(each.undo) for each in rivals if each.undo is not None and each.undo.outcome is Outcome.DONE]
    for rival in rivals:
        is_left = has_acted(rival.run) and not _is_over(rival.case, rival.name)
        if is_left and rival.case.id != scene.case.id and all(place_of(rival.run) > each for each in ended):
            return rival.case.id
    return ""


def _is_over(case: Case, name: str) -> bool:
    """Whether nothing more comes of an attempt's undo; one that has failed for good is over too."""
    undo, made_by = case.run(name, Direction.UNDO), definition_of(case, name)
    if undo is None or is_underway(undo):
        return False
    return made_by is None or bool(made_by.missing) or not is_undone_again(undo, made_by.retries)


def laggard_of(step: Step, scene: Scene) -> str:
    """The event that is gone too, and undoes what was built on the state before it comes to it; empty: none.

    It is waited for while it is at it or tries again, and for a minute if it has not begun: it may wait for others
    itself. What has failed once does not wait for what is tried again: two could wait for each other.
    """
    if not step.is_for_all_events:
        return ""
    is_first_try = scene.case.run(step.name, Direction.UNDO) is None
    for rival in scene.rivals(step):
        case = rival.case
        if rival.undo is not None or not has_acted(rival.run) or not _is_another_that_is_gone(case, scene):
            continue
        is_at_it = any(is_underway(each) for (_, way), each in case.runs.items() if way is Direction.UNDO)
        has_time = case.ended_at is not None and timedelta(0) <= scene.now - case.ended_at < _LAGGARD
        built = _built_on(case, rival.name)
        if is_at_it or (has_time and built) or (is_first_try and any(built)):
            return case.id
    return ""


def _built_on(case: Case, state: str) -> list[Run | None]:
    """The undos that are not over of what was done after a state, and come before its own; None: not begun."""
    return [
        case.run(name, Direction.UNDO)
        for (name, way), run in case.runs.items()
        if way is Direction.DO
        and has_acted(run)
        and not run.of_event  # what only relies on another's is undone by that
        and (made_by := definition_of(case, name)) is not None
        and made_by.has_undo
        and _comes_after(case, name, state)
        and not _is_over(case, name)
    ]


def _comes_after(case: Case, name: str, state: str) -> bool:
    """Of one profile the groups say it, also where one of the first was done anew after the others."""
    run, first = case.runs[name, Direction.DO], case.runs[state, Direction.DO]
    made_by, first_by = definition_of(case, name), definition_of(case, state)
    if made_by and first_by and (run.profile or case.profile) == (first.profile or case.profile):
        return made_by.group > first_by.group
    return place_of(run) > place_of(first)


def undone_since(step: Step, scene: Scene) -> str:
    """The event for which the same was undone after it was done for this one, or is just being; empty: none."""
    own = scene.case.run(step.name)
    if own is None:
        return ""
    undone = ((each.case.id, each.undo) for each in scene.rivals(step) if each.undo and has_acted(each.undo))
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
            each.case.id
            for each in scene.rivals(step)
            if each.undo is None
            and _is_another_that_is_gone(each.case, scene)
            and has_acted(each.run)
            and place_of(each.run) < place_of(undo)
        ),
        "",
    )


def _is_another_that_is_gone(case: Case, scene: Scene) -> bool:
    return case.id != scene.case.id and not case.is_open


def memory_of(step: Step, scene: Scene) -> str:
    """Return the name of where the step keeps how things were, as an attempt with the same effect noted it.

    Where a later policy names another kind of handler, that one is not given what it could not read.
    """
    runs = [scene.case.run(step.name), *(each.run for each in scene.rivals(step))]
    noted = (run.memory for run in runs if run is not None and run.memory.startswith(f"{step.uses}/"))
    return next(noted, "") or own_memory(step)


def own_memory(step: Step) -> str:
    """Return its name where no attempt is known: after what the step does, in any profile, under any name.

    What was never undone is found there by the next step that does the same.
    """
    return f"{step.uses}/{likeness_of(step)}"


def likeness_of(step: Step) -> str:
    """Return a checksum of the step's options; secrets count by where they come from."""
    text = json.dumps(referring_options(step), sort_keys=True, default=str)
    return f"{zlib.crc32(text.encode()):08x}"

"""What is left of a case whose event comes back while what was done for it is being undone. Pure.

The one rule: only what is surely there counts as done. What may be there half is done again, and stays on record,
so that it is undone in the end. What is undone is forgotten, once everybody who relied on it has noted that.
"""

from __future__ import annotations

from dataclasses import replace

from forewarn.agent.case import Direction, Outcome, Run, Runs, is_underway
from forewarn.agent.effects import heir_of, undone_by, undone_since
from forewarn.agent.policy import Step
from forewarn.agent.scene import Scene
from forewarn.agent.superseded import kept_aside

_AGAIN = "its event came back while it was being undone"


def what_is_left(scene: Scene) -> Runs | None:
    """The attempts at the preparation that its next life begins with; None: something is still under way."""
    case = scene.case
    if any(is_underway(run) for run in case.runs.values()):
        return None
    steps = scene.profile.prepared_by()
    left = {step.name: _left_of(step, run, scene) for step in steps if (run := case.run(step.name)) is not None}
    runs = {(name, Direction.DO): run for name, run in left.items() if run is not None}
    aside = kept_aside(case, (step.name for step in steps if heir_of(step, scene)))
    kept = ((name, direction, run) for (name, direction), run in case.runs.items() if name in aside)
    return runs | {
        (aside[name], direction): replace(run, of_step=run.of_step or name) for name, direction, run in kept
    }


def _left_of(step: Step, run: Run, scene: Scene) -> Run | None:
    undo = scene.case.run(step.name, Direction.UNDO)
    is_undone = undo is not None and undo.outcome is not Outcome.FAILED  # or left to another, which undoes it
    if run.outcome is Outcome.SKIPPED or is_undone or undone_by(step, scene):
        return None
    is_whole = undo is None and not (step.has_undo and undone_since(step, scene))
    if run.outcome is Outcome.DONE and is_whole:
        return run
    # As if it had never been tried, but for what has to be undone.
    return replace(run, outcome=Outcome.FAILED, tries=0, tries_before=0, note=_AGAIN)

"""In which order the preparation is undone. Pure.

What was begun last is undone first. The groups of one profile go backwards, also where one of the first was done
anew after the others. What was done twice is undone where it was done first: one undo may be enough to end it.
What the profile does not have is undone one by one, as it may be at odds with the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from forewarn.agent.case import Outcome
from forewarn.agent.compat import dataclass
from forewarn.agent.policy import Step, has_same_effect
from forewarn.agent.scene import Scene
from forewarn.agent.superseded import definition_of

_MAY_HAVE_LEFT_SOMETHING = {Outcome.DONE, Outcome.FAILED, Outcome.LOST}  # a failed attempt may have got half way


@dataclass(frozen=True, slots=True)
class _Deed:
    step: Step
    profile: str  # that wanted it
    number: int  # of its group there
    order: int
    is_superseded: bool

    @property
    def group(self) -> tuple[object, ...]:
        """What is undone side by side has the same."""
        return (self.step.name,) if self.is_superseded else (self.profile, self.number)


def groups_to_undo(scene: Scene) -> Iterator[list[Step]]:
    """The steps that have something to be undone, group by group."""
    deeds = list(_deeds(scene))
    for _, group in groupby(
        sorted(deeds, key=lambda deed: _place(deed, deeds), reverse=True), lambda deed: deed.group
    ):
        yield [deed.step for deed in group]


def _deeds(scene: Scene) -> Iterator[_Deed]:
    for step in scene.profile.prepared_by():
        run = scene.case.run(step.name)
        if step.has_undo and run is not None and run.outcome in _MAY_HAVE_LEFT_SOMETHING:
            made_by = definition_of(scene.case, step.name)
            group = made_by.group if made_by else step.group  # as its profile had it
            profile = run.profile or scene.case.profile
            yield _Deed(step, profile, group, run.order, step in scene.profile.superseded)


def _place(deed: _Deed, deeds: list[_Deed]) -> tuple[int, int, bool, int]:
    """Where it stands among all that was done: after all of its own profile that had to be done before it."""
    before = (each for each in deeds if each.profile == deed.profile and each.number <= deed.number)
    return max(_first(each, deeds) for each in before), deed.number, not deed.is_superseded, deed.order


def _first(deed: _Deed, deeds: list[_Deed]) -> int:
    """When the same was done for the first time."""
    return min(each.order for each in deeds if has_same_effect(each.step, deed.step))

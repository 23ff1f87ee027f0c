"""A case among the others at one moment, and how well the agent sees: all that the course goes by. Values only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta

from forewarn.agent.bygone import likeness_of, was_after
from forewarn.agent.case import Case, Direction, Run
from forewarn.agent.compat import dataclass
from forewarn.agent.policy import Occasion, Profile, Step


@dataclass(frozen=True, slots=True)
class View:
    """From where the agent looks, and how old an answer may be."""

    boot: str = ""  # in which boot of this machine; empty: not known
    fresh_within: timedelta = timedelta(seconds=5)  # what is approved was seen not longer ago
    approves: bool = True  # whether anything is to be approved at all, be it by a word to a leader


@dataclass(frozen=True, slots=True)
class Scene:
    """A case among the others, at one moment."""

    case: Case
    profile: Profile
    others: Sequence[Case]  # that are not closed yet
    now: datetime
    profiles: Mapping[str, Profile] = field(default_factory=dict)  # of the others
    view: View = View()

    def was_seen_within(self, length: timedelta) -> bool:
        """Whether an answer that is not older shows the event. Seen later than now: the clock was put back."""
        return timedelta(0) <= self.now - self.case.last_seen_at <= length

    def is_of_this_boot(self, run: Run) -> bool:
        """Whether the machine has not booted since the attempt, as far as is known."""
        return run.boot == self.view.boot or not (run.boot and self.view.boot)

    def rivals(self, step: Step) -> Iterator[tuple[Case, Run, Run | None]]:
        """Other attempts that were after the same, and those at their undo; of this case, under other names.

        What the file says by now counts only where an older journal did not note what was done.
        """
        likeness = likeness_of(step)
        others = (each for each in self.others if each.id != self.case.id)
        for each in (self.case, *others):
            for (name, direction), run in each.runs.items():
                if direction is Direction.UNDO or (each is self.case and name == step.name):
                    continue
                if was_after(run, step, likeness) if run.recipe else self._is_said_to_be(step, each, name):
                    yield each, run, each.run(name, Direction.UNDO)

    def _is_said_to_be(self, step: Step, case: Case, name: str) -> bool:
        own = self.profile if case.profile == self.case.profile else Profile(case.profile)
        steps = self.profiles.get(case.profile, own).steps
        return any(each.name == name and _is_same(each, step) for each in steps)


def _is_same(one: Step, other: Step) -> bool:
    kinds = one.on is other.on is Occasion.PREPARE and one.has_undo and other.has_undo
    return kinds and one.uses == other.uses and one.options == other.options

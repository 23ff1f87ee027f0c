"""A case among the others at one moment, and how well the agent sees: all that the course goes by. Values only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from forewarn.agent.case import Case, Direction, Run
from forewarn.agent.compat import dataclass
from forewarn.agent.policy import Profile, Step
from forewarn.agent.superseded import definition_of, wants_same


@dataclass(frozen=True, slots=True)
class View:
    """From where the agent looks, and how old an answer may be."""

    boot: str = ""  # in which boot of this machine; empty: not known
    fresh_within: timedelta = timedelta(seconds=5)  # what is approved was seen not longer ago
    approves: bool = True  # whether anything is to be approved at all, be it by a word to a leader


@dataclass(frozen=True, slots=True)
class Rival:
    """An attempt with the same effect as a step's."""

    case: Case
    name: str
    run: Run
    undo: Run | None


@dataclass(frozen=True, slots=True)
class Scene:
    """A case among the others, at one moment."""

    case: Case
    profile: Profile
    others: Sequence[Case]  # that are not closed yet
    now: datetime
    view: View = View()

    def was_seen_within(self, length: timedelta) -> bool:
        """Whether an answer that is not older shows the event. Seen later than now: the clock was put back."""
        return timedelta(0) <= self.now - self.case.last_seen_at <= length

    def is_of_this_boot(self, run: Run) -> bool:
        """Whether the machine has not booted since the attempt, as far as is known."""
        return run.boot == self.view.boot or not (run.boot and self.view.boot)

    def rivals(self, step: Step) -> Iterator[Rival]:
        """Return other attempts with the same effect, also of this case under other names."""
        others = (each for each in self.others if each.id != self.case.id)
        for each in (self.case, *others):
            for (name, direction), run in each.runs.items():
                if direction is Direction.UNDO or (each is self.case and name == step.name):
                    continue
                made_by = definition_of(each, name)
                if wants_same(made_by, step):
                    yield Rival(each, name, run, each.run(name, Direction.UNDO))

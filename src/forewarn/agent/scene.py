"""A case among the others at one moment, and how well the agent sees: all that the course goes by. Values only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from forewarn.agent.bygone import with_bygone
from forewarn.agent.case import Case, Direction, Run
from forewarn.agent.policy import Occasion, Profile, Step


@dataclass(frozen=True, slots=True)
class View:
    """From where the agent looks, and how old an answer may be."""

    boot: str = ""  # in which boot of this machine; empty: not known
    fresh_within: timedelta = timedelta(seconds=5)  # what is approved was seen not longer ago
    seen_within: timedelta = timedelta(seconds=30)  # without an answer for longer the agent is blind


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

    def rivals(self, step: Step) -> Iterator[tuple[Case, Run | None, Run | None]]:
        """Other cases with a step that is after the same: its attempt, and that at its undo."""
        for each in self.others:
            if each.id == self.case.id:
                continue
            own = self.profile if each.profile == self.case.profile else Profile(each.profile)
            profile = with_bygone(each, self.profiles.get(each.profile, own), self.profiles)
            same = next((other for other in profile.prepared_by() if _is_same(other, step)), None)
            if same is not None:
                yield each, each.run(same.name), each.run(same.name, Direction.UNDO)


def _is_same(one: Step, other: Step) -> bool:
    kinds = one.on is other.on is Occasion.PREPARE and one.has_undo and other.has_undo
    return kinds and one.uses == other.uses and one.options == other.options

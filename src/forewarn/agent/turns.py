"""Whose turn it is in a round of the keeper, and the last plan of every case. For the keeper's thread only."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from forewarn.agent.case import Case
from forewarn.agent.course import Plan

MOST_TO_CLOSE = 100  # events of others, in one round


class Turns:
    """Events of others that are over are closed a few at a time: news comes first. Each of them gets its turn."""

    def __init__(self) -> None:
        self.plans: dict[str, Plan] = {}
        self._next = 0  # where the turn of those goes on
        self._unlooked = 0  # so many of them were not looked at since something moved

    def of(self, cases: list[Case]) -> list[Case]:
        """The cases of this round, of all that are not closed; others' that are over come last."""
        late = [case for case in cases if not (case.is_open or case.is_mine)]
        if len(late) <= MOST_TO_CLOSE:
            return cases
        start = self._next % len(late)
        self._next = start + MOST_TO_CLOSE
        return cases[: -len(late)] + (late[start:] + late[:start])[:MOST_TO_CLOSE]

    def note(self, plans: Mapping[str, Plan], left: Collection[str], *, has_moved: bool) -> None:
        """What came of a round; `left` are the events of all cases that were not closed before it."""
        self.plans = {event: plan for event, plan in self.plans.items() if event in left} | dict(plans)
        self._unlooked = len(left) - len(plans) if has_moved else max(0, self._unlooked - MOST_TO_CLOSE)

    def next_at(self, now: datetime) -> datetime | None:
        """When the next round is wanted: at once while some are to be looked at, else when a plan says so."""
        wakes = [plan.wake_at for plan in self.plans.values() if plan.wake_at is not None]
        return now if self._unlooked else min(wakes, default=None)

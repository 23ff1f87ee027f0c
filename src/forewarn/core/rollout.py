"""Rollouts: work over many hosts, wave by wave.

A rollout owns no machine and announces nothing by itself: each host in it has a turn, and a turn that comes up is
an operation like any other (operation.py). What happens next is decided in rollout_course.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from forewarn.core.notice import notice_ends
from forewarn.core.terms import Kind
from forewarn.core.window import Window


class RolloutState(StrEnum):
    """Where a rollout is in its life."""

    RUNNING = "Running"
    PAUSED = "Paused"
    COMPLETED = "Completed"
    ABORTED = "Aborted"
    FAILED = "Failed"  # every host had its turn, and some ended badly

    @property
    def is_open(self) -> bool:
        """Whether something may still come of it."""
        return self is RolloutState.RUNNING or self is RolloutState.PAUSED


class TurnState(StrEnum):
    """How far a host is."""

    WAITING = "Waiting"
    OPEN = "Open"  # its operation is announced or at work
    POSTPONED = "Postponed"  # its operation is announced for later: its wave does not wait for it
    DONE = "Done"
    FAILED = "Failed"
    SKIPPED = "Skipped"

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes of it."""
        return self not in _COMING


_COMING = frozenset({TurnState.WAITING, TurnState.OPEN, TurnState.POSTPONED})


@dataclass(frozen=True, slots=True)
class Work:
    """What a rollout does to each host, and within which limits."""

    kind: Kind
    by_live_migration: bool = False
    duration_seconds: int = -1
    notice: timedelta = timedelta(minutes=15)
    description: str = ""
    max_parallel: int = 10
    max_parallel_per_zone: int | None = None
    recovery: timedelta = timedelta(minutes=30)
    soak: timedelta = timedelta(0)
    health_wait: timedelta = timedelta(minutes=10)
    max_failures: int = 0
    max_unhealthy_percent: int = 0
    expected: timedelta = timedelta(seconds=65)  # from Started to the end, as a rule
    window: Window | None = None
    force_by: datetime | None = None

    @property
    def width(self) -> int:
        """How many hosts of one wave, which lies in one zone, may be at work at once."""
        zone = self.max_parallel_per_zone
        return self.max_parallel if zone is None else min(zone, self.max_parallel)

    def is_forced(self, now: datetime) -> bool:
        """Whether the work has to be done by now: neither the window nor owners' limits hold it any more."""
        return self.force_by is not None and now >= self.force_by

    def starts_forced(self, announced_at: datetime) -> bool:
        """Whether what is announced then, with its notice, starts when the work has to be done."""
        return self.is_forced(notice_ends(announced_at, self.notice))

    @property
    def announced_anyway_from(self) -> datetime | None:
        """From when on no minimum keeps hosts from being announced: their notice ends at the force-by date."""
        return None if self.force_by is None else notice_ends(self.force_by, timedelta(0)) - self.notice

    def window_at(self, now: datetime) -> Window | None:
        """The window that counts at this instant: none once the work has to be done."""
        return None if self.is_forced(now) else self.window


@dataclass(frozen=True, slots=True)
class Rollout:
    """Work over many hosts."""

    id: str
    work: Work
    asked_by: str
    created_at: datetime
    state: RolloutState = RolloutState.RUNNING
    waves: int = 0
    hosts: int = 0
    ended_at: datetime | None = None
    reason: str = ""  # why it is paused, or how it ended
    forgiven: int = 0  # failures that do not count any more: somebody has resumed it since
    resumed_at: datetime | None = None  # a wave that was not healthy is given its time anew from then on
    waived_wave: int = -1  # the wave that may begin whatever the health of the one before
    version: int = 0

    @property
    def title(self) -> str:
        """The rollout for a reader."""
        return f"rollout {self.short_id} ({self.work.kind} of {self.hosts} hosts)"

    @property
    def short_id(self) -> str:
        """The beginning of the id, for people."""
        return self.id[:8].lower()


@dataclass(frozen=True, slots=True)
class Turn:
    """One host's turn in a rollout."""

    rollout: str
    host: str
    wave: int
    position: int
    zone: str | None = None
    state: TurnState = TurnState.WAITING
    operation: str | None = None
    touched: tuple[str, ...] = ()  # the VMs that were worked on
    domains: tuple[str, ...] = ()  # and the update domains that they are in: `web#0`
    announced_at: datetime | None = None
    ended_at: datetime | None = None
    rests_from: datetime | None = None  # its end, moved with every clock step: recovery counts from it
    reason: str = ""
    version: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """One turn per rollout and host."""
        return self.rollout, self.host


def domain_name(set_name: str, update_domain: int) -> str:
    """An update domain of a set, as a turn writes it down."""
    return f"{set_name}#{update_domain}"

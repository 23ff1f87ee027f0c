"""Events: the notice of an operation in one scope.

An operation on a shared host has one event per scope and update domain that has VMs on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from forewarn.core.phase import Phase
from forewarn.core.terms import Kind, Source

EVENTS_PER_COMMIT = 1 << 20


class Approval(NamedTuple):
    """Who said "go ahead", and when."""

    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Event:
    """What one scope is told of an operation."""

    id: str
    number: int  # creation order, over restarts too
    operation: str
    scope: str
    update_domain: int | None
    resources: tuple[str, ...]
    kind: Kind
    source: Source
    description: str
    duration_seconds: int
    phase: Phase
    created_at: datetime
    notice: timedelta  # how long ahead it was promised
    not_before: datetime
    promised_at: datetime  # when the promised time will have passed: not_before, moved with every clock step
    approvals: tuple[Approval, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    reason: str = ""
    moved_in: int = 0  # the commit that last moved its NotBefore; 0: none has
    postponed_by: str | None = None
    postponed_at: datetime | None = None
    postponed_from: datetime | None = None  # NotBefore as the platform set it, where somebody has put it off since
    fault: str = ""  # the names of the faults that were put in against a law: `early_start, lost`
    early: timedelta = timedelta(0)  # how long before the promised time it starts: a fault, for tests
    version: int = 0

    @property
    def approved_by(self) -> str | None:
        """The first who approved."""
        return self.approvals[0].by if self.approvals else None

    @property
    def approved_at(self) -> datetime | None:
        """When it was first approved."""
        return self.approvals[0].at if self.approvals else None

    @property
    def made_in(self) -> int:
        """The number of the commit that made it."""
        return self.number // EVENTS_PER_COMMIT

    @property
    def due_at(self) -> datetime:
        """NotBefore as the platform set it, before anybody put it off."""
        return self.postponed_from or self.not_before

    @property
    def short_id(self) -> str:
        """The beginning of the id, for people."""
        return self.id[:8].lower()

    @property
    def title(self) -> str:
        """The event for a reader: `Reboot of web-3 (4f1c9a02)`."""
        return f"{self.kind} of {', '.join(self.resources) or 'nothing'} ({self.short_id})"

    def is_cleared(self, now: datetime) -> bool:
        """Whether it may start: it is approved, or its notice has run out."""
        return bool(self.approvals) or now >= self.lapses_at

    @property
    def lapses_at(self) -> datetime:
        """When it may start unapproved: the notice has run out, or a fault does not wait for that."""
        return self.notice_ends_at - self.early

    @property
    def notice_ends_at(self) -> datetime:
        """When the notice has run out, by the wall clock and by the time that has really passed."""
        return max(self.not_before, self.promised_at)

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults that were put in, by name."""
        return tuple(self.fault.split(", ")) if self.fault else ()


Visible = tuple[object, ...]


def visible(event: Event) -> Visible:
    """All that guests can see of the event, for telling whether a document changed."""
    started = event.phase is Phase.STARTED
    return (
        event.id,
        event.phase,
        event.kind,
        event.resources,
        "" if started else event.not_before,
        event.description,
        event.source,
        event.duration_seconds,
    )

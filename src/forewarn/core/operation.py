"""Operations, and the attempts that carry them out machine by machine.

An operation is one thing done to machines at once. What guests are told of it are its events (event.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from forewarn.core.phase import Phase
from forewarn.core.terms import Action, Cause, Kind, Source


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing done to machines at once: a restart of one VM, a freeze of one host, an eviction."""

    id: str
    cause: Cause
    action: Action
    source: Source
    kind: Kind | None  # None: guests are told nothing of it
    targets: tuple[str, ...]
    asked_by: str
    created_at: datetime
    phase: Phase
    host: str | None = None  # set for work on a whole host
    description: str = ""
    duration_seconds: int = -1
    started_at: datetime | None = None
    begin_at: datetime | None = None  # Started is visible from started_at; machines are touched from here on
    ended_at: datetime | None = None
    reason: str = ""
    batch: str | None = None  # the request that asked for this and others at once
    rollout: str | None = None  # the rollout that it is a host's turn in
    version: int = 0

    @property
    def title(self) -> str:
        """The operation for a reader: `Reboot of web-3`, `Freeze of host-0`, `stop of web-3`."""
        return f"{self.kind or self.cause} of {self.host or ', '.join(self.targets) or 'nothing'}"


class Outcome(StrEnum):
    """How an attempt ended."""

    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One action on one machine: recorded before the machine is touched."""

    operation: str
    vm: str
    action: Action
    recorded_at: datetime
    deadline_at: datetime
    host: str  # where the machine was
    destination: str | None = None  # where it is to come up
    duration_seconds: int = -1
    outcome: Outcome | None = None
    reason: str = ""
    ended_at: datetime | None = None
    version: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """One attempt per operation and machine, whatever crashed."""
        return self.operation, self.vm

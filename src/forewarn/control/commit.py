"""A command's way to the plane: it writes a draft, and what is committed comes back as values.

A command is a function of a `CommandTarget`: the plane, or a dry run, which keeps nothing. A refusal changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from forewarn.board.faults import FaultBook
from forewarn.clock import Clock
from forewarn.control.health import HealthSource
from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.notice import Limits
from forewarn.core.operation import Operation
from forewarn.core.refusal import Refusal
from forewarn.core.requests.machines import MachineFactory
from forewarn.core.world import Changes, World
from forewarn.store.sql import SqlStore

Write = Callable[[Draft], Refusal | None]  # it may be run more than once, each time on a new draft


@dataclass(frozen=True, slots=True)
class Accepted:
    """An operation that was asked for, with its events."""

    operation: Operation
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit changed, as it left it; nothing, where there was nothing to change."""

    changes: Changes

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations that it made or changed."""
        return tuple(each for each in self.changes.entities if isinstance(each, Operation))

    @property
    def events(self) -> tuple[Event, ...]:
        """The events that it made, ended or changed."""
        return tuple(each for each in self.changes.entities if isinstance(each, Event))

    def accepted(self, operation: str) -> Accepted:
        """The operation of that id, which it made."""
        (found,) = (each for each in self.operations if each.id == operation)
        return Accepted(found, tuple(each for each in self.events if each.operation == operation))


class CommandTarget(Protocol):
    """What a command reads and changes."""

    world: World
    limits: Limits
    clock: Clock
    store: SqlStore
    faults: FaultBook | None  # None: machines are real, and no faults are put in
    health: HealthSource  # of sets
    machine_factory: MachineFactory

    def new_id(self) -> str:
        """An id for something new."""

    def commit(self, actor: str, write: Write) -> Committed | Refusal:
        """Let a rule write a draft, and commit it."""


def refusal_of(outcome: object) -> Refusal | None:
    """The refusal, where there is one."""
    return outcome if isinstance(outcome, Refusal) else None

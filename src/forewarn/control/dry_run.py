"""Dry runs: a command is carried out on a copy of the world, and nothing is kept.

`DryRun` takes the same commands as the plane, by the same rules. It writes to no store, board or driver.
"""

from __future__ import annotations

from dataclasses import replace

from forewarn.control.commit import CommandTarget, Committed, Write
from forewarn.control.faults import put_in
from forewarn.core.draft import Draft, key_of
from forewarn.core.event import Event
from forewarn.core.operation import Operation
from forewarn.core.refusal import Refusal
from forewarn.core.rollout import Rollout
from forewarn.core.settle import settle
from forewarn.core.world import Changes, Entity
from forewarn.ids import random_id


class DryRun:
    """The plane as it would be after a command. Its ids are made up: the real command gets others."""

    def __init__(self, plane: CommandTarget) -> None:
        self.world = plane.world.copy()
        self.limits = plane.limits
        self.clock = plane.clock
        self.store = plane.store
        self.faults = plane.faults
        self.health = plane.health
        self.machine_factory = replace(plane.machine_factory, new_id=random_id)
        self.new_id = random_id  # the plane's ids may be a sequence that a scenario relies on
        self._known = set(self.world.operations)
        self._changed: dict[object, Entity] = {}

    def commit(self, actor: str, write: Write) -> Committed | Refusal:
        """Let a rule write a draft, and apply it to the copy."""
        draft = Draft(self.world, self.clock.now(), actor)
        if (refusal := write(draft)) is not None:
            return refusal
        if draft.is_empty:
            return Committed(Changes(self.world.number))
        settle(draft, self.limits)
        put_in(draft, () if self.faults is None else self.faults.on_events)  # hits count when they are committed
        shown = {event.id for event in draft.shown_events()}
        changes = draft.seal()
        self.world.apply(changes)
        for entity in changes.entities:
            if not isinstance(entity, Event) or entity.id in shown:
                self._changed[key_of(entity)] = entity
        return Committed(changes)

    @property
    def operations(self) -> list[Operation]:
        """The operations that the command opens."""
        changed = (each for each in self._changed.values() if isinstance(each, Operation))
        return [each for each in changed if each.id not in self._known]

    @property
    def events(self) -> list[Event]:
        """The events that the command announces, ends or changes, in the order of their numbers."""
        changed = (each for each in self._changed.values() if isinstance(each, Event))
        return sorted(changed, key=lambda event: event.number)

    @property
    def rollouts(self) -> list[Rollout]:
        """The rollouts that the command changes."""
        return [each for each in self._changed.values() if isinstance(each, Rollout)]

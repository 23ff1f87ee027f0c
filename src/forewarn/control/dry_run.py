"""Dry runs: a request is carried out on a copy of the world, and nothing is kept.

`DryRun` answers the same requests as the plane, by the same rules. It writes to no store, board or driver.
"""

from __future__ import annotations

from forewarn.control.faults import put_in
from forewarn.control.requests import Requests, Write
from forewarn.core.draft import Draft, key_of
from forewarn.core.event import Event
from forewarn.core.operation import Operation
from forewarn.core.refusal import Refusal
from forewarn.core.rollout import Rollout
from forewarn.core.settle import settle
from forewarn.core.world import Entity
from forewarn.ids import random_id


class DryRun(Requests):
    """The plane as it would be after a request. Its ids are made up: the real request gets others."""

    def __init__(self, plane: Requests) -> None:
        self.world = plane.world.copy()
        self.rules = plane.rules
        self.clock = plane.clock
        self.store = plane.store
        self.faults = plane.faults
        self.heard = plane.heard
        self._new_id = random_id  # the plane's ids may be a sequence that a scenario relies on
        self._known = set(self.world.operations)
        self._changed: dict[object, Entity] = {}

    def change(self, actor: str, write: Write) -> Refusal | None:
        """Let a rule write a draft, and apply it to the copy."""
        draft = Draft(self.world, self.clock.now(), actor)
        refusal = write(draft)
        if refusal is not None or draft.is_empty:
            return refusal
        settle(draft, self.rules)
        put_in(draft, () if self.faults is None else self.faults.on_events)  # hits count when they are committed
        shown = {event.id for event in draft.shown_events()}
        changes = draft.seal()
        self.world.apply(changes)
        for entity in changes.entities:
            if not isinstance(entity, Event) or entity.id in shown:
                self._changed[key_of(entity)] = entity
        return None

    @property
    def operations(self) -> list[Operation]:
        """The operations that the request opens."""
        changed = (each for each in self._changed.values() if isinstance(each, Operation))
        return [each for each in changed if each.id not in self._known]

    @property
    def events(self) -> list[Event]:
        """The events that the request announces, ends or changes, in the order of their numbers."""
        changed = (each for each in self._changed.values() if isinstance(each, Event))
        return sorted(changed, key=lambda event: event.number)

    @property
    def rollouts(self) -> list[Rollout]:
        """The rollouts that the request changes."""
        return [each for each in self._changed.values() if isinstance(each, Rollout)]

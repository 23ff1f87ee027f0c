"""What one scope sees now: its incarnation and its open events.

Equal incarnations of one generation mean equal documents; `Draft.seal` sees to that.
"""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.core.event import Event
from forewarn.core.scope import ScopeKind
from forewarn.core.world import World


@dataclass(frozen=True, slots=True)
class Document:
    """What every guest of a scope is told at this moment."""

    generation: int
    incarnation: int
    events: tuple[Event, ...] = ()
    names_role_instances: bool = False  # old api-versions write these names as they are


def document_of(world: World, scope: str) -> Document:
    """The scope's document as the world has it."""
    found = world.scopes[scope]
    return Document(
        generation=found.generation,
        incarnation=found.incarnation,
        events=tuple(world.events_in(scope)),
        names_role_instances=found.kind is ScopeKind.CLOUD_SERVICE,
    )

"""The other agents, as the keeper knows them: who is ready, whom to tell. `peers.py` is how they are reached."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Promise:
    """That this VM is ready for an event, for the leader to hear."""

    event: str
    vm: str
    leader: str


class Company(Protocol):
    """The others."""

    def ready_for(self, event: str) -> AbstractSet[str]:
        """The VMs whose word for the event still counts."""

    def tell(self, promises: frozenset[Promise]) -> None:
        """From now on these hold, and no others."""


class Alone:
    """No others: nobody is ready, and nobody is told."""

    def ready_for(self, event: str) -> AbstractSet[str]:
        """Nobody."""
        del event
        return frozenset()

    def tell(self, promises: frozenset[Promise]) -> None:
        """Nobody listens."""

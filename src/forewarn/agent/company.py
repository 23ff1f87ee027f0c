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


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What has become of a word that was given, and is to count no more."""

    leader: str
    is_known: bool  # to the leader; or the word has surely expired
    seconds: float = 0  # for so long at most it may count, if it is not

    def in_words(self) -> str:
        """For the operator who wanted it so."""
        if self.is_known:
            return f"{self.leader}, who approves for all, knows that this VM is not ready."
        return (
            f"But {self.leader}, who approves for all, could not be told yet: until it is, or for "
            f"{self.seconds:.0f} s at most, it may still approve the event. The agent goes on telling it."
        )


class Company(Protocol):
    """The others."""

    def ready_for(self, event: str) -> AbstractSet[str]:
        """The VMs whose word for the event still counts."""

    def tell(self, promises: frozenset[Promise]) -> None:
        """From now on these hold, and no others."""

    def take_back(self, event: str, seconds: float) -> TakenBack | None:
        """Have the word for an event count no more, and wait so long for that; None: none was given."""


class Alone:
    """No others: nobody is ready, and nobody is told."""

    def ready_for(self, event: str) -> AbstractSet[str]:
        """Nobody."""
        del event
        return frozenset()

    def tell(self, promises: frozenset[Promise]) -> None:
        """Nobody listens."""

    def take_back(self, event: str, seconds: float) -> TakenBack | None:
        """Nothing was told."""
        del event, seconds
        return None

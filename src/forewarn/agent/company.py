"""The other agents, as the keeper knows them: who is ready, whom to tell. `peers.py` is how they are reached."""

from __future__ import annotations

import math
import zlib
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import Protocol

from forewarn.agent.compat import StrEnum, dataclass
from forewarn.agent.events import Event


def as_seen(event: Event) -> str:
    """What an event is about, for two agents to compare: all that rules may choose by."""
    due = event.not_before.isoformat(timespec="seconds") if event.not_before else "-"
    source = event.source.lower() or "-"
    lasts = "-" if event.duration_seconds is None else str(event.duration_seconds)
    description = f"{zlib.crc32(event.description.encode()):08x}"
    names = sorted(name.lower() for name in event.resources)
    return " ".join((event.type.lower(), due, source, lasts, description, *names))


@dataclass(frozen=True, slots=True)
class Promise:
    """That this VM is ready for an event, for the leader to hear."""

    event: str
    vm: str
    leader: str
    seen_as: str  # what the event was when this VM was ready for it: `as_seen`
    until: float = field(default=math.inf, compare=False)  # on the steady clock; it may be given anew before


class Fate(StrEnum):
    """What has become of a word that is to count no more."""

    TAKEN_BACK = "taken back"  # the leader knows, and has not approved
    TOO_LATE = "too late"  # the leader knows, and has approved already
    EXPIRED = "expired"  # the leader could not be told: whether it has approved before, nobody knows
    MAY_COUNT = "may count"  # the leader could not be told yet


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A word that was given, and is to count no more."""

    leader: str
    fate: Fate
    seconds: float = 0  # for so long at most it may still count

    def in_words(self) -> str:
        """For the operator who wanted it so."""
        leader = f"{self.leader}, who approves for all,"
        if self.fate is Fate.TAKEN_BACK:
            return f"{leader} knows that this VM is not ready."
        if self.fate is Fate.TOO_LATE:
            return f"But {leader} has approved it already: it may start at any moment."
        if self.fate is Fate.EXPIRED:
            return (
                f"{leader} could not be told. That this VM was ready counts no more; whether it was approved "
                "before that is not known."
            )
        return (
            f"But {leader} could not be told yet: until it is, or for {self.seconds:.0f} s at most, it "
            "may still approve the event. The agent goes on telling it."
        )


class Company(Protocol):
    """The others."""

    def ready_for(self, event: Event) -> AbstractSet[str]:
        """The VMs whose word for the event, as it is seen here, still counts."""

    def tell(self, promises: frozenset[Promise]) -> None:
        """From now on these hold, and no others."""

    def take_back(self, event: str, seconds: float) -> TakenBack | None:
        """Have the word for an event count no more, and wait so long for that; None: none was given."""


class Alone:
    """No others: nobody is ready, and nobody is told."""

    def ready_for(self, event: Event) -> AbstractSet[str]:
        """Nobody."""
        del event
        return frozenset()

    def tell(self, promises: frozenset[Promise]) -> None:
        """Nobody listens."""

    def take_back(self, event: str, seconds: float) -> TakenBack | None:
        """Nothing was told."""
        del event, seconds
        return None

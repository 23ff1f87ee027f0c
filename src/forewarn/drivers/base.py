"""The protocol between the plane and whatever acts on machines: begin, then check.

Both return at once; a driver whose work is slow does it on a thread of its own. `check` judges by effect: after
a crash it is all that is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from forewarn.core.operation import Attempt, Outcome
from forewarn.core.terms import VmState


@dataclass(frozen=True, slots=True)
class NotBegun:
    """Proven: nothing was done to the machine, so the attempt may begin (again)."""


@dataclass(frozen=True, slots=True)
class Running:
    """The action is under way; look again then, or in a moment."""

    again_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The action is over, and this is what has become of the machine."""

    outcome: Outcome
    reason: str = ""
    state: VmState | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Undecidable:
    """Whether the action began cannot be told. The operation fails and says so; nothing is tried again."""

    why: str


Progress = NotBegun | Running | Ended | Undecidable


class Driver(Protocol):
    """Acts on machines; the plane has recorded an attempt before it calls `begin`."""

    @property
    def makes_machines(self) -> bool:
        """Whether a VM that is asked for comes to be."""

    @property
    def is_simulated(self) -> bool:
        """Whether no real machine is touched: only then may faults be put in."""

    def begin(self, attempt: Attempt) -> None:
        """Set the action going. An exception means nothing certain: `check` decides."""

    def check(self, attempt: Attempt) -> Progress:
        """How the action stands, judged by effect."""

    def close(self) -> None:
        """Let go of what the driver holds; actions under way go on."""

"""What checkers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.witness import LawBroken

if TYPE_CHECKING:
    from tests.simulation.run import Simulation


class Checker:
    """One law, watching one simulation. Override what it wants to see."""

    number = 0

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.witness = simulation.witness

    def after_tick(self) -> None:
        """A tick has succeeded."""

    def after_wake(self) -> None:
        """The plane has ticked because it had asked to be woken."""

    def now_and_then(self) -> None:
        """Time has passed in which nothing had to happen; the plane is up and nothing is in its way."""

    def after_restart(self) -> None:
        """A new process has taken over the store."""

    def at_end(self) -> None:
        """Faults have stopped and time enough has passed."""

    def saw_answer(self, scope: str, tag: tuple[object, ...], body: bytes) -> None:
        """A guest was answered with a document."""

    def require(self, holds: bool, message: str) -> None:  # noqa: FBT001 - it is what is required
        """The law demands it."""
        if not holds:
            raise LawBroken(f"law {self.number}: {message}")

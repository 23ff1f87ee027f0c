"""What all parts of the keeper go by. For the keeper's thread only."""

from __future__ import annotations

from forewarn.agent.book import Book
from forewarn.agent.clock import Clock
from forewarn.agent.compat import dataclass
from forewarn.agent.metrics import Metrics
from forewarn.agent.reporting import Reporter


@dataclass(frozen=True, slots=True)
class Common:
    """The time, the boot, the cases, and who is told what becomes of them."""

    clock: Clock
    boot: str
    book: Book
    reporter: Reporter
    metrics: Metrics

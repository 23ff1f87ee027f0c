"""What guests have done so far, counted for the metrics page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """Counts since the service started."""

    polls: int = 0
    approvals: int = 0
    refused: Counter[int] = field(default_factory=Counter)  # by status

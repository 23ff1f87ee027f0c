"""When to look again: a heap of instants, one per key.

Setting a key anew outdates its former instant; outdated ones are skipped when they come up.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
At = TypeVar("At", datetime, timedelta)


class Wakes(Generic[K, At]):
    """Keys by the instant at which they are due."""

    def __init__(self) -> None:
        self._at: dict[K, At] = {}
        self._heap: list[tuple[At, int, K]] = []
        self._count = 0

    def set(self, key: K, at: At | None) -> None:
        """Let the key come up then; with None, not at all."""
        if at is None:
            self._at.pop(key, None)
        elif self._at.get(key) != at:
            self._at[key] = at
            self._count += 1  # ties come up in the order in which they were set
            heapq.heappush(self._heap, (at, self._count, key))

    def take(self, now: At) -> list[K]:
        """The keys that are due, each once; they are not in here any more."""
        due: list[K] = []
        while self._heap and self._heap[0][0] <= now:
            at, _, key = heapq.heappop(self._heap)
            if self._at.get(key) == at:
                del self._at[key]
                due.append(key)
        return due

    def next(self) -> At | None:
        """The earliest instant at which something is due."""
        while self._heap and self._at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def clear(self) -> None:
        """Forget everything."""
        self._at.clear()
        self._heap.clear()

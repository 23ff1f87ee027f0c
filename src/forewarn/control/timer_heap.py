"""When to look again: a heap of instants, one per key.

Putting a key off is the common case and costs nothing: its entry stays where it is and is moved on when it comes
up, so the heap is never larger than the number of keys and of those that were pulled nearer.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
At = TypeVar("At", datetime, timedelta)


class TimerHeap(Generic[K, At]):
    """Keys by the instant at which they are due."""

    def __init__(self) -> None:
        self._at: dict[K, tuple[At, int]] = {}  # when it is due, and which setting that was
        self._queued: dict[K, At] = {}  # where its entry in the heap stands
        self._heap: list[tuple[At, int, K]] = []
        self._count = 0

    def set(self, key: K, at: At | None) -> None:
        """Let the key come up then; with None, not at all."""
        if at is None:
            self._at.pop(key, None)
            return
        known = self._at.get(key)
        if known is not None and known[0] == at:
            return
        self._count += 1  # ties come up in the order in which they were set
        self._at[key] = (at, self._count)
        queued = self._queued.get(key)
        if queued is None or at < queued:
            self._push(key, at, self._count)

    def _push(self, key: K, at: At, count: int) -> None:
        self._queued[key] = at
        heapq.heappush(self._heap, (at, count, key))

    def take(self, now: At) -> list[K]:
        """The keys that are due, each once; they are not in here any more."""
        due: list[K] = []
        while (at := self.next()) is not None and at <= now:
            _, _, key = heapq.heappop(self._heap)
            del self._queued[key], self._at[key]
            due.append(key)
        return due

    def next(self) -> At | None:
        """The earliest instant at which something is due."""
        while self._heap:
            at, _, key = self._heap[0]
            due = self._at.get(key)
            if self._queued.get(key) == at and due is not None and due[0] == at:
                return at
            heapq.heappop(self._heap)
            if self._queued.get(key) == at:
                del self._queued[key]
                if due is not None:  # it was put off
                    self._push(key, *due)
        return None

    def __len__(self) -> int:
        return len(self._heap)

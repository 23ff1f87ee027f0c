"""The line of one webhook: what it has still to be told, in order for each event.

Of each event the oldest stands in front; the others wait behind it. One that failed comes up again later,
and holds up nothing but its own event.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass

from forewarn.store.webhooks import Delivery


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long and how often a delivery is tried: at once, then twice as late each time, up to a limit."""

    first_seconds: float = 1.0
    most_seconds: float = 600.0
    tries: int = 150  # about a day

    def pause(self, tries: int, chance: float) -> float:
        """How long to wait after so many tries; chance, from 0 to 1, keeps those apart that failed together."""
        longest = min(self.most_seconds, self.first_seconds * 2.0 ** min(tries - 1, 60))
        return longest * (1 + chance) / 2

    def is_over(self, tries: int) -> bool:
        """Whether that was often enough."""
        return tries >= self.tries


class DeliveryQueue:
    """Deliveries of one webhook by the moment at which they are due."""

    def __init__(self) -> None:
        self._of_event: dict[str, deque[Delivery]] = {}
        self._fronts: list[tuple[float, int, str]] = []  # when due, the delivery's number, its event
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def join(self, delivery: Delivery, now: float) -> None:
        """Let it stand behind all that wait of the same event."""
        queue = self._of_event.setdefault(delivery.event, deque())
        queue.append(delivery)
        self._length += 1
        if len(queue) == 1:
            self._come_up(delivery, now)

    def next_due(self) -> float | None:
        """When the next one is due."""
        return self._fronts[0][0] if self._fronts else None

    def take(self, now: float) -> Delivery | None:
        """One that is due, and which is then in hand: the next of its event waits until it is settled."""
        if not self._fronts or self._fronts[0][0] > now:
            return None
        _, _, event = heapq.heappop(self._fronts)
        return self._of_event[event][0]

    def leave(self, delivery: Delivery, now: float) -> None:
        """The one in hand has arrived or is given up; the next of its event comes up."""
        queue = self._of_event[delivery.event]
        queue.popleft()
        self._length -= 1
        if queue:
            self._come_up(queue[0], now)
        else:
            del self._of_event[delivery.event]

    def put_back(self, delivery: Delivery, at: float) -> None:
        """The one in hand did not arrive: it comes up again then."""
        self._of_event[delivery.event][0] = delivery
        self._come_up(delivery, at)

    def _come_up(self, delivery: Delivery, at: float) -> None:
        heapq.heappush(self._fronts, (at, delivery.number, delivery.event))

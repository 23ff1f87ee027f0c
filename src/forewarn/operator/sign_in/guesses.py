"""Guessing is made slow: who has guessed wrong too often waits for the answer, longer each time.

Only guesses are counted and only guessers are told: a good credential from the same address goes on working, since
behind one address there may be many. The table is bounded.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from forewarn.core.addresses import canonical

_FREE = 10  # wrong guesses within the window
_WINDOW_SECONDS = 60.0
FIRST_WAIT_SECONDS = 2
_LONGEST_WAIT_SECONDS = 64
_REMEMBERED = _FREE + _LONGEST_WAIT_SECONDS.bit_length() - 1  # more do not lengthen the wait
_MOST_ADDRESSES = 10_000


class Guesses:
    """Counts wrong guesses by address."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._by_address: OrderedDict[str, deque[float]] = OrderedDict()

    def wrong(self, address: str) -> int:
        """Note a wrong guess; how many seconds the guesser is to wait, 0 for none."""
        now = self._monotonic()
        key = _network(address)
        recent = self._by_address.setdefault(key, deque(maxlen=_REMEMBERED))
        self._by_address.move_to_end(key)
        if len(self._by_address) > _MOST_ADDRESSES:
            self._by_address.popitem(last=False)
        while recent and now - recent[0] > _WINDOW_SECONDS:
            recent.popleft()
        recent.append(now)
        return 0 if len(recent) <= _FREE else FIRST_WAIT_SECONDS ** (len(recent) - _FREE)

    def is_slowed(self, address: str) -> bool:
        """Whether guesses from there have to wait."""
        recent = self._by_address.get(_network(address), ())
        return sum(self._monotonic() - at <= _WINDOW_SECONDS for at in recent) > _FREE


def _network(address: str) -> str:
    """One guesser has all of an IPv6 network to call from; an IPv4 one inside IPv6 is itself."""
    try:
        found = ip_address(canonical(address))
    except ValueError:
        return address
    return found.exploded[:19] if isinstance(found, IPv6Address) else str(found)

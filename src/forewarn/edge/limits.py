"""How much of everything a guest may use. A limit on everything, and each limit has its answer."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from forewarn.board.board import Guest

MOST_CONNECTIONS = 100_000
_ROUNDING = 1e-6  # seconds; sums of fractions are not exact


@dataclass(frozen=True, slots=True)
class GuestLimits:
    """What guests may ask of the listener."""

    requests_per_second: float = 5  # 0: no limit
    header_bytes: int = 16 * 1024
    body_bytes: int = 64 * 1024
    connections: int = MOST_CONNECTIONS
    connections_per_guest: int = 256
    connections_of_strangers: int = 256
    request_seconds: float = 10  # to send one request, from its first byte; and to take what is answered
    idle_seconds: float = 75  # between requests on one connection
    commit_seconds: float = 150  # for an approval or a first poll to be committed


# What each limit is, and what is answered beyond it; the reference page is made from it.
IN_WORDS = MappingProxyType(
    {
        "requests_per_second": "requests a second, and as many at once; then 429. 0: no limit (`--rate-limit`)",
        "header_bytes": "bytes of target and headers; then 431",
        "body_bytes": "bytes of a body; then 413",
        "connections": "connections of all callers at a time, or as many as there are files for; then 503",
        "connections_per_guest": "connections of one guest at a time; then 503",
        "connections_of_strangers": "connections of all callers that are no guests at a time; then 503",
        "request_seconds": "seconds for one request to arrive, then 408; and for a guest to take its answers",
        "idle_seconds": "seconds between two requests on one connection; then it is closed",
        "commit_seconds": "seconds for an approval or a first poll to be committed; then 500",
    }
)


class RateLimiter:
    """Up to N requests at once, refilled N a second, in one number per guest."""

    __slots__ = ("_cost", "_slack")

    def __init__(self, requests_per_second: float) -> None:
        self._cost = 1 / requests_per_second if requests_per_second else 0.0
        self._slack = 1 - self._cost + _ROUNDING

    def admits(self, guest: Guest, now: float) -> bool:
        """Whether one more request is within the limit; if so, it is counted."""
        free_at = guest.next_free_at
        if free_at - now > self._slack:
            return False
        guest.next_free_at = (max(now, free_at)) + self._cost
        return True

"""A bounded rate for work on the loop that operators and guests share.

Guests' polls are answered between two turns: a flood of paced requests delays a poll by one request at most.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

STRANGERS_PER_SECOND = 250  # requests without a valid credential
STRANGERS_AT_ONCE = 256
TOKENS_PER_SECOND = 25  # requests for a token, which cost far more
TOKENS_AT_ONCE = 20


class Pacer:
    """Hands out turns in order: some at once, then so many per second."""

    def __init__(self, per_second: float, burst: int, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._spacing = 1 / per_second
        self._credit = (burst - 1) * self._spacing
        self._given_loop = loop
        self._next_at = float("-inf")  # when the next turn is, were there no burst
        self._waiting: deque[tuple[asyncio.Future[None], Callable[[], bool]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        return self._given_loop or asyncio.get_running_loop()

    async def turn(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Return when it is this caller's turn; one that is no longer wanted takes none and returns early."""
        if not self._waiting and self._take():
            return
        turn: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((turn, is_wanted))
        self._arm()
        await turn

    def _take(self) -> bool:
        now = self._loop.time()
        at = max(self._next_at, now - self._credit)
        if at > now:
            return False
        self._next_at = at + self._spacing
        return True

    def _arm(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(max(0.0, self._next_at - self._loop.time()), self._let_in)

    def _let_in(self) -> None:
        self._timer = None
        while self._waiting:
            turn, is_wanted = self._waiting[0]
            if not turn.cancelled() and is_wanted() and not self._take():
                self._arm()
                return
            self._waiting.popleft()
            if not turn.cancelled():
                turn.set_result(None)


def pacer_for_strangers() -> Pacer:
    """The rate at which requests without a valid credential are refused."""
    return Pacer(STRANGERS_PER_SECOND, STRANGERS_AT_ONCE)


def pacer_for_tokens() -> Pacer:
    """The rate at which requests for a token begin."""
    return Pacer(TOKENS_PER_SECOND, TOKENS_AT_ONCE)

"""One at a time, for work that takes a processor for seconds: the others wait, and not too many of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_MOST = 8  # who works, and who waits


class PreviewQueue:
    """Lets one in at a time, in the order in which they came."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._count = 0

    @property
    def is_full(self) -> bool:
        """Whether too many wait already."""
        return self._count >= _MOST

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for one's turn, and have it for the length of a block."""
        self._count += 1
        try:
            async with self._lock:
                yield
        finally:
            self._count -= 1

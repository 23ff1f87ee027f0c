"""When each credential was last used, roughly: in memory at once, in the store once a minute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

_ROUGHLY = timedelta(minutes=1)


class Uses:
    """Remembers uses; what is worth it goes to `write`."""

    def __init__(self, write: Callable[[Mapping[str, datetime]], object]) -> None:
        self._write = write
        self._last: dict[str, datetime] = {}
        self._written: dict[str, datetime] = {}

    def note(self, credential: str, now: datetime) -> None:
        """It was used."""
        self._last[credential] = now
        written = self._written.get(credential)
        if written is None or now - written >= _ROUGHLY:
            self._write(self.take())

    def last(self, credential: str) -> datetime | None:
        """When it was last used, as far as this process knows."""
        return self._last.get(credential)

    def take(self) -> dict[str, datetime]:
        """What is not written down yet; from now on it counts as written."""
        fresh = {each: at for each, at in self._last.items() if self._written.get(each) != at}
        self._written.update(fresh)
        return fresh

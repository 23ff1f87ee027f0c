"""A watcher on a thread of its own, and what it has seen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from forewarn.agent.clock import Clock
from forewarn.agent.endpoints import Endpoints
from forewarn.agent.metadata import Metadata
from forewarn.agent.settings import Settings
from forewarn.agent.watching import Sighting, Trouble, Watcher

QUICK = {"poll_seconds": 0.02, "doubt_seconds": 0.02, "timeout_seconds": 20, "first_timeout_seconds": 60}

STEADY = Clock().monotonic


def hours_later(hours: list[float]) -> Callable[[], float]:
    """A timer that a test can put forward."""
    return lambda: hours[0] * 3600 + STEADY()


class Looking:
    """What a watcher has told so far."""

    def __init__(self, metadata: Metadata, clock: Clock, settings: Settings) -> None:
        self.sightings: list[Sighting] = []
        self.troubles: list[Trouble] = []
        self.clock = clock
        self._news = threading.Condition()
        self._stop = threading.Event()
        self.watcher = Watcher(metadata, clock, settings, self._see, self._fear)
        self.thread = threading.Thread(target=self.watcher.run, args=(self._stop,), name="watcher", daemon=True)

    def _see(self, sighting: Sighting) -> None:
        with self._news:
            self.sightings.append(sighting)
            self._news.notify_all()

    def _fear(self, trouble: Trouble) -> None:
        with self._news:
            self.troubles.append(trouble)
            self._news.notify_all()

    @property
    def last(self) -> Sighting:
        return self.sightings[-1]

    @property
    def ids(self) -> list[str]:
        """The events of the last sighting."""
        return [event.id for event in self.last.document.events] if self.sightings else []

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
        """Wait until what was told makes it true."""
        with self._news:
            assert self._news.wait_for(condition, seconds), f"waited {seconds} s for {what}"

    def wait_for_sightings(self, count: int) -> None:
        """Wait for so many in all."""
        self.wait_until(lambda: len(self.sightings) >= count, f"{count} sightings")

    def wait_for_more_sightings(self, count: int) -> None:
        """Wait for so many more than there are now."""
        wanted = len(self.sightings) + count
        self.wait_until(lambda: len(self.sightings) >= wanted, f"{count} more sightings")

    def wait_for_troubles(self, count: int) -> None:
        """Wait for so many in all."""
        self.wait_until(lambda: len(self.troubles) >= count, f"{count} troubles")

    def stop(self) -> None:
        self._stop.set()
        self.watcher.look_again()
        self.thread.join(60)


@contextmanager
def looking(
    *urls: str, environment: Mapping[str, str] | None = None, clock: Clock | None = None, **settings: Any
) -> Iterator[Looking]:
    """Somebody who watches these endpoints for the length of a block."""
    told = Settings(endpoints=urls, **(QUICK | settings))
    seen = Looking(Metadata(Endpoints(urls, environment), told), clock or Clock(), told)
    seen.thread.start()
    try:
        yield seen
        assert seen.thread.is_alive(), "the watcher has died"
    finally:
        seen.stop()
    assert not seen.thread.is_alive(), "the watcher does not stop"

"""What is known of each endpoint: its version, its last tag, whether it works; and which one is asked."""

from __future__ import annotations

from collections.abc import Callable

from forewarn.agent.endpoints import Endpoints, Root
from forewarn.agent.http1 import Address, Connection
from forewarn.agent.settings import Settings

VERSIONS = ("2020-07-01", "2019-08-01", "2019-04-01", "2019-01-01", "2017-11-01", "2017-08-01", "2017-03-01")

# An endpoint that has worked is not left, and its version not given up, for a fault that passes.
_CHANCES = 3
# The first is the one that is meant. It is asked again when the one in its place has had no events for so long:
# while there are any, whoever has named them has to say what becomes of them.
_FIRST_AGAIN_AFTER_SECONDS = 20.0
_NEWER_AFTER_SECONDS = 3600.0
_SLOW_AGAIN_AFTER_SECONDS = 3600.0  # silence turns the feature off; the answer that turns it on takes its time


class Site:
    """One endpoint."""

    def __init__(self, root: Root, settings: Settings, timer: Callable[[], float]) -> None:
        self.root = root
        self.connection = Connection(root.address, connect_seconds=settings.timeout_seconds, timer=timer)
        self.tag = ""
        self.failures = 0  # in a row
        self.good_at: float | None = None
        self.has_events = False  # in its last document
        self._settings = settings
        self._timer = timer
        self._step = 0
        self._has_version = False  # whether the endpoint has taken this one
        self._refusals = 0  # of a version that it has taken before
        self._stepped_at = 0.0

    @property
    def version(self) -> str:
        """The version in which it is asked, for reading and for approving."""
        return self._settings.api_version or VERSIONS[self._step]

    def patience(self) -> float:
        """How long an answer may take."""
        is_first = self.good_at is None or self._timer() - self.good_at > _SLOW_AGAIN_AFTER_SECONDS
        return self._settings.first_timeout_seconds if is_first else self._settings.timeout_seconds

    def steps_down(self) -> bool:
        """After a 400: whether there is an older version to try."""
        if self._settings.api_version:
            return False
        self._refusals += 1
        if self._has_version and self._refusals < _CHANCES:
            return False
        self._has_version = False
        self.tag = ""
        self._stepped_at = self._timer()
        self._step = (self._step + 1) % len(VERSIONS)
        return self._step > 0

    def look_for_newer(self) -> None:
        """Begin with the newest again, once in a while."""
        if self._step and self._timer() - self._stepped_at > _NEWER_AFTER_SECONDS:
            self._step, self._has_version, self.tag = 0, False, ""

    def note_document(self, tag: str, *, has_events: bool) -> None:
        """A document has come."""
        self.has_events = has_events
        self.tag = tag if tag.isascii() and tag.isprintable() else ""
        self._has_version = True

    def note_success(self) -> None:
        """An answer has come."""
        self.failures = self._refusals = 0
        self.good_at = self._timer()

    def forget_tag(self) -> None:
        """Ask for all of it next time."""
        self.tag = ""


class Sites:
    """All endpoints, in turn."""

    def __init__(self, endpoints: Endpoints, settings: Settings, timer: Callable[[], float]) -> None:
        self._endpoints = endpoints
        self._settings = settings
        self._timer = timer
        self._known: dict[Address, Site] = {}
        self._roots = endpoints.roots()
        self.current = self._site(self._roots[0])
        self._last_good: Site | None = None
        self._first_again_at = 0.0

    @property
    def texts(self) -> tuple[str, ...]:
        """All of them, as they were looked for last."""
        return tuple(root.text for root in self._roots)

    @property
    def last_good(self) -> Site:
        """The one that has answered last; before there is any, the one that is asked."""
        return self._last_good or self.current

    def note_success(self) -> None:
        """The current one has answered."""
        self.current.note_success()
        self._last_good = self.current

    def first_again(self) -> Site | None:
        """The first one, where another is asked in its place and it is time to try; at most now and then."""
        now = self._timer()
        if self.current.root.address == self._roots[0].address:
            return None
        if self.current.has_events:
            self._first_again_at = now + _FIRST_AGAIN_AFTER_SECONDS
        if now < self._first_again_at:
            return None
        self._first_again_at = now + _FIRST_AGAIN_AFTER_SECONDS
        return self._site(self._roots[0])

    def go_back_to(self, site: Site) -> None:
        """It has answered, and is the one that is asked from now on."""
        self.current.connection.close()
        self.current = site
        self.note_success()

    def note_failure(self) -> None:
        """The current one has not answered: perhaps the next one does."""
        site = self.current
        site.failures += 1
        if site.good_at is None or site.failures >= _CHANCES:
            self._go_on()

    def _go_on(self) -> None:
        roots = self._roots = self._endpoints.roots()
        places = [root.address for root in roots]
        here = places.index(self.current.root.address) if self.current.root.address in places else -1
        following = self._site(roots[(here + 1) % len(roots)])
        if following is not self.current:
            self.current.connection.close()
            following.forget_tag()  # what it said last is not what was seen last
            following.failures = 0
            following.has_events = False
            self._first_again_at = self._timer() + _FIRST_AGAIN_AFTER_SECONDS
            self.current = following

    def _site(self, root: Root) -> Site:
        if root.address not in self._known:
            self._known[root.address] = Site(root, self._settings, self._timer)
        return self._known[root.address]

    def close(self) -> None:
        """Let go of the connections."""
        for site in self._known.values():
            site.connection.close()

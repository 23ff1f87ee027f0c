"""The poll loop: asks every second, or has the endpoint hold the question, and passes on what it sees.

Nothing here waits for anybody but the endpoint, and nothing ends the loop but `stop`.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from forewarn.agent.clock import Clock
from forewarn.agent.compat import dataclass
from forewarn.agent.events import Document, Sighting
from forewarn.agent.metadata import Answer, EndpointError, Metadata
from forewarn.agent.settings import Settings
from forewarn.agent.waking import Waker

_LONGEST_PAUSE_SECONDS = 2.5  # between two tries, whatever goes wrong: an event may be there for 3 s only
_QUICK_TRIES = 15  # after a failure, four times as fast: a fault that passes must not hide an event
_STEADY_TRIES = 60  # then at the usual pace, and then at half of it
_SLOW = {"throttled": 1.0, "gone": 0.5}  # of a poll: what the endpoint asks for is time
_GAP_SECONDS = 0.2  # between two questions in haste, or that may be held: five a second is what Azure allows
_FULL_AFTER_SECONDS = 60.0  # now and then the whole document, should a tag ever lie
_HOLDS_ANEW_AFTER_SECONDS = 600.0  # then see again whether the endpoint has learned to hold
_SURELY_HELD_SECONDS = 2.0

log = logging.getLogger("forewarn.agent")
News = TypeVar("News")


@dataclass(frozen=True, slots=True)
class Trouble:
    """No good answer."""

    kind: str  # of the `EndpointError`
    message: str
    since: datetime  # when it began
    is_blind: bool  # so long that an event may have come and gone unseen


class Interrupted(Exception):
    """A question is broken off: something else is wanted."""


def _jitter() -> float:
    """Somewhere between 0.9 and 1.1; `random` is not worth its memory here."""
    return 0.9 + 0.2 * int.from_bytes(os.urandom(2), "big") / 65_535


class Watcher:
    """Watches one endpoint, or several in turn. `run` is for a thread of its own."""

    def __init__(
        self,
        metadata: Metadata,
        clock: Clock,
        settings: Settings,
        on_sighting: Callable[[Sighting], None],
        on_trouble: Callable[[Trouble], None],
        jitter: Callable[[], float] = _jitter,
        make_waker: Callable[[Callable[[], None]], Waker] = Waker,
    ) -> None:
        self._metadata = metadata
        self._clock = clock
        self._settings = settings
        self._on_sighting = on_sighting
        self._on_trouble = on_trouble
        self._jitter = jitter
        self._make_waker = make_waker
        self._waker: Waker | None = None
        self._stop = threading.Event()
        self._asked = 0  # how often somebody wanted a new look
        self._answered = 0
        self._look_at = math.inf  # when somebody will want one
        self._last: Document | None = None
        self._has_tag = False
        self._is_held = False  # the question that is open may be held, and may be broken off
        self._holds_from = 0.0  # from when on it is worth asking the endpoint to hold
        self._full_at = 0.0
        self._good_at = clock.monotonic()
        self._failures = 0
        self._trouble_since: datetime | None = None
        self._is_blind = False

    def run(self, stop: threading.Event) -> None:
        """Watch until `stop`; after that is set, `look_again` has it end at once."""
        self._stop = stop
        self._good_at = self._clock.monotonic()
        waker = self._waker = self._make_waker(self._look_up)
        try:
            while not stop.is_set():
                asked = self._asked
                pause = self._turn(waker)
                # A look that was asked for and failed is tried again at the usual pace; a new wish is heeded now.
                waker.pause(pause, lambda asked=asked: stop.is_set() or self._wants_a_look_since(asked))  # type: ignore[misc]
        finally:
            self._metadata.close()
            waker.close()

    def look_again(self, after_seconds: float = 0) -> None:
        """Ask in so many seconds, without a condition: a sighting that `is_anew` was asked for after that."""
        if after_seconds > 0:
            self._look_at = min(self._look_at, self._clock.monotonic() + after_seconds)
        else:
            self._asked += 1
        if self._waker is not None:
            self._waker.wake()

    @property
    def is_blind(self) -> bool:
        """Whether there has been no good answer for too long."""
        return self._is_blind

    def _wants_a_look_since(self, asked: int) -> bool:
        """Whether somebody has wanted a look since so many were, or wants one by now."""
        if self._clock.monotonic() >= self._look_at:
            self._look_at = math.inf
            self._asked += 1
        return self._asked != asked

    def _turn(self, waker: Waker) -> float:
        """One question, and how long to pause after it."""
        began_at = self._clock.monotonic()
        self._wants_a_look_since(self._answered)
        asked = self._asked
        is_anew = asked != self._answered
        is_full = is_anew or self._last is None or began_at >= self._full_at
        wait_seconds = 0 if is_full else self._hold_seconds(began_at)
        self._is_held = wait_seconds > 0
        try:
            answer = self._metadata.get(wait_seconds, is_conditional=not is_full, waiter=waker)
        except Interrupted:
            return 0
        except EndpointError as problem:
            return self._note_failure(problem)
        except Exception as problem:  # whatever it is, watching goes on
            log.exception("polling failed")
            return self._note_failure(EndpointError("unexpected", None, f"Polling failed: {problem!r}."))
        finally:
            self._is_held = False
        took = self._clock.monotonic() - began_at
        if is_anew:
            self._answered = asked
        is_unchanged = self._note_answer(answer, None if wait_seconds else took, is_anew=is_anew)
        return self._pause_after(took, wait_seconds, is_unchanged=is_unchanged)

    def _hold_seconds(self, now: float) -> int:
        """How long the endpoint may hold the question; 0: it is not asked to."""
        if not self._has_tag or now < self._holds_from:
            return 0
        # Half of what counts as blind: a connection that died while it was held is found out before that.
        return int(min(self._settings.wait_seconds, self._settings.blind_after_seconds / 2))

    def _pause_after(self, took: float, wait_seconds: float, *, is_unchanged: bool) -> float:
        poll_pause = max(0.0, self._settings.poll_seconds * self._jitter() - took)
        if not wait_seconds:
            return 0.0 if self._hold_seconds(self._clock.monotonic()) else poll_pause
        was_held = not is_unchanged or took >= min(0.8 * wait_seconds, _SURELY_HELD_SECONDS)
        if was_held:
            return max(0.0, _GAP_SECONDS - took)
        self._holds_from = self._clock.monotonic() + _HOLDS_ANEW_AFTER_SECONDS
        return poll_pause

    def _note_answer(self, answer: Answer, took_seconds: float | None, *, is_anew: bool) -> bool:
        """Whether it says what was known."""
        self._good_at = self._clock.monotonic()
        self._failures = 0
        self._trouble_since = None
        self._is_blind = False
        self._has_tag = answer.has_tag
        if answer.server_date is not None:
            self._clock.learn(answer.server_date)
        if answer.document is not None:
            self._full_at = self._good_at + _FULL_AFTER_SECONDS
        document = self._last if answer.document is None else answer.document
        if document is None:  # "the same", where nothing was known: `get` does not ask for that
            return True
        is_unchanged = document == self._last
        if is_unchanged and self._last is not None:
            document = self._last  # and not one more that says the same: there may be thousands of events in it
        self._last = document
        sighting = Sighting(
            document,
            self._clock.now(),
            is_unchanged,
            is_anew,
            answer.endpoint,
            self._metadata.endpoints,
            took_seconds,
            self._good_at,
        )
        _tell(self._on_sighting, sighting)
        return is_unchanged

    def _note_failure(self, problem: EndpointError) -> float:
        """Tell it, and how long to pause."""
        self._failures += 1
        self._has_tag = False  # the next question is one without a condition, which nobody holds
        self._is_blind = self._is_blind or self._is_overdue()
        self._tell_trouble(problem.kind, problem.message)
        pause = self._settings.poll_seconds * self._jitter()
        if self._failures <= _QUICK_TRIES:
            pause = max(pause * _SLOW.get(problem.kind, 0.25), min(_GAP_SECONDS, pause))
        elif self._failures > _STEADY_TRIES:
            pause *= 2
        return min(max(pause, problem.retry_after_seconds or 0), _LONGEST_PAUSE_SECONDS)

    def _look_up(self) -> None:
        """While an answer is waited for: see whether that is still right."""
        if self._stop.is_set() or (self._is_held and self._wants_a_look_since(self._answered)):
            raise Interrupted
        if not self._is_blind and self._is_overdue():
            self._is_blind = True
            self._tell_trouble("timeout", f"{self._metadata.endpoint} has not answered yet.")

    def _is_overdue(self) -> bool:
        return self._clock.monotonic() - self._good_at > self._settings.seen_within.total_seconds()

    def _tell_trouble(self, kind: str, message: str) -> None:
        self._trouble_since = self._trouble_since or self._clock.now()
        _tell(self._on_trouble, Trouble(kind, message, self._trouble_since, self._is_blind))


def _tell(listener: Callable[[News], None], news: News) -> None:
    try:
        listener(news)
    except Exception:  # whoever listens does not end the watching
        log.exception("a listener of the watcher failed")

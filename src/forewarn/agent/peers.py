"""Agents that tell each other that they are ready, so that one of them may approve for all.

A word is signed with the secret that all of them share, fresh, and good for a while only: an agent that dies falls
silent, and counts no more. Words are told to the leader alone, again and again while they hold (`telling.py`).
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from typing import Optional

from forewarn.agent.clock import Clock
from forewarn.agent.company import Promise, TakenBack, as_seen
from forewarn.agent.compat import dataclass
from forewarn.agent.events import Event
from forewarn.agent.http1 import Request, response_bytes
from forewarn.agent.settings import Peers
from forewarn.agent.telling import PATH, Teller, sign

_FRESH_SECONDS = 60
_FORGETS_EVERY_SECONDS = 1.0
_CLOCKS_DIFFER_SECONDS = 5  # at most: all of them go by the endpoint's
_MOST_WORDS = 10_000

log = logging.getLogger("forewarn.agent")


def _is_same(one: str, other: str) -> bool:
    import hmac  # noqa: PLC0415 - it brings OpenSSL, which an agent without peers does not need

    return hmac.compare_digest(one.encode(), other.encode())


@dataclass(frozen=True, slots=True)
class _Word:
    seen_as: str  # what the event was to the speaker
    said_at: float  # on the speaker's clock
    taken_at: float  # on ours
    until: float  # on our monotonic clock


@dataclass(frozen=True, slots=True)
class _Said:
    event: str
    is_ready: bool


HasApproved = Callable[[str], Optional[bool]]  # None: who knows is busy


def _never(event: str) -> bool:
    del event
    return False


class Board:
    """Who has said to be ready, for which event. For any thread."""

    def __init__(
        self, peers: Peers, clock: Clock, on_word: Callable[[], None], has_approved: HasApproved = _never
    ) -> None:
        self._peers = peers
        self._clock = clock
        self._on_word = on_word
        self._has_approved = has_approved
        self._lock = threading.Lock()
        self._words: dict[tuple[str, str], _Word] = {}
        self._forgets_at = 0.0  # on the monotonic clock
        self._born_at = clock.monotonic()
        self._objection = ""  # how the last one that was logged begins
        self._mismatches: dict[tuple[str, str], str] = {}  # by event and VM: the last one that was logged

    def ready_for(self, event: Event) -> set[str]:
        """The VMs whose word for the event, as it is seen here, still counts."""
        with self._lock:
            words = {
                vm: word
                for (said_of, vm), word in self._words.items()
                if said_of == event.id and self._holds(word)
            }
        if not words:
            return set()
        seen_as = as_seen(event)
        for vm, word in words.items():
            if word.seen_as != seen_as:
                self._say_mismatch(event.id, vm, word.seen_as, seen_as)
        return {vm for vm, word in words.items() if word.seen_as == seen_as}

    def _holds(self, word: _Word) -> bool:
        """Whether it has not expired, by either clock: the steady one stands still while this machine does."""
        passed = self._clock.now().timestamp() - word.taken_at
        return word.until > self._clock.monotonic() and passed <= self._peers.expiry_seconds

    def _say_mismatch(self, event: str, vm: str, theirs: str, ours: str) -> None:
        if self._mismatches.get((event, vm)) != f"{theirs} {ours}":
            if len(self._mismatches) >= _MOST_WORDS:
                self._mismatches.clear()
            self._mismatches[event, vm] = f"{theirs} {ours}"
            words = "a peer's word does not count: it sees the event as another than this agent does"
            log.warning(words, extra={"event": event, "vm": vm, "theirs": theirs, "ours": ours})

    def answer(self, request: Request) -> bytes:
        """Take a word; the answer to it."""
        if request.path != PATH or request.method != "POST":
            return _no(404, f"Here is only POST {PATH}, for agents.")
        said = self._take(request)
        if isinstance(said, str):
            objection = said
            if objection[:20] != self._objection:  # anybody may knock, as often as they like
                log.warning("a peer's word is not taken: %s", objection)
                self._objection = objection[:20]
            return _no(403, objection)
        self._on_word()
        if said.is_ready:
            return _json(200, {})
        has_approved = self._has_approved(
            said.event
        )  # asked after it is noted: from now on the word counts no more
        if has_approved is None:
            return _no(503, "This agent is busy, and cannot say whether it has approved the event.")
        return _json(200, {"has_approved": has_approved})

    def _take(self, request: Request) -> _Said | str:
        """What was said; or why it is not taken."""
        stamp, signature = (request.headers.get(f"forewarn-{name}", "") for name in ("time", "signature"))
        if not _is_same(sign(self._peers.secret, stamp, request.body), signature):
            return "Its signature is not one of this agent's secret. All agents need the same secret."
        try:
            said = json.loads(request.body)
            event, vm, seconds = str(said["event"]), str(said["vm"]), float(said["for_seconds"])
            seen_as, said_at = str(said.get("seen_as", "")), float(stamp)
        except (ValueError, KeyError, TypeError):
            return 'It has to be {"event": ..., "vm": ..., "for_seconds": ...}.'
        if seconds > 0 and not seen_as:
            return f"The agent of {vm} is older, and does not say for what it is ready. Have all of one version."
        now = self._clock.now().timestamp()
        if not abs(now - said_at) <= _FRESH_SECONDS:
            return f"It was said at {said_at:.0f}, and it is {now:.0f} here. Are the clocks set?"
        if now - said_at > self._clock.monotonic() - self._born_at - _CLOCKS_DIFFER_SECONDS:
            return "It was said before this agent lived, or may have been: say it again."
        with self._lock:
            word = _Word(seen_as, said_at, now, self._until(seconds))
            return self._note((event, vm), word, now) or _Said(event, is_ready=seconds > 0)

    def _until(self, seconds: float) -> float:
        return self._clock.monotonic() + min(max(seconds, 0.0), self._peers.expiry_seconds)

    def _note(self, key: tuple[str, str], word: _Word, now: float) -> str:
        """Why the word does not count; empty: it does."""
        last = self._words.get(key)
        # One that was said before it came later, or it is a repeat; unless the clock has been put back since.
        if last is not None and word.said_at <= last.said_at <= now + _FRESH_SECONDS:
            return "It was said before, or a later word has come."
        self._forget_old()
        if last is None and len(self._words) >= _MOST_WORDS:
            takes_back = word.until <= self._clock.monotonic()  # what is not known, so that is done already
            return "" if takes_back else "There are too many words."
        self._words[key] = word
        return ""

    def _forget_old(self) -> None:
        """What is too old to be taken once more need not be known; as there may be thousands, now and then."""
        steady = self._clock.monotonic()
        if steady < self._forgets_at:
            return
        self._forgets_at = steady + _FORGETS_EVERY_SECONDS
        self._words = {key: word for key, word in self._words.items() if word.until > steady - 2 * _FRESH_SECONDS}


class Others:
    """The other agents, over the network."""

    def __init__(self, peers: Peers, clock: Clock, on_word: Callable[[], None], has_approved: HasApproved) -> None:
        self.board = Board(peers, clock, on_word, has_approved)
        self._teller = Teller(peers, clock)

    def ready_for(self, event: Event) -> set[str]:
        """The VMs whose word for the event, as it is seen here, still counts."""
        return self.board.ready_for(event)

    def tell(self, promises: frozenset[Promise]) -> None:
        """From now on these hold, and no others."""
        self._teller.tell(promises)

    def take_back(self, event: str, seconds: float) -> TakenBack | None:
        """Have the word for an event count no more, and wait so long for that; None: none was given."""
        return self._teller.take_back(event, seconds)

    def close(self) -> None:
        """Take back what was told."""
        self._teller.close()


def _no(status: int, message: str) -> bytes:
    return _json(status, {"message": message})


def _json(status: int, said: dict[str, object]) -> bytes:
    return response_bytes(status, f"{json.dumps(said)}\n".encode(), "application/json")

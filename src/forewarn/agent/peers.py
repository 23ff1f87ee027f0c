"""Agents that tell each other that they are ready, so that one of them may approve for all.

A word is signed with the secret that all of them share, fresh, and good for a while only: an agent that dies falls
silent, and counts no more. Words are told to the leader alone, again and again while they hold.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from forewarn.agent.clock import Clock
from forewarn.agent.company import Promise, TakenBack
from forewarn.agent.endpoints import read_root
from forewarn.agent.http1 import ExchangeFailed, Request, exchange, response_bytes
from forewarn.agent.names import Names
from forewarn.agent.settings import Peers

_PATH = "/ready"
_FRESH_SECONDS = 60
_CLOCKS_DIFFER_SECONDS = 5  # at most: all of them go by the endpoint's
_MOST_NONCES = 10_000
_MOST_WORDS = 10_000
_SECONDS = 3
_WITHDRAW_SECONDS = 1.0  # between two tries to take a word back

log = logging.getLogger("forewarn.agent")


def sign(secret: str, stamp: str, nonce: str, body: bytes) -> str:
    """The signature of a word."""
    import hashlib  # noqa: PLC0415 - they bring OpenSSL, which an agent without peers does not need
    import hmac  # noqa: PLC0415 - the same

    signed = b"\n".join((b"POST", _PATH.encode(), stamp.encode(), nonce.encode(), body))
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def _is_same(one: str, other: str) -> bool:
    import hmac  # noqa: PLC0415 - the same

    return hmac.compare_digest(one.encode(), other.encode())


@dataclass(frozen=True, slots=True)
class _Word:
    said_at: float  # on the speaker's clock
    until: float  # on our monotonic clock


class Board:
    """Who has said to be ready, for which event. For any thread."""

    def __init__(self, peers: Peers, clock: Clock, on_word: Callable[[], None]) -> None:
        self._peers = peers
        self._clock = clock
        self._on_word = on_word
        self._lock = threading.Lock()
        self._words: dict[tuple[str, str], _Word] = {}
        self._nonces: dict[str, float] = {}
        self._born_at = clock.monotonic()
        self._objection = ""  # how the last one that was logged begins

    def ready_for(self, event: str) -> set[str]:
        """The VMs whose word for the event still counts."""
        now = self._clock.monotonic()
        with self._lock:
            return {vm for (said_of, vm), word in self._words.items() if said_of == event and word.until > now}

    def answer(self, request: Request) -> bytes:
        """Take a word; the answer to it."""
        if request.path != _PATH or request.method != "POST":
            return _no(404, f"Here is only POST {_PATH}, for agents.")
        objection = self._take(request)
        if objection:
            if objection[:20] != self._objection:  # anybody may knock, as often as they like
                log.warning("a peer's word is not taken: %s", objection)
                self._objection = objection[:20]
            return _no(403, objection)
        self._on_word()
        return response_bytes(200, b"{}\n", "application/json")

    def _take(self, request: Request) -> str:
        """Why the word does not count; empty: it does."""
        stamp, nonce = request.headers.get("forewarn-time", ""), request.headers.get("forewarn-nonce", "")
        signature = request.headers.get("forewarn-signature", "")
        if not _is_same(sign(self._peers.secret, stamp, nonce, request.body), signature):
            return "Its signature is not one of this agent's secret. All agents need the same secret."
        try:
            said = json.loads(request.body)
            event, vm, seconds = str(said["event"]), str(said["vm"]), float(said["for_seconds"])
            said_at = float(stamp)
        except (ValueError, KeyError, TypeError):
            return 'It has to be {"event": ..., "vm": ..., "for_seconds": ...}.'
        now = self._clock.now().timestamp()
        if not abs(now - said_at) <= _FRESH_SECONDS:
            return f"It was said at {said_at:.0f}, and it is {now:.0f} here. Are the clocks set?"
        if now - said_at > self._clock.monotonic() - self._born_at + _CLOCKS_DIFFER_SECONDS:
            return "It was said before this agent lived, and may be a repeat."
        with self._lock:
            return self._note(event, vm, seconds, said_at, nonce, now)

    def _note(self, event: str, vm: str, seconds: float, said_at: float, nonce: str, now: float) -> str:
        if not nonce or nonce in self._nonces:
            return "It was said before."
        last = self._words.get((event, vm))
        # A word that overtook this one counts; unless the clock has been put back since.
        if last is not None and said_at <= last.said_at <= now + _FRESH_SECONDS:
            return "A later word has come."
        self._forget_old(now)
        if len(self._nonces) >= _MOST_NONCES or len(self._words) >= _MOST_WORDS:
            return "There are too many words."
        self._nonces[nonce] = said_at
        seconds = min(max(seconds, 0.0), self._peers.expiry_seconds)
        self._words[event, vm] = _Word(said_at, self._clock.monotonic() + seconds)
        return ""

    def _forget_old(self, now: float) -> None:
        """What is too old to be taken once more need not be known."""
        span = 2 * _FRESH_SECONDS
        self._nonces = {nonce: at for nonce, at in self._nonces.items() if abs(now - at) <= span}
        steady = self._clock.monotonic()
        self._words = {key: word for key, word in self._words.items() if word.until > steady - span}


class Teller:
    """Tells leaders, on a thread of its own, for as long as it holds."""

    def __init__(self, peers: Peers, clock: Clock) -> None:
        self._peers = peers
        self._clock = clock
        self._changed = threading.Condition()
        self._wanted: frozenset[Promise] = frozenset()
        self._told: dict[Promise, float] = {}  # and until when that may count with the leader, on our steady clock
        self._is_over = False
        self._troubles: dict[str, str] = {}
        self._thread = threading.Thread(target=self._run, name="teller", daemon=True)
        self._thread.start()

    def tell(self, promises: frozenset[Promise]) -> None:
        """From now on these hold, and no others."""
        with self._changed:
            if promises != self._wanted:
                self._wanted = promises
                self._changed.notify_all()

    def take_back(self, event: str, seconds: float) -> TakenBack | None:
        """Have the word for an event count no more, and wait so long for that; None: none was given."""
        with self._changed:
            told = next((promise for promise in self._told if promise.event == event), None)
            if told is None:
                return None
            self._wanted = frozenset(promise for promise in self._wanted if promise.event != event)
            self._changed.notify_all()
            if self._changed.wait_for(lambda: told not in self._told, seconds):
                return TakenBack(told.leader, is_known=True)
            left = max(0.0, self._told[told] - self._clock.monotonic())
            return TakenBack(told.leader, is_known=False, seconds=left)

    def close(self) -> None:
        """Take back what was told, as far as that goes in a second or two."""
        with self._changed:
            self._wanted, self._is_over = frozenset(), True
            self._changed.notify_all()
        self._thread.join(2)

    def _run(self) -> None:
        while True:
            with self._changed:
                wanted, is_over = self._wanted, self._is_over
                # Told before it is sent: what may have arrived has to be taken back.
                self._told.update(dict.fromkeys(wanted, self._expires_at()))
                withdrawn = [promise for promise in self._told if promise not in wanted]
            for promise in withdrawn:
                self._withdraw(promise)
            for promise in wanted:
                self._send(promise, self._peers.expiry_seconds)
                with self._changed:
                    self._told[promise] = self._expires_at()
            if is_over:
                return
            with self._changed:
                self._changed.wait_for(partial(self._has_news_since, wanted), self._pause_after(wanted))

    def _expires_at(self) -> float:
        """When what is told now counts no more; it may be under way for a while."""
        return self._clock.monotonic() + self._peers.expiry_seconds + _SECONDS

    def _pause_after(self, wanted: frozenset[Promise]) -> float | None:
        often = self._peers.expiry_seconds / 3
        if any(promise not in wanted for promise in self._told):
            return min(often, _WITHDRAW_SECONDS)
        return often if wanted else None

    def _withdraw(self, promise: Promise) -> None:
        """Take a word back. It is told until the leader has heard it, or the word has expired without that."""
        is_heard = self._send(promise, 0)
        with self._changed:
            if is_heard or self._clock.monotonic() >= self._told[promise]:
                del self._told[promise]
                self._changed.notify_all()
                log.info("no longer ready", extra={"event": promise.event, "leader": promise.leader})

    def _has_news_since(self, wanted: frozenset[Promise]) -> bool:
        return self._is_over or self._wanted != wanted

    def _send(self, promise: Promise, seconds: float) -> bool:
        trouble = self._try(promise, seconds)
        if trouble and self._troubles.get(promise.leader) != trouble:
            log.warning(
                "the leader was not told: %s", trouble, extra={"event": promise.event, "leader": promise.leader}
            )
        self._troubles[promise.leader] = trouble
        return not trouble

    def _try(self, promise: Promise, seconds: float) -> str:
        """What went wrong; empty: nothing."""
        place = _member(self._peers.members, promise.leader)
        if not place:
            return f"{promise.leader} is not among the members. Name its agent's address there."
        said = {"event": promise.event, "vm": promise.vm, "for_seconds": seconds}
        body = json.dumps(said).encode()
        stamp, nonce = f"{self._clock.now().timestamp():.6f}", os.urandom(16).hex()
        headers = {
            "Content-Type": "application/json",
            "Forewarn-Time": stamp,
            "Forewarn-Nonce": nonce,
            "Forewarn-Signature": sign(self._peers.secret, stamp, nonce, body),
        }
        try:
            address = read_root(f"http://{place}").address
            response = exchange(address, Request("POST", _PATH, headers, body), _SECONDS)
        except (ExchangeFailed, ValueError, OSError) as problem:
            return str(problem)
        if response.status != 200:  # noqa: PLR2004 - that it was taken
            return f"{place} answered {response.status}: {response.body[:200].decode('utf-8', 'replace').strip()}"
        return ""


class Others:
    """The other agents, over the network."""

    def __init__(self, peers: Peers, clock: Clock, on_word: Callable[[], None]) -> None:
        self.board = Board(peers, clock, on_word)
        self._teller = Teller(peers, clock)

    def ready_for(self, event: str) -> set[str]:
        """The VMs whose word for the event still counts."""
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


def _member(members: Mapping[str, str], name: str) -> str:
    """Where the agent of a VM listens, in whatever form the event and the file write its name."""
    return next((place for vm, place in members.items() if Names([vm]).which([name])), "")


def _no(status: int, message: str) -> bytes:
    return response_bytes(status, f"{json.dumps({'message': message})}\n".encode(), "application/json")

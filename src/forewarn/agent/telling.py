"""How a leader is told that this VM is ready, again and again while that holds, and that it no longer is.

A word that may have arrived is taken back until the leader has heard that, or it has surely expired.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping

from forewarn.agent.clock import Clock
from forewarn.agent.company import Fate, Promise, TakenBack
from forewarn.agent.compat import dataclass
from forewarn.agent.endpoints import read_root
from forewarn.agent.http1 import ExchangeFailed, Request, exchange
from forewarn.agent.names import Names
from forewarn.agent.settings import Peers

PATH = "/ready"
_SECONDS = 3
_UNHEARD_SECONDS = 1.0  # between two tries to say what was not heard
_CLOSE_SECONDS = 2.0

log = logging.getLogger("forewarn.agent")
Key = tuple[str, str, str]  # the leader, the event and this VM's name in it: of these the leader knows one word


def sign(secret: str, stamp: str, body: bytes) -> str:
    """The signature of a word."""
    import hashlib  # noqa: PLC0415 - they bring OpenSSL, which an agent without peers does not need
    import hmac  # noqa: PLC0415 - the same

    signed = b"\n".join((b"POST", PATH.encode(), stamp.encode(), body))
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


@dataclass(slots=True)
class _Told:
    """A word that may count with its leader."""

    promise: Promise  # as it was last given
    until: float  # on our steady clock: after that it has surely expired
    again_at: float  # when the leader is told the same once more
    is_being_taken_back: bool = False
    fate: Fate | None = None  # once it counts no more


@dataclass(frozen=True, slots=True)
class _Reply:
    trouble: str = ""  # why it was not heard; empty: it was
    has_approved: bool = False


class Teller:
    """Tells leaders, each on a thread of its own that lasts while there is anything to tell it.

    There are two truths, under one lock: `_wanted`, the promises, each of which holds as long as it says, and
    `_told`, the words that may count with a leader. What always holds: a word is in `_told` before it is sent, and
    it is put there only if it is wanted at that moment; it leaves when its leader has heard that it is taken back,
    or when it has expired. So what is neither wanted nor told counts with nobody. Where what the leader was told
    last is not what is wanted, it is told at once. One thread speaks to one leader, so that words arrive in the
    order in which they were said.
    """

    def __init__(self, peers: Peers, clock: Clock) -> None:
        self._peers = peers
        self._clock = clock
        self._changed = threading.Condition()
        self._wanted: dict[Key, Promise] = {}
        self._told: dict[Key, _Told] = {}
        self._threads: dict[str, threading.Thread] = {}  # by leader
        self._is_over = False

    def tell(self, promises: frozenset[Promise]) -> None:
        """From now on these hold, and no others."""
        wanted = {_key(promise): promise for promise in promises}
        with self._changed:
            if self._is_over:
                return
            now = self._clock.monotonic()
            is_news = wanted != self._wanted or any(each.until <= now for each in self._wanted.values())
            self._wanted = wanted  # also where it is the same: it may hold longer by now
            if is_news:
                self._changed.notify_all()
            for leader in {promise.leader for promise in promises} - self._threads.keys():
                thread = threading.Thread(target=self._run, args=(leader,), name="teller", daemon=True)
                thread.start()
                self._threads[leader] = thread

    def take_back(self, event: str, seconds: float) -> TakenBack | None:
        """Have the word for an event count no more, and wait so long for that; None: none was given."""
        with self._changed:
            self._wanted = {key: each for key, each in self._wanted.items() if each.event != event}
            self._changed.notify_all()
            # Where there are several, the one that was chosen last is the one that approves.
            told = next((each for each in reversed(self._told.values()) if each.promise.event == event), None)
            if told is None:
                return None
            self._changed.wait_for(lambda: told.fate is not None, seconds)
            if told.fate is not None:
                return TakenBack(told.promise.leader, told.fate)
            left = max(0.0, told.until - self._clock.monotonic())
            return TakenBack(told.promise.leader, Fate.MAY_COUNT, left)

    def close(self) -> None:
        """Take back what was told, as far as that goes in a second or two."""
        with self._changed:
            self._wanted, self._is_over = {}, True
            self._changed.notify_all()
            threads = list(self._threads.values())
        ends_at = self._clock.monotonic() + _CLOSE_SECONDS
        for thread in threads:
            thread.join(max(0.0, ends_at - self._clock.monotonic()))

    # On the thread of a leader.

    def _run(self, leader: str) -> None:
        last_trouble = ""
        while (told := self._next(leader)) is not None:
            promise = told.promise
            reply = self._send(promise, 0 if told.is_being_taken_back else self._peers.expiry_seconds)
            if reply.trouble and reply.trouble != last_trouble:
                extra = {"event": promise.event, "leader": leader}
                log.warning("the leader was not told: %s", reply.trouble, extra=extra)
            last_trouble = reply.trouble
            self._note(told, reply)

    def _next(self, leader: str) -> _Told | None:
        """Wait until something is to be said, and note that it is; None: nothing is left to say."""
        with self._changed:
            while True:
                now = self._clock.monotonic()
                # Whoever gave them may hang, and does not renew them then: they hold no longer than they say.
                holding = {key: each for key, each in self._wanted.items() if each.until > now}
                due = {key: self._due_at(key, holding) for key in {**self._told, **holding} if key[0] == leader}
                if not due:
                    del self._threads[leader]  # under the lock: whoever wants more begins another
                    return None
                ready = [key for key, at in due.items() if at <= now]
                if ready:
                    key = min(ready, key=lambda key: (key in holding, due[key]))
                    return self._note_beforehand(key, holding.get(key))
                self._changed.wait(min(due.values()) - now)

    def _due_at(self, key: Key, holding: Mapping[Key, Promise]) -> float:
        """When the leader is to hear of it: at once, if what it was told last is not what is wanted."""
        told, wanted = self._told.get(key), holding.get(key)
        if told is None or (None if told.is_being_taken_back else told.promise) != wanted:
            return 0.0
        return told.again_at if wanted is None else min(told.again_at, wanted.until)

    def _note_beforehand(self, key: Key, wanted: Promise | None) -> _Told:
        """Told before it is sent: what may have arrived has to be taken back."""
        if wanted is not None and key not in self._told:
            self._told[key] = _Told(wanted, self._expires_at(), 0)
        told = self._told[key]
        told.is_being_taken_back = wanted is None
        if wanted is not None:
            told.promise, told.until = wanted, self._expires_at()
        return told

    def _note(self, told: _Told, reply: _Reply) -> None:
        with self._changed:
            now = self._clock.monotonic()
            told.again_at = now + self._peers.expiry_seconds / 3
            if told.is_being_taken_back or reply.trouble:
                told.again_at = min(told.again_at, now + _UNHEARD_SECONDS)
            if not told.is_being_taken_back:
                told.until = self._expires_at()
                return
            if not reply.trouble:
                told.fate = Fate.TOO_LATE if reply.has_approved else Fate.TAKEN_BACK
            elif now >= told.until or self._is_over:
                told.fate = Fate.EXPIRED
            if told.fate is None:
                return
            del self._told[_key(told.promise)]
            self._changed.notify_all()
        extra = {"event": told.promise.event, "leader": told.promise.leader, "fate": told.fate}
        log.info("no longer ready", extra=extra)

    def _expires_at(self) -> float:
        """When what is told now counts no more; it may be under way for a while."""
        return self._clock.monotonic() + self._peers.expiry_seconds + _SECONDS

    def _send(self, promise: Promise, seconds: float) -> _Reply:
        place = _member(self._peers.members, promise.leader)
        if not place:
            return _Reply(f"{promise.leader} is not among the members. Name its agent's address there.")
        said = {"event": promise.event, "vm": promise.vm, "seen_as": promise.seen_as, "for_seconds": seconds}
        body = json.dumps(said).encode()
        stamp = f"{self._clock.now().timestamp():.6f}"
        headers = {
            "Content-Type": "application/json",
            "Forewarn-Time": stamp,
            "Forewarn-Signature": sign(self._peers.secret, stamp, body),
        }
        try:
            address = read_root(f"http://{place}").address
            response = exchange(address, Request("POST", PATH, headers, body), _SECONDS)
        except (ExchangeFailed, ValueError, OSError) as problem:
            return _Reply(str(problem))
        if response.status != 200:  # noqa: PLR2004 - that it was taken
            words = response.body[:200].decode("utf-8", "replace").strip()
            return _Reply(f"{place} answered {response.status}: {words}")
        return _Reply(has_approved=_says_approved(response.body))


def _key(promise: Promise) -> Key:
    return promise.leader, promise.event, promise.vm


def _says_approved(body: bytes) -> bool:
    """Whether the leader has approved already. An older one does not say."""
    try:
        said = json.loads(body)
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("has_approved") is True


def _member(members: Mapping[str, str], name: str) -> str:
    """Where the agent of a VM listens, in whatever form the event and the file write its name."""
    return next((place for vm, place in members.items() if Names([vm]).which([name])), "")

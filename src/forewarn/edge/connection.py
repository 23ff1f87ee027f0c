"""One guest's connection: bytes in, answers out, in order.

A guest sends the very same bytes every second, so requests that were judged once are remembered by their bytes.
Only whole, single, unconditional GETs of the document are; everything else goes through the parser.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import httptools
import structlog

from forewarn.board.board import Guest
from forewarn.core.refusal import Refusal
from forewarn.edge.counter import APPROVED, FirstPoll, Hold, read_events, serve
from forewarn.edge.desk import Desk, Judged
from forewarn.errors import ForewarnError
from forewarn.wire.http import CLOSE, KEEP_ALIVE, Answer, without_body
from forewarn.wire.imds import errors
from forewarn.wire.imds.request import ApproveEvents, ReadEvents, Request, Wish, judge

log = structlog.get_logger()

Resolve = Callable[[str], Guest | None]
_MOST_QUEUED = 64  # requests behind one that waits; more than that hangs up
_ENOUGH_QUEUED = 4  # nothing more is read until these are answered
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Incoming:
    """A request while it is being read."""

    __slots__ = ("began_at", "body", "headers", "size", "target")

    def __init__(self, began_at: float) -> None:
        self.began_at = began_at
        self.target = b""
        self.headers: list[tuple[str, str]] = []
        self.body = b""
        self.size = 0


class GuestConnection(asyncio.Protocol):
    """Answers one client; costs nobody else anything, however slow it is."""

    # Defaults of the class: most connections ask once and need none of it, so making one stays cheap.
    _transport: asyncio.Transport
    _address = ""
    _guest: Guest | None = None
    _parser: Any = None
    _incoming: Incoming | None = None
    _queue: deque[tuple[Request, bytes]] | None = None
    _hold: HeldRequest | None = None
    _task: asyncio.Task[None] | None = None
    _is_busy = False
    _expects_more = True
    _unaccounted = 0
    is_choked = False
    active_at = 0.0

    def __init__(self, desk: Desk, resolve: Resolve) -> None:
        self._desk = desk
        self._resolve = resolve

    # The transport's calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Find out who it is; a guest with too many connections is told so at once."""
        self._transport = transport  # type: ignore[assignment]
        desk = self._desk
        desk.connections.add(self)
        self.active_at = desk.now()
        peer = transport.get_extra_info("peername")
        self._address = peer[0] if peer else ""
        guest = self._guest = self._resolve(self._address)
        owner = guest or desk.strangers
        owner.connections += 1
        if owner.connections > desk.limits.connections_per_guest:
            self._refuse(errors.TOO_MANY_CONNECTIONS)

    def connection_lost(self, _problem: Exception | None) -> None:
        """Forget the client and whatever was under way for it."""
        self._desk.connections.discard(self)
        (self._guest or self._desk.strangers).connections -= 1
        self._expects_more = False
        if self._hold is not None:
            self._hold.drop()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Answer at once what was judged before; read everything else."""
        desk = self._desk
        now = self.active_at = desk.now()
        judged = desk.remembered.get(data)
        guest = self._guest
        if (
            judged is None
            or guest is None
            or guest.is_gone
            or not guest.panel.is_on
            or self._incoming is not None
            or self._is_busy
        ):
            self._read(data)
            return
        if not desk.limiter.admits(guest, now):
            self._send(errors.TOO_MANY_REQUESTS, CLOSE if judged.closes else b"")
            return
        panel = guest.panel
        panel.polled_at = guest.polled_at = now
        desk.tally.polls += 1
        ready = panel.page.ready[judged.version.index]
        if ready is None or ready.date is not desk.date:
            ready = panel.page.refresh(judged.version, desk.date)
        if judged.closes:
            self._expects_more = False
            self._transport.write(ready.last)
            self._transport.close()
        else:
            self._transport.write(ready.going_on)

    def eof_received(self) -> bool:
        """The client sends no more; what it asked for is still answered, and nobody is made to wait."""
        self._expects_more = False
        if self._hold is not None:
            self._hold.release()
            return True
        return self._is_busy

    def pause_writing(self) -> None:
        """The client does not take its answers: read nothing more from it until it does."""
        self.is_choked = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self.is_choked = False
        self._transport.resume_reading()

    # Reading.

    def _read(self, data: bytes) -> None:
        is_fresh = self._incoming is None and not self._is_busy and not self._queue
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self)
        self._unaccounted += len(data)
        self._queue = self._queue if self._queue is not None else deque()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # an upgrade is offered, not demanded: answer as ever
            self._parser = None
        except (httptools.HttpParserError, UnicodeDecodeError):
            self._refuse(errors.MALFORMED_REQUEST)
            return
        if not self._expects_more:
            return
        if self._incoming is not None and self._unaccounted > self._desk.limits.header_bytes:
            self._refuse(errors.HEADERS_TOO_LARGE)
        elif len(self._queue) > _MOST_QUEUED:
            self._refuse(errors.TOO_MANY_REQUESTS)
        else:
            self._work(data if is_fresh and len(self._queue) == 1 and self._incoming is None else None)
            if len(self._queue) >= _ENOUGH_QUEUED:
                self._transport.pause_reading()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._incoming = Incoming(self._desk.now())

    def on_url(self, url: bytes) -> None:
        """A piece of the request's target."""
        if self._incoming is not None:
            self._incoming.target += url
            self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        if self._incoming is not None:
            self._incoming.headers.append((name.decode("latin-1").lower(), value.decode("latin-1").strip()))
            self._count(len(name) + len(value) + 4)

    def _count(self, size: int) -> None:
        """So many bytes of the request's head have been read and understood."""
        self._unaccounted -= size
        if self._incoming is not None:
            self._incoming.size += size
            if self._incoming.size > self._desk.limits.header_bytes:
                self._refuse(errors.HEADERS_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """The head is whole: what its body may be is known."""
        if self._incoming is None:
            return
        self._unaccounted = 0
        headers = dict(self._incoming.headers)
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._desk.limits.body_bytes:
            self._refuse(errors.BODY_TOO_LARGE)
        elif headers.get("expect", "").lower() == "100-continue" and not self._is_busy:
            self._transport.write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._unaccounted = 0
        if self._incoming is not None:
            self._incoming.body += body
            if len(self._incoming.body) > self._desk.limits.body_bytes:
                self._refuse(errors.BODY_TOO_LARGE)

    def on_message_complete(self) -> None:
        """A request is whole; it waits its turn."""
        incoming, self._incoming = self._incoming, None
        self._unaccounted = 0
        if incoming is None or not self._expects_more or self._queue is None:
            return
        keeps_alive = self._parser.should_keep_alive()
        ending = CLOSE if not keeps_alive else KEEP_ALIVE if self._parser.get_http_version() == "1.0" else b""
        method = self._parser.get_method().decode("ascii")
        target = incoming.target.decode("latin-1")
        self._queue.append((Request(method, target, tuple(incoming.headers), incoming.body), ending))

    # Answering.

    def _work(self, whole: bytes | None = None) -> None:
        """Answer what is in the queue, one after the other."""
        while self._queue and not self._is_busy and not self._transport.is_closing():
            request, ending = self._queue.popleft()
            try:
                self._answer(request, ending, whole)
            except Exception:  # a bug of ours is answered too; a guest must not be left hanging
                log.exception("request failed", method=request.method, target=request.target)
                self._refuse(errors.INTERNAL)

    def _answer(self, request: Request, ending: bytes, whole: bytes | None) -> None:
        desk, guest = self._desk, self._guest
        if guest is None or guest.is_gone:
            guest = self._recognise()
        if guest is None:
            self._send(errors.UNKNOWN_CALLER, ending, request)
            return
        if not desk.limiter.admits(guest, desk.now()):
            self._send(errors.TOO_MANY_REQUESTS, ending, request)
            return
        wish = judge(request)
        if isinstance(wish, Answer):
            self._send(wish, ending, request)
            return
        if whole is not None and isinstance(wish, ReadEvents) and wish.is_plain and ending != KEEP_ALIVE:
            desk.remember(whole, Judged(wish.version, closes=ending == CLOSE))
        self._grant(wish, guest, ending, request)

    def _grant(self, wish: Wish, guest: Guest, ending: bytes, request: Request) -> None:
        """Answer a wish, at once or when what it needs has been committed."""
        outcome = serve(wish, guest, self._desk.site)
        if isinstance(outcome, Answer):
            if isinstance(wish, ReadEvents):
                self._note_poll(guest)
            self._send(outcome, ending, request)
            return
        self._is_busy = True  # what comes behind waits its turn
        loop = asyncio.get_running_loop()
        if isinstance(wish, ReadEvents) and isinstance(outcome, Hold):
            self._note_poll(guest)
            self._hold = HeldRequest(self, wish, guest, outcome.seconds, ending)
        elif isinstance(outcome, ApproveEvents):
            self._task = loop.create_task(self._approve(outcome, guest, ending))
        elif isinstance(wish, ReadEvents) and isinstance(outcome, FirstPoll):
            self._task = loop.create_task(self._first_poll(wish, guest, ending))

    def _recognise(self) -> Guest | None:
        """Who the caller is by now: it may have been seated, or replaced, since it connected."""
        guest = self._resolve(self._address)
        (self._guest or self._desk.strangers).connections -= 1
        (guest or self._desk.strangers).connections += 1
        self._guest = guest
        return guest

    def _note_poll(self, guest: Guest) -> None:
        guest.polled_at = guest.panel.polled_at = self._desk.now()
        self._desk.tally.polls += 1

    async def _approve(self, wish: ApproveEvents, guest: Guest, ending: bytes) -> None:
        try:
            refusal = await self._desk.approve(guest.vm.name, wish.event_ids)
        except ForewarnError:
            self._resume(errors.INTERNAL, ending)
            return
        if isinstance(refusal, Refusal):
            self._resume(errors.bad_payload(refusal.message), ending)
            return
        self._note_poll(guest)
        self._desk.tally.approvals += 1
        self._resume(APPROVED, ending)

    async def _first_poll(self, wish: ReadEvents, guest: Guest, ending: bytes) -> None:
        try:
            refusal = await self._desk.first_poll(guest.vm.name)
        except ForewarnError:
            self._resume(errors.INTERNAL, ending)
            return
        if refusal is not None:
            self._resume(errors.UNKNOWN_CALLER, ending)
            return
        if self._desk.first_call_delay:
            await asyncio.sleep(self._desk.first_call_delay)
        self._note_poll(guest)
        outcome = read_events(wish, guest, may_hold=False)
        self._resume(outcome if isinstance(outcome, Answer) else errors.INTERNAL, ending)

    def _resume(self, answer: Answer, ending: bytes) -> None:
        """The present request is answered: go on with the next."""
        self._task = None
        self._hold = None
        self._is_busy = False
        self.active_at = self._desk.now()
        self._send(answer, ending if self._expects_more else CLOSE)
        self._work()
        if not self.is_choked and not self._is_busy:
            self._transport.resume_reading()

    def release(self, wish: ReadEvents, guest: Guest, ending: bytes) -> None:
        """End a hold: with the new document, or with 304."""
        if self._transport.is_closing():
            return
        self._note_poll(guest)
        outcome = read_events(wish, guest, may_hold=False)
        self._resume(outcome if isinstance(outcome, Answer) else errors.INTERNAL, ending)

    def _send(self, answer: Answer, ending: bytes, request: Request | None = None) -> None:
        if answer.status >= 400:  # noqa: PLR2004 - HTTP's own border
            self._desk.tally.refused[answer.status] += 1
        if request is not None and request.method == "HEAD":
            answer = without_body(answer)
        self._transport.write(answer.encode(self._desk.date + ending))
        if ending == CLOSE:
            self._expects_more = False
            self._transport.close()

    def _refuse(self, answer: Answer) -> None:
        """Answer what cannot be read on, and hang up."""
        self._incoming = None
        if self._expects_more:
            self._expects_more = False
            self._send(answer, CLOSE)

    # The sweeper's calls.

    def sweep(self, now: float) -> None:
        """Hang up on a client that has been silent in the middle of something, or for too long."""
        limits = self._desk.limits
        quiet = now - self.active_at
        if self.is_choked and quiet > limits.request_seconds:
            self._transport.abort()
        elif self._is_busy:
            return
        elif self._incoming is not None:
            if now - self._incoming.began_at > limits.request_seconds:
                self._refuse(errors.TOO_SLOW)
        elif quiet > limits.idle_seconds:
            self._transport.close()

    def finish(self) -> None:
        """The service stops: a held request is answered, an idle connection closed."""
        if self._hold is not None:
            self._expects_more = False
            self._hold.release()
        elif not self._is_busy:
            self._transport.close()


class HeldRequest:
    """A GET that waits for the document to change, or for its time to run out."""

    __slots__ = ("_connection", "_ending", "_guest", "_timer", "_wish")

    def __init__(
        self, connection: GuestConnection, wish: ReadEvents, guest: Guest, seconds: float, ending: bytes
    ) -> None:
        self._connection = connection
        self._wish = wish
        self._guest = guest
        self._ending = ending
        self._timer = asyncio.get_running_loop().call_later(seconds, self.release)
        guest.panel.waiters[self.release] = None

    def release(self) -> None:
        """Answer now."""
        self.drop()
        self._connection.release(self._wish, self._guest, self._ending)

    def drop(self) -> None:
        """Wait no longer."""
        self._timer.cancel()
        self._guest.panel.waiters.pop(self.release, None)

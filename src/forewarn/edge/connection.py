"""One guest's connection: bytes in, answers out, in order.

A guest sends the very same bytes every second, so requests that were judged once are remembered by their bytes.
Only whole, single, unconditional GETs of the document are; everything else goes through the reader.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from forewarn.board.board import Guest
from forewarn.core.refusal import Refusal
from forewarn.edge.context import EdgeContext, Gate, Judged
from forewarn.edge.held import HeldRequest, Pause
from forewarn.edge.reading import RequestReader
from forewarn.edge.responses import APPROVED, FirstPoll, Hold, read_events, read_instance, serve
from forewarn.errors import ForewarnError, Stopping
from forewarn.logs import get_logger
from forewarn.wire.http import CLOSE, KEEP_ALIVE, Answer, without_body
from forewarn.wire.imds import errors
from forewarn.wire.imds.request import ApproveEvents, ReadEvents, ReadInstance, Request, Wish, judge

log = get_logger()

Resolve = Callable[[str], Guest | None]
_MOST_QUEUED = 64  # requests behind one that waits; more than that hangs up
_ENOUGH_QUEUED = 4  # nothing more is read until these are answered
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class GuestConnection(asyncio.Protocol):
    """Answers one client; costs nobody else anything, however slow it is."""

    # Defaults of the class: most connections ask once and need none of it, so making one stays cheap.
    _transport: asyncio.Transport
    _gate: Gate
    _address = ""
    _guest: Guest | None = None
    _reader: RequestReader | None = None
    _queue: deque[tuple[Request | Answer, bytes]] | None = None  # what is to be answered, and how it ends
    _hold: Pause | None = None
    _task: asyncio.Task[None] | None = None
    _is_busy = False
    _is_ended = False  # nothing more is read; when all is answered, the connection is closed
    is_choked = False
    active_at = 0.0

    def __init__(self, context: EdgeContext, resolve: Resolve) -> None:
        self._context = context
        self._resolve = resolve

    # The transport's calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Find out who it is; who has too many connections is told so at once."""
        self._transport = transport  # type: ignore[assignment]
        peer = transport.get_extra_info("peername")
        if not peer:  # reset before it was accepted: there is nobody to be answered
            self._is_ended = True
            self._transport.abort()
            return
        context = self._context
        self._address = peer[0]
        self._gate = context.gate_at(transport.get_extra_info("sockname")[0])
        self.active_at = context.now()
        guest = self._guest = self._resolve(self._address)
        owner = guest or context.strangers
        owner.connections += 1
        context.connections.add(self)
        limits = context.limits
        if guest is not None and guest.connections > limits.connections_per_guest:
            self._send(errors.TOO_MANY_CONNECTIONS, CLOSE)
        elif len(context.connections) > limits.connections or (
            guest is None and owner.connections > limits.connections_of_strangers
        ):
            self._send(errors.LISTENER_FULL, CLOSE)

    def connection_lost(self, _problem: Exception | None) -> None:
        """Forget the client and whatever was under way for it."""
        self._is_ended = True
        if self in self._context.connections:  # it was counted
            self._context.connections.remove(self)
            (self._guest or self._context.strangers).connections -= 1
        if self._hold is not None:
            self._hold.drop()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Answer at once what was judged before; read everything else."""
        context = self._context
        now = self.active_at = context.now()
        judged = self._gate.remembered.get(data)
        guest = self._guest
        if (
            judged is None
            or guest is None
            or guest.is_gone
            or not guest.panel.is_on
            or guest.panel.ready_at > now
            or self._is_busy
            or (self._reader is not None and self._reader.incoming is not None)
        ):
            self._read(data)
            return
        if not context.limiter.admits(guest, now):
            self._send(errors.TOO_MANY_REQUESTS, CLOSE if judged.closes else b"")
            return
        panel = guest.panel
        panel.polled_at = guest.polled_at = now
        context.polled[panel] = None
        context.tally.polls += 1
        page, version = panel.page, judged.version
        ready = None if judged.tags is None else page.unchanged(version, judged.tags, context.date)
        if ready is None:
            ready = page.ready[version.index]
            if ready is None or ready.date is not context.date:
                ready = page.refresh(version, context.date)
        if judged.closes:
            self._is_ended = True
            self._transport.write(ready.last)
            self._transport.close()
        else:
            self._transport.write(ready.going_on)

    def eof_received(self) -> bool:
        """The client sends no more; what it asked for is still answered, and nobody is made to wait."""
        self._is_ended = True
        if self._hold is not None:
            self._hold.release()
            return True
        return self._is_busy

    def pause_writing(self) -> None:
        """The client does not take its answers: read nothing more from it until it does."""
        self.is_choked = True
        self._read_on_or_wait()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self.is_choked = False
        self._read_on_or_wait()

    # Reading.

    def _read(self, data: bytes) -> None:
        if self._is_ended:
            return
        if self._reader is None or self._queue is None:
            self._reader = RequestReader(self._context.limits, self._context.now)
            self._queue = deque()
        reader, queue = self._reader, self._queue
        is_alone = reader.incoming is None and not self._is_busy and not queue
        queue.extend(reader.feed(data))
        if reader.objection is not None:
            self._refuse(reader.objection)
            return
        if len(queue) > _MOST_QUEUED:
            while len(queue) > _MOST_QUEUED:
                queue.pop()
            self._refuse(errors.TOO_MANY_REQUESTS)
            return
        self._go_on(data if is_alone and len(queue) == 1 and reader.incoming is None else None)

    def _refuse(self, answer: Answer) -> None:
        """Answer what cannot be read on, behind all that came before it, and hang up."""
        if self._queue is not None and not self._is_ended:
            self._is_ended = True
            self._queue.append((answer, CLOSE))
            self._go_on()

    def _read_on_or_wait(self) -> None:
        """Read only while there is room for what comes."""
        if self._transport.is_closing():
            return
        if self.is_choked or self._is_ended or (self._queue and len(self._queue) >= _ENOUGH_QUEUED):
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    # Answering.

    def _go_on(self, whole: bytes | None = None) -> None:
        """Answer what is queued, one after the other, and see what comes then."""
        queue = self._queue
        while queue and not self._is_busy and not self._transport.is_closing():
            asked, ending = queue.popleft()
            if isinstance(asked, Answer):
                self._send(asked, ending)
                continue
            try:
                self._answer(asked, ending, whole)
            except Exception:  # a bug of ours is answered too; a guest must not be left hanging
                log.exception("request failed", method=asked.method, target=asked.target)
                self._send(errors.INTERNAL, CLOSE)
        reader = self._reader
        if reader is not None and reader.awaits_go_ahead and not self._is_busy and not self._is_ended:
            reader.awaits_go_ahead = False
            self._transport.write(_CONTINUE)
        self._read_on_or_wait()

    def _answer(self, request: Request, ending: bytes, whole: bytes | None) -> None:
        context, guest = self._context, self._caller()
        if guest is None:
            self._send(errors.UNKNOWN_CALLER, ending, request)
            return
        if not context.limiter.admits(guest, context.now()):
            self._send(errors.TOO_MANY_REQUESTS, ending, request)
            return
        wish = judge(request, self._gate.hosts)
        if isinstance(wish, Answer):
            self._send(wish, ending, request)
            return
        if whole is not None and isinstance(wish, ReadEvents) and not wish.wait_seconds and ending != KEEP_ALIVE:
            context.remember(self._gate, whole, Judged(wish.version, wish.if_none_match, closes=ending == CLOSE))
        self._grant(wish, guest, ending, request)

    def _grant(self, wish: Wish, guest: Guest, ending: bytes, request: Request) -> None:
        """Answer a wish, at once or when what it needs has happened."""
        context = self._context
        if isinstance(wish, ReadInstance):
            self._send(read_instance(wish, guest, self._address, context.board, context.site), ending, request)
            return
        outcome = serve(wish, guest, context.now())
        if isinstance(outcome, Answer):
            if isinstance(wish, ReadEvents):
                self._note_poll(guest)
            self._send(outcome, ending, request)
        elif isinstance(outcome, ApproveEvents):
            self._begin(partial(self._approve, outcome, guest), ending)
        elif isinstance(wish, ReadEvents) and isinstance(outcome, FirstPoll):
            self._begin(partial(self._first_poll, wish, guest), ending)
        elif isinstance(wish, ReadEvents) and isinstance(outcome, Hold):
            self._is_busy = True
            self._note_poll(guest)
            self._hold = HeldRequest(wish, guest, outcome.seconds, partial(self._end_hold, wish, ending))

    def _caller(self) -> Guest | None:
        """Who is calling by now: it may have been seated, or replaced, since it connected."""
        guest = self._guest
        if guest is not None and not guest.is_gone:
            return guest
        (guest or self._context.strangers).connections -= 1
        guest = self._guest = self._resolve(self._address)
        (guest or self._context.strangers).connections += 1
        return guest

    def _note_poll(self, guest: Guest) -> None:
        guest.polled_at = guest.panel.polled_at = self._context.now()
        self._context.polled[guest.panel] = None
        self._context.tally.polls += 1

    def _read_again(self, wish: ReadEvents) -> Answer:
        """The document, or 304, for whoever is calling by now."""
        guest = self._caller()
        if guest is None:
            return errors.UNKNOWN_CALLER
        outcome = read_events(wish, guest, may_hold=False)
        if not guest.panel.is_on or not isinstance(outcome, Answer):
            return errors.INTERNAL  # it was turned off again meanwhile, or it is another's: the next request tells
        self._note_poll(guest)
        return outcome

    # What has to be committed first, and what waits for a change: the requests behind wait their turn.

    def _begin(self, act: Callable[[], Awaitable[Answer]], ending: bytes) -> None:
        self._is_busy = True
        self._task = asyncio.get_running_loop().create_task(self._see_through(act, ending))

    async def _see_through(self, act: Callable[[], Awaitable[Answer]], ending: bytes) -> None:
        """Answer when it is done, and also when it is not."""
        context = self._context
        try:
            async with asyncio.timeout(context.limits.commit_seconds + context.first_call_delay):
                answer = await act()
        except Stopping:
            answer = errors.STOPPING
        except ForewarnError:  # the store is away, and the plane has told so
            answer = errors.INTERNAL
        except Exception:
            log.exception("request failed")
            answer = errors.INTERNAL
        self._resume(answer, ending)

    async def _approve(self, wish: ApproveEvents, guest: Guest) -> Answer:
        refusal = await self._context.approve(guest.vm.name, wish.event_ids)
        if isinstance(refusal, Refusal):
            return errors.bad_payload(refusal.message)
        self._note_poll(guest)
        self._context.tally.approvals += 1
        return APPROVED

    async def _first_poll(self, wish: ReadEvents, guest: Guest) -> Answer:
        context, panel = self._context, guest.panel
        context.begin_first_call(panel)
        if not panel.is_on and await context.first_poll(guest.vm.name) is not None:
            return errors.UNKNOWN_CALLER
        await context.until_ready(panel)
        return self._read_again(wish)

    def _end_hold(self, wish: ReadEvents, ending: bytes) -> None:
        self._hold = None
        if self._transport.is_closing():
            return
        guest = self._caller()
        if guest is not None and not guest.panel.is_on:  # its scope was turned off meanwhile, or it is another's
            self._begin(partial(self._first_poll, wish, guest), ending)
        else:
            self._resume(self._read_again(wish), ending)

    def _resume(self, answer: Answer, ending: bytes) -> None:
        """The present request is answered: go on with the next."""
        self._task = None
        self._is_busy = False
        self.active_at = self._context.now()
        self._send(answer, ending)
        self._go_on()

    def _send(self, answer: Answer, ending: bytes, request: Request | None = None) -> None:
        if answer.status >= 400:  # noqa: PLR2004 - HTTP's own border
            self._context.tally.refused[answer.status] += 1
        if request is not None and request.method == "HEAD":
            answer = without_body(answer)
        is_last = self._is_last(ending)
        self._transport.write(answer.encode(self._context.date + (CLOSE if is_last else ending)))
        if is_last:
            self._hang_up()

    def _is_last(self, ending: bytes) -> bool:
        """Whether nothing is said on the connection after the answer that ends so."""
        return ending == CLOSE or (self._is_ended and not self._queue)

    def _hang_up(self) -> None:
        self._is_ended = True
        self._transport.close()

    # The sweeper's calls.

    def sweep(self, now: float) -> None:
        """Hang up on a client that has been silent in the middle of something, or for too long."""
        limits = self._context.limits
        quiet = now - self.active_at
        incoming = None if self._reader is None else self._reader.incoming
        is_leaving = self._transport.is_closing()  # once it has taken the last answer
        if (self.is_choked or is_leaving) and quiet > limits.request_seconds:
            self._transport.abort()
        elif self._is_busy or is_leaving:  # which has its own time limit
            return
        elif incoming is not None:
            if now - incoming.began_at > limits.request_seconds:
                self._refuse(errors.TOO_SLOW)
        elif quiet > limits.idle_seconds:
            self._transport.close()

    def finish(self) -> None:
        """The service stops: what is under way is answered, a held request at once, an idle connection closed."""
        self._is_ended = True
        if self._hold is not None:
            self._hold.release()
        elif not self._is_busy:
            self._transport.close()

    def abort(self) -> None:
        """The service has stopped: whoever is left gets no answer any more."""
        self._is_ended = True
        self._transport.abort()

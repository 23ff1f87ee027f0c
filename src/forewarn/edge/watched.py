"""A guest's connection that may be looked on at, and into which faults may be put.

Where nobody looks on and no rule is in force, it is a connection like any other. One fault hits a request: that
of the oldest rule that hits and has something to change.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import replace
from functools import partial

from forewarn.board.board import Guest, Panel
from forewarn.board.faults import FaultHit
from forewarn.board.pages import Page
from forewarn.core.fault import Fault
from forewarn.edge import faulty
from forewarn.edge.connection import GuestConnection
from forewarn.edge.exchange import Exchange
from forewarn.edge.faulty import Spoiled
from forewarn.edge.pauses import Drip, Lull
from forewarn.logs import get_logger
from forewarn.wire.http import CLOSE, Answer
from forewarn.wire.imds import errors
from forewarn.wire.imds.request import ReadEvents, Request, Wish

log = get_logger()

_AT_ONCE_WITHOUT_A_WORD = struct.pack("ii", 1, 0)  # SO_LINGER: on, for no time
_HANG_UP = Answer(0, b"", b"")
_MOST_MARKED = 100_000


class WatchedConnection(GuestConnection):
    """Answers one client, before witnesses."""

    _exchange: Exchange | None = None  # the request that is being answered, where it is watched
    _hit: FaultHit | None = None  # what hits it
    _foreseen: tuple[Page, Spoiled] | None = None  # what hits it makes of this page
    _spoiled: Spoiled | None = None  # what it will be answered, once that is written down

    def connection_lost(self, problem: Exception | None) -> None:
        """The client is gone, perhaps without its answer."""
        super().connection_lost(problem)
        exchange, self._exchange = self._exchange, None
        if exchange is not None and self._context.witness is not None:
            self._context.witness.leave(exchange)

    def eof_received(self) -> bool:
        """The client sends no more; it may still listen, which shows when it is told something.

        To whom nothing is said yet, nothing can show: it is taken for one that has given up, and let go.
        """
        if isinstance(self._hold, Lull):
            return False
        if isinstance(self._hold, Drip):
            self._is_ended = True
            return True
        return super().eof_received()

    def _answer(self, request: Request, ending: bytes, whole: bytes | None) -> None:
        context = self._context
        guest = self._caller() if context.is_watched else None
        if guest is not None:
            self._exchange = Exchange(guest, request, None, context.now())
            if context.witness is not None:
                context.witness.begin(self._exchange)
        super()._answer(request, ending, whole)

    def _grant(self, wish: Wish, guest: Guest, ending: bytes, request: Request) -> None:
        if self._exchange is None:
            super()._grant(wish, guest, ending, request)
            return
        self._exchange = replace(self._exchange, wish=wish)
        hit = self._hit = self._find_hit(wish, guest)
        rule = None if hit is None else hit.rule
        if rule is None:
            super()._grant(wish, guest, ending, request)
        elif rule.name in {Fault.STATUS, Fault.PROXY_PAGE}:
            self._send(faulty.refusal(rule), ending, request)
        elif rule.name in {Fault.DELAY, Fault.FIRST_CALL}:
            self._is_busy = True
            go_on = partial(self._end_lull, wish, ending, request)
            self._hold = Lull(rule.seconds, go_on, partial(self._give_up, is_done=False))
        elif rule.name in {Fault.RESET, Fault.CLOSED} and not rule.options["carried_out"]:
            self._break_off()
        else:
            super()._grant(wish, guest, ending, request)

    def _find_hit(self, wish: Wish, guest: Guest) -> FaultHit | None:
        book = self._context.faults
        if book is None:
            return None
        for hit in book.ask(guest.vm.name, faulty.about(wish)):
            if not isinstance(wish, ReadEvents) or not faulty.changes_document(hit.rule):
                return hit
            page = guest.panel.page
            if (spoiled := faulty.spoil(hit, guest.panel, wish.version)) is not None:
                self._foreseen = page, spoiled
                return hit
        return None

    def _end_lull(self, wish: Wish, ending: bytes, request: Request) -> None:
        self._hold = None
        self._is_busy = False
        if self._transport.is_closing():
            return
        self.active_at = self._context.now()
        try:
            guest = self._caller()
            if guest is None:
                self._send(errors.UNKNOWN_CALLER, ending, request)
            else:
                super()._grant(wish, guest, ending, request)
        except Exception:  # as with every request: it is told, and answered
            log.exception("request failed", method=request.method, target=request.target)
            self._send(errors.INTERNAL, CLOSE)
        self._go_on()

    def _send(self, answer: Answer, ending: bytes, request: Request | None = None) -> None:
        exchange, hit, spoiled = self._exchange, self._hit, self._spoiled
        if exchange is None:
            super()._send(answer, ending, request)
            return
        if spoiled is not None and answer is spoiled.answer:
            self._send_spoiled(spoiled, ending)
        elif hit is None or spoiled is not None:
            self._tell(answer, None)
            super()._send(answer, ending, request)
        elif faulty.changes_document(hit.rule):
            self._spoil(hit, exchange, answer, ending)
        elif hit.rule.name in {Fault.RESET, Fault.CLOSED}:
            self._break_off(is_done=_is_granted(answer))
        elif hit.rule.name is Fault.SLOW_BODY and answer.body:
            self._send_slowly(answer, ending, hit.rule.seconds)
        elif hit.rule.name is Fault.SLOW_BODY:  # there is nothing that could be slow
            self._tell(answer, None)
            super()._send(answer, ending, request)
        else:
            self._tell(answer, hit)
            super()._send(answer, ending, request)

    # Changed answers: what a guest is told of an event that is not so, is written down before it can read it.

    def _spoil(self, hit: FaultHit, exchange: Exchange, answer: Answer, ending: bytes) -> None:
        wish, spoiled = exchange.wish, None
        if isinstance(wish, ReadEvents) and _is_granted(answer):
            spoiled = self._change(hit, exchange.guest.panel, wish)
        if spoiled is None:
            self._tell(answer, None)
            super()._send(answer, ending)
            return
        self._spoiled = spoiled
        marked = self._context.marked
        unmarked = tuple(each for each in spoiled.events if (each, hit.rule.name) not in marked)
        if unmarked and self._context.mark is not None:
            self._begin(partial(self._mark, hit, spoiled, unmarked), ending)
        else:
            self._send_spoiled(spoiled, ending)

    def _change(self, hit: FaultHit, panel: Panel, wish: ReadEvents) -> Spoiled | None:
        """What the fault makes of the document; what was found out when it hit holds while that is the same."""
        foreseen = self._foreseen
        if foreseen is not None and foreseen[0] is panel.page:
            return foreseen[1]
        return faulty.spoil(hit, panel, wish.version)

    async def _mark(self, hit: FaultHit, spoiled: Spoiled, events: tuple[str, ...]) -> Answer:
        context, name = self._context, hit.rule.name
        if context.mark is not None:
            await context.mark(hit.guest, events, name)
        if len(context.marked) > _MOST_MARKED:
            context.marked.clear()
        context.marked.update((event, name) for event in events)
        return spoiled.answer

    def _send_spoiled(self, spoiled: Spoiled, ending: bytes) -> None:
        date = faulty.skewed(self._context.date, spoiled.skew) if spoiled.skew else self._context.date
        is_last = self._is_last(ending)
        self._tell(spoiled.answer, self._hit)
        self._transport.write(spoiled.answer.encode(date + (CLOSE if is_last else ending)))
        if is_last or spoiled.hangs_up:
            self._hang_up()

    def _send_slowly(self, answer: Answer, ending: bytes, seconds: float) -> None:
        is_last = self._is_last(ending)
        whole = answer.encode(self._context.date + (CLOSE if is_last else ending))
        head = whole[: -len(answer.body)]
        self._is_busy = True
        self._transport.write(head)
        ended = partial(self._end_drip, answer, is_last=is_last)
        give_up = partial(self._give_up, is_done=_is_granted(answer))
        self._hold = Drip(self._transport, whole[len(head) :], seconds, ended, give_up)

    def _give_up(self, *, is_done: bool) -> None:
        """The client did not wait for a fault to end."""
        exchange, hit = self._conclude()
        if hit is not None:
            hit.took_effect()
        if exchange is not None and self._context.witness is not None:
            self._context.witness.leave(exchange, _name_of(hit), is_done=is_done)

    def _end_drip(self, answer: Answer, *, is_last: bool) -> None:
        self._hold = None
        self._is_busy = False
        self.active_at = self._context.now()
        self._tell(answer, self._hit)
        if is_last or (self._is_ended and not self._queue):
            self._hang_up()
        else:
            self._go_on()

    def _break_off(self, *, is_done: bool = False) -> None:
        """Close, or reset, without an answer."""
        hit = self._hit
        self._tell(_HANG_UP, hit, is_done=is_done)
        self._is_ended = True
        if hit is not None and hit.rule.name is Fault.RESET:
            linger = (socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE_WITHOUT_A_WORD)
            self._transport.get_extra_info("socket").setsockopt(*linger)
            self._transport.abort()
        else:
            self._transport.close()

    def _tell(self, answer: Answer, hit: FaultHit | None, *, is_done: bool = False) -> None:
        """The request is answered: a fault has had its effect, and the witness hears of it. Once per request."""
        exchange, _ = self._conclude()
        if hit is not None:
            hit.took_effect()
        if exchange is not None and self._context.witness is not None:
            wait = 0 if _is_granted(answer) else answer.retry_after_seconds
            self._context.witness.note(
                exchange, answer.status, answer.body, _name_of(hit), is_done=is_done, wait_seconds=wait
            )

    def _conclude(self) -> tuple[Exchange | None, FaultHit | None]:
        """The request that was being answered, and what hit it: there is none now."""
        ended = self._exchange, self._hit
        self._exchange = self._hit = self._foreseen = self._spoiled = None
        return ended


def _is_granted(answer: Answer) -> bool:
    return answer.status < 400  # noqa: PLR2004 - HTTP's own border


def _name_of(hit: FaultHit | None) -> str:
    return "" if hit is None else hit.rule.name

"""Where simulated guests are served: through the production wire, counter and board, without sockets."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from forewarn.board.board import Guest, Panel
from forewarn.control.commands.guests import approve_as_guest, first_poll
from forewarn.core.phase import Phase
from forewarn.core.refusal import Refusal
from forewarn.edge.responses import APPROVED, FirstPoll, read_events, serve
from forewarn.wire.http import Answer
from forewarn.wire.imds import errors
from forewarn.wire.imds.request import ApproveEvents, ReadEvents, Request, judge
from tests.simulation.guests import Manner, SimulatedGuest

if TYPE_CHECKING:
    from tests.simulation.run import Simulation


class Lobby:
    """Lets guests poll and approve, and loses a reply now and then."""

    def __init__(self, simulation: Simulation, dice: random.Random) -> None:
        self._simulation = simulation
        self._dice = dice
        self.guests: dict[str, SimulatedGuest] = {}

    def meet_guests(self) -> None:
        """Every VM has somebody inside."""
        for name in self._simulation.world.vms:
            if name not in self.guests:
                guest = self.guests[name] = SimulatedGuest.born(name, self._dice)
                if (delay := guest.first_poll_in()) is not None:
                    self._simulation.after(delay, lambda guest=guest: self.poll(guest))

    def later(self, delay: timedelta, act: Callable[[], None]) -> None:
        """Let a guest do something later."""
        self._simulation.after(delay, act)

    def poll(self, guest: SimulatedGuest) -> None:
        """A guest asks by itself, and will again."""
        is_heard = self._read_document(guest)
        again = guest.next_poll_in()
        if again is not None:
            self._simulation.after(again, lambda: self.poll(guest))
        elif not is_heard:
            self._simulation.after(timedelta(minutes=1), lambda: self.poll(guest))

    def _read_document(self, guest: SimulatedGuest) -> bool:
        """A guest reads its document, plans, and waits for the next change; whether it got one."""
        answer = self._ask(guest, Request("GET", guest.target, (("metadata", "true"),)))
        if answer is None or answer.status != 200:
            return False
        guest.read(answer.body, self._simulation.clock.now(), self)
        seated = self._simulation.board.guests.get(guest.name)
        if guest.manner is not Manner.ONCE and seated is not None and seated.panel is not guest.waits_at:
            guest.waits_at = panel = seated.panel
            panel.waiters[lambda: self._woken(guest, panel)] = None
        return True

    def _woken(self, guest: SimulatedGuest, panel: Panel) -> None:
        if guest.waits_at is not panel:  # it belongs to another scope by now
            return
        guest.waits_at = None
        self._simulation.after(timedelta(milliseconds=20), lambda: self._read_document(guest))

    def _ask(self, guest: SimulatedGuest, request: Request) -> Answer | None:
        """A request as the listener would serve it; None: no answer came back."""
        if self._simulation.plane is None:
            return None
        vm = self._simulation.witness.vms[guest.name]
        seated = (
            self._simulation.board.guest_at(vm.addresses[0])
            if vm.addresses
            else self._simulation.board.guests.get(vm.name)
        )
        if seated is None:
            return errors.UNKNOWN_CALLER
        wish = judge(request)
        if isinstance(wish, Answer):
            return wish
        outcome = serve(wish, seated, 0.0)
        if isinstance(outcome, ApproveEvents):
            return self._approve(guest, outcome)
        if isinstance(outcome, FirstPoll) and (refused := self._first_poll(guest, seated)) is not None:
            return refused if isinstance(refused, Answer) else None
        return self._serve_document(wish, seated) if isinstance(wish, ReadEvents) else None

    def _first_poll(self, guest: SimulatedGuest, seated: Guest) -> Answer | BaseException | None:
        refusal = self._simulation.request(lambda plane: first_poll(plane, guest.name))
        if isinstance(refusal, BaseException):
            return refusal
        if isinstance(refusal, Refusal):
            return errors.UNKNOWN_CALLER
        self._simulation.promises.polled(seated.panel.scope)
        return None

    def _serve_document(self, wish: ReadEvents, seated: Guest) -> Answer | None:
        seated.polled_at = seated.panel.polled_at = self._simulation.moment()
        self._simulation.board.polled[seated.panel] = None
        answer = read_events(wish, seated, may_hold=False)
        document = seated.panel.page.document
        tag = (document.generation, document.incarnation, wish.version.name)
        if not isinstance(answer, Answer):
            return None
        for checker in self._simulation.checkers:
            checker.saw_answer(seated.panel.scope, tag, answer.body)
        return answer

    def _approve(self, guest: SimulatedGuest, wish: ApproveEvents) -> Answer | None:
        outside = self._simulation.outside
        matters = [event for event in wish.event_ids if outside.phase_of_event(event) is Phase.SCHEDULED]
        for event in wish.event_ids:
            self._simulation.witness.may_have_approved(event, guest.name)
        refusal = self._simulation.request(lambda plane: approve_as_guest(plane, guest.name, wish.event_ids))
        if isinstance(refusal, BaseException):
            return None
        if isinstance(refusal, Refusal):
            for event in wish.event_ids:
                self._simulation.witness.approvals[event].discard(guest.name)
            return errors.bad_payload(refusal.message)
        if self._dice.random() < 0.05:
            self._simulation.counts["lost reply to a guest"] += 1
            return None
        for event in matters:
            self._simulation.promises.approved(event, guest.name)
        self._simulation.approved.update(wish.event_ids)
        return APPROVED

    def approve(self, guest: SimulatedGuest, event: str, not_before: datetime) -> None:
        """A guest says "go ahead"."""
        body = f'{{"StartRequests":[{{"EventId":"{event.lower()}"}}]}}'.encode()
        left = not_before - self._simulation.clock.now()
        answer = self._ask(guest, Request("POST", guest.target, (("metadata", "true"),), body))
        if answer is None:
            self._simulation.after(timedelta(seconds=20), lambda: self.approve(guest, event, not_before))
        elif answer is APPROVED:
            if timedelta(0) < left <= timedelta(seconds=1):
                self._simulation.counts["approval in the last second"] += 1
            self._simulation.counting.look_for_gates(event)
            if guest.manner is Manner.DOUBLE:
                self._simulation.counts["approved twice"] += 1

    def approve_wrongly(self, guest: SimulatedGuest) -> None:
        """A guest approves what is not its own: refused, and nothing changes."""
        scope = self._simulation.witness.vms[guest.name].scope
        foreign = [
            sighting.event.id
            for sighting in self._simulation.witness.sightings.values()
            if sighting.event.scope != scope
        ]
        event = self._dice.choice(foreign) if foreign else str(uuid.UUID(int=7)).upper()
        body = f'{{"StartRequests":[{{"EventId":"{event}"}}]}}'.encode()
        before = self._simulation.world.events.get(event)
        answer = self._ask(guest, Request("POST", guest.target, (("metadata", "true"),), body))
        if answer is not None:
            assert answer.status in {400, 404}, f"{guest.name} approved {event}, which is not its own"
            after = self._simulation.world.events.get(event)
            assert before is None or after is None or after.approvals == before.approvals
            self._simulation.counts["wrong approval refused"] += 1

"""One seed: a fleet, a day of requests and faults, then a kind world in which everything has to end."""

from __future__ import annotations

import heapq
import random
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from forewarn.board.board import Board, Panel, wake_waiters
from forewarn.clock import VirtualClock
from forewarn.control.plane import ControlPlane
from forewarn.core.notice import Rules
from forewarn.core.refusal import Refusal
from forewarn.core.world import World
from forewarn.drivers.machines import Machines
from forewarn.drivers.simulated import SimulatedDriver
from forewarn.edge.counter import APPROVED, FirstPoll, Hold, read_events, serve
from forewarn.errors import StoreUnavailable
from forewarn.store.sql import SqlStore
from forewarn.wire.http import Answer
from forewarn.wire.imds import errors
from forewarn.wire.imds.instance import Site
from forewarn.wire.imds.request import ApproveEvents, ReadEvents, Request, judge
from tests.simulation.faults import Crash, Dice, FaultyDriver, FaultyStore
from tests.simulation.fleets import random_fleet
from tests.simulation.guests import Manner, SimulatedGuest
from tests.simulation.laws import LAWS
from tests.simulation.requests import Operator
from tests.simulation.witness import Effect, KnownVms, Witness

DAY = timedelta(days=1)
_START = datetime(2026, 3, 1, 0, 0, 0, tzinfo=UTC)
_RETRY = timedelta(seconds=1)
_FLUSH = timedelta(minutes=20)
_NOTICE_OF_STEP = timedelta(seconds=5)
_BOUND = timedelta(hours=4)  # after the last notice has run out


class Simulation:
    """The production plane and everything around it, on one virtual clock."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.counts: Counter[str] = Counter()
        self.clock = VirtualClock(_START)
        self.witness = Witness(KnownVms(lambda: self.world.vms))
        self.dice = Dice(self._die("faults"), counts=self.counts)
        self.store = SqlStore("sqlite://")
        self.machines = Machines.open()
        self._driver = FaultyDriver(SimulatedDriver(self.machines, self.clock), self.dice, self._see_effects)
        self._ids = self._die("ids")
        self._queue: list[tuple[timedelta, int, Callable[[], None]]] = []
        self._count = 0
        self._moments = 0
        self._effects_seen = 0
        self.plane: ControlPlane | None = None
        self.up_since = timedelta(0)
        self.acted: set[tuple[str, str]] = set()
        self.answered_approvals: list[tuple[str, str]] = []
        self.approved: set[str] = set()
        self.answered_operations: list[str] = []
        self.answered_polls: dict[tuple[str, int], timedelta] = {}
        self.guests: dict[str, SimulatedGuest] = {}
        self._guest_dice = self._die("guests")
        self.checkers = [law(self) for law in LAWS]
        self.fleet = random_fleet(self._die("fleet"))
        self.operator = Operator(self, self._die("operator"))

    def _die(self, what: str) -> random.Random:
        return random.Random(f"{self.seed} {what}")

    # Running.

    def run(self) -> Counter[str]:
        """The whole of it; raises `LawBroken`."""
        self._start_plane()
        self.operator.apply_fleet()
        self._let_things_go_wrong()
        self.operator.plan_the_day(DAY)
        self._flush_now_and_then()
        self._go_on_until(DAY)
        self._be_kind()
        self._drain()
        for checker in self.checkers:
            checker.at_end()
        return self.counts

    def _let_things_go_wrong(self) -> None:
        dice = self._die("temper")
        for name, chances in (
            ("crash", (0.0, 0.002, 0.01)),
            ("lost_commit", (0.0, 0.005)),
            ("lost_begin", (0.0, 0.05)),
            ("failed_begin", (0.0, 0.1)),
            ("failed_check", (0.0, 0.05)),
            ("undecidable", (0.0, 0.01)),
        ):
            setattr(self.dice, name, dice.choice(chances))

    def _be_kind(self) -> None:
        """The faults stop; machines that were left down are started by their owners."""
        self.dice.be_kind()
        self.machines.forget_orders()
        if self.plane is None:
            self._start_plane()
        self.tick()

    def _drain(self) -> None:
        last = max((event.lapses_at for event in self.world.events.values()), default=self.clock.now())
        wait = max(last - self.clock.now(), timedelta(0)) + _BOUND
        for _ in range(8):
            self.operator.heal()
            self._go_on_until(self.clock.elapsed() - _ORIGIN + wait / 8)
        while self.world.operations and self.clock.elapsed() - _ORIGIN < DAY + wait + _BOUND:
            self.operator.heal()
            self._go_on_until(self.clock.elapsed() - _ORIGIN + timedelta(minutes=10))

    def _go_on_until(self, end: timedelta) -> None:
        """Let time pass; whoever has something to do does it."""
        end += _ORIGIN
        while True:
            now = self.clock.elapsed()
            wake = self._next_plane_wake()
            actor = self._queue[0][0] if self._queue else None
            coming = min((at for at in (wake, actor) if at is not None), default=None)
            if coming is None or coming > end:
                self.clock.move_to(self.clock.now() + (end - now))
                return
            self.clock.move_to(self.clock.now() + max(timedelta(0), coming - now))
            if actor is not None and actor <= coming:
                heapq.heappop(self._queue)[2]()
            else:
                self.tick()

    def _next_plane_wake(self) -> timedelta | None:
        if self.plane is None:
            return None
        wake = self.plane.next_wake()
        if wake is None:
            return None
        return max(self.clock.elapsed() + (wake - self.clock.now()), self.clock.elapsed(), self._not_before_retry)

    _not_before_retry = timedelta(0)

    def after(self, delay: timedelta, act: Callable[[], None]) -> None:
        """Let somebody do something later."""
        self._count += 1
        heapq.heappush(self._queue, (self.clock.elapsed() + delay, self._count, act))

    # The process.

    def _start_plane(self) -> None:
        board = Board()
        board.on_change = self._saw_panel
        plane = ControlPlane(
            store=FaultyStore(self.store, self.dice),  # type: ignore[arg-type]
            driver=self._driver,
            board=board,
            clock=self.clock,
            rules=Rules(user_operation_limit=self._die("limit").choice([2, 10, 100])),
            new_id=self._new_id,
            monotonic=self.moment,
        )
        self.board = board
        self._last_world = plane.world
        try:
            plane.open()
        except Crash:
            self._die_now()
            return
        except StoreUnavailable:
            self.after(_RETRY, self._start_plane)
            return
        self.plane = plane
        self.up_since = self.clock.elapsed()
        for scope in [scope for scope in self.witness.documents if scope not in board.panels]:
            self.witness.lose_document(scope, self.clock.now())
        self.meet_guests()
        for checker in self.checkers:
            checker.after_restart()
        self.tick()

    def _die_now(self) -> None:
        """The process is gone; another starts after a while."""
        self.plane = None
        self.counts["restart"] += 1
        pause = self._guest_dice.choice([0.5, 2, 30, 600, 7200])
        self.after(timedelta(seconds=pause), self._start_plane)

    def tick(self) -> None:
        """One tick, as the runner would do it."""
        if self.plane is None:
            return
        if self._call(self.plane.tick) is None and self.plane is not None:
            self.meet_guests()
            for checker in self.checkers:
                checker.after_tick()

    def _flush_now_and_then(self) -> None:
        if self.plane is not None:
            self._call(self.plane.flush)
        self.after(_FLUSH, self._flush_now_and_then)

    def _call(self, act: Callable[[], object]) -> object:
        """Let the process do something. What it answers, or the exception that nobody was answered with."""
        try:
            outcome = act()
        except Crash as crash:
            self._die_now()
            return crash
        except StoreUnavailable as problem:
            self._not_before_retry = self.clock.elapsed() + _RETRY
            return problem
        return outcome

    def request(self, act: Callable[[ControlPlane], object]) -> object:
        """Somebody asks for something; a tick follows before the answer, as in the runner."""
        plane = self.plane
        if plane is None:
            return StoreUnavailable("nobody is there")
        outcome = self._call(lambda: act(plane))
        if not isinstance(outcome, BaseException):
            self.tick()
            if self.plane is not plane:
                return StoreUnavailable("it died before it answered")
        return outcome

    def _new_id(self) -> str:
        made = str(uuid.UUID(int=self._ids.getrandbits(128), version=4))
        self.operator.id_was_drawn(made)
        return made

    def moment(self) -> float:
        """Monotonic seconds, never the same twice."""
        self._moments += 1
        return self.clock.elapsed().total_seconds() + self._moments * 1e-9

    @property
    def world(self) -> World:
        """What the plane, or the last one that was, believes."""
        return self._last_world

    # Seeing.

    def _saw_panel(self, panel: Panel) -> None:
        if panel.scope in self.board.panels:
            shown = replace(panel.page.document, scope=panel.scope)  # documents without events share a page
            self.witness.see_document(shown, self.clock.now(), self.clock.elapsed())
        else:
            self.witness.lose_document(panel.scope, self.clock.now())
        wake_waiters(panel)

    def _see_effects(self) -> None:
        for effect in self.machines.ledger(self._effects_seen):
            self._effects_seen += 1
            self.acted.add((effect.operation, effect.vm))
            self.witness.feel(
                Effect(effect.operation, effect.vm, effect.action, effect.began_at, self.clock.elapsed())
            )

    def is_on(self, scope: str) -> bool:
        """Whether the scope is on, as the board has it."""
        panel = self.board.panels.get(scope)
        return panel is not None and panel.is_on

    def was_approved(self, event: str) -> bool:
        """Whether an approval of the event was answered with success."""
        return event in self.approved

    def concluded(self, operation: str) -> set[str]:
        """The VMs that the operation is done with."""
        return {attempt.vm for attempt in self.world.attempts_of(operation) if attempt.outcome is not None}

    def under_way(self, vm: str) -> list[tuple[str, str]]:
        """The operations whose action the machine is feeling now."""
        now = self.clock.now()
        return [
            (operation.id, effect.action)
            for operation in self.world.operations_on_vm(vm)
            if (effect := self.machines.effect_of(operation.id, vm)) is not None
            and (effect.ends_at is None or effect.ends_at > now)
            and vm not in self.concluded(operation.id)
        ]

    # Guests.

    def meet_guests(self) -> None:
        """Every VM has somebody inside."""
        for name in self.world.vms:
            if name not in self.guests:
                guest = self.guests[name] = SimulatedGuest.born(name, self._guest_dice)
                if (delay := guest.first_poll_in()) is not None:
                    self.after(delay, lambda guest=guest: self.poll(guest, is_first=True))

    def poll(self, guest: SimulatedGuest, *, is_first: bool = False) -> None:
        """A guest asks for its document, and waits for the next change where it can."""
        again = guest.next_poll_in() if not is_first or guest.manner is not Manner.ONCE else None
        answer = self._ask(guest, Request("GET", guest.target, (("metadata", "true"),)))
        if again is not None:
            self.after(again, lambda: self.poll(guest))
        elif answer is None:
            self.after(timedelta(minutes=1), lambda: self.poll(guest, is_first=is_first))
        if answer is not None and answer.status == 200:
            guest.read(answer.body, self.clock.now(), self)
            seated = self.board.guests.get(guest.name)
            if guest.manner is not Manner.ONCE and seated is not None and not guest.is_waiting:
                guest.is_waiting = True
                seated.panel.waiters[lambda: self._woken(guest)] = None

    def _woken(self, guest: SimulatedGuest) -> None:
        guest.is_waiting = False
        self.after(timedelta(milliseconds=20), lambda: self._poll_once(guest))

    def _poll_once(self, guest: SimulatedGuest) -> None:
        answer = self._ask(guest, Request("GET", guest.target, (("metadata", "true"),)))
        if answer is not None and answer.status == 200:
            guest.read(answer.body, self.clock.now(), self)
            seated = self.board.guests.get(guest.name)
            if seated is not None and not guest.is_waiting:
                guest.is_waiting = True
                seated.panel.waiters[lambda: self._woken(guest)] = None

    def _ask(self, guest: SimulatedGuest, request: Request) -> Answer | None:
        """A request as the listener would serve it; None: no answer came back."""
        if self.plane is None:
            return None
        vm = self.witness.vms[guest.name]
        seated = self.board.guest_at(vm.addresses[0]) if vm.addresses else self.board.guests.get(vm.name)
        if seated is None:
            return errors.UNKNOWN_CALLER
        wish = judge(request)
        if isinstance(wish, Answer):
            return wish
        outcome = serve(wish, seated, Site())
        if isinstance(outcome, FirstPoll):
            refusal = self.request(lambda plane: plane.first_poll(guest.name))
            if isinstance(refusal, BaseException):
                return None
            if isinstance(refusal, Refusal):
                return errors.UNKNOWN_CALLER
            generation = self.world.scopes[seated.panel.scope].generation
            self.answered_polls[seated.panel.scope, generation] = self.clock.elapsed()
        elif isinstance(outcome, ApproveEvents):
            return self._approve(guest, outcome)
        if isinstance(wish, ReadEvents):
            seated.polled_at = seated.panel.polled_at = self.moment()
            answer = read_events(wish, seated, may_hold=False)
            document = seated.panel.page.document
            if isinstance(answer, Answer) and not isinstance(answer, Hold):
                for checker in self.checkers:
                    checker.saw_answer(
                        seated.panel.scope,
                        (document.generation, document.incarnation, wish.version.name),
                        answer.body,
                    )
                return answer
        return None

    def _approve(self, guest: SimulatedGuest, wish: ApproveEvents) -> Answer | None:
        for event in wish.event_ids:
            self.witness.may_have_approved(event, guest.name)
        refusal = self.request(lambda plane: plane.approve_as_guest(guest.name, wish.event_ids))
        if isinstance(refusal, BaseException):
            return None
        if isinstance(refusal, Refusal):
            for event in wish.event_ids:
                self.witness.approvals[event].discard(guest.name)
            return errors.bad_payload(refusal.message)
        if self._guest_dice.random() < 0.05:
            self.counts["lost reply to a guest"] += 1
            return None
        for event in wish.event_ids:
            self.answered_approvals.append((event, guest.name))
            self.approved.add(event)
        return APPROVED

    def approve(self, guest: SimulatedGuest, event: str, not_before: datetime) -> None:
        """A guest says "go ahead"."""
        body = f'{{"StartRequests":[{{"EventId":"{event.lower()}"}}]}}'.encode()
        left = not_before - self.clock.now()
        answer = self._ask(guest, Request("POST", guest.target, (("metadata", "true"),), body))
        if answer is None:
            self.after(timedelta(seconds=5), lambda: self.approve(guest, event, not_before))
        elif answer is APPROVED:
            if timedelta(0) < left <= timedelta(seconds=1):
                self.counts["approval in the last second"] += 1
            self.operator.look_for_gates(event)
            if guest.manner is Manner.DOUBLE:
                self.counts["approved twice"] += 1

    def approve_wrongly(self, guest: SimulatedGuest) -> None:
        """A guest approves what is not its own: refused, and nothing changes."""
        scope = self.witness.vms[guest.name].scope
        foreign = [
            sighting.event.id for sighting in self.witness.sightings.values() if sighting.event.scope != scope
        ]
        event = self._guest_dice.choice(foreign) if foreign else str(uuid.UUID(int=7)).upper()
        body = f'{{"StartRequests":[{{"EventId":"{event}"}}]}}'.encode()
        before = self.world.events.get(event)
        answer = self._ask(guest, Request("POST", guest.target, (("metadata", "true"),), body))
        if answer is not None:
            assert answer.status in {400, 404}, f"{guest.name} approved {event}, which is not its own"
            after = self.world.events.get(event)
            assert before is None or after is None or after.approvals == before.approvals
            self.counts["wrong approval refused"] += 1


_ORIGIN = _START - datetime(1970, 1, 1, tzinfo=UTC)

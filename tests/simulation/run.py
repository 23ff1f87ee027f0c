"""One seed: a fleet, a day of requests and faults, then a kind world in which everything has to end."""

from __future__ import annotations

import heapq
import random
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from forewarn.board.board import Board, Panel, wake_waiters
from forewarn.clock import VirtualClock
from forewarn.control.plane import ControlPlane
from forewarn.core.notice import Rules
from forewarn.core.operation import Attempt, Operation, Outcome
from forewarn.core.phase import Phase
from forewarn.core.scope import Scope
from forewarn.core.world import Changes, World
from forewarn.drivers.machines import Machines
from forewarn.drivers.simulated import SimulatedDriver
from forewarn.errors import StoreUnavailable
from forewarn.store.sql import SqlStore
from tests.simulation.faults import Crash, Dice, FaultyDriver, FaultyStore
from tests.simulation.fleets import random_fleet
from tests.simulation.laws import LAWS
from tests.simulation.lobby import Lobby
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
        self._pauses = self._die("pauses")
        self._queue: list[tuple[timedelta, int, Callable[[], None]]] = []
        self._turn = 0
        self._moments = 0
        self._effects_seen = 0
        self.plane: ControlPlane | None = None
        self.up_since = timedelta(0)
        self.acted: set[tuple[str, str]] = set()
        self._on: set[str] = set()
        self.answered_approvals: list[tuple[str, str]] = []
        self.approved: set[str] = set()
        self.answered_operations: list[str] = []
        self.answered_polls: dict[tuple[str, int], timedelta] = {}
        self.lobby = Lobby(self, self._die("guests"))
        self.checkers = [law(self) for law in LAWS]
        dice = self._die("rules")
        self._rules = Rules(user_operation_limit=dice.choice([2, 10, 100]), resets_incarnation=dice.random() < 0.3)
        self.fleet = random_fleet(self._die("fleet"))
        self.operator = Operator(self, self._die("operator"))

    def close(self) -> None:
        """Let go of the store and the machines."""
        self.store.close()
        self.machines.close()

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
        self._turn += 1
        heapq.heappush(self._queue, (self.clock.elapsed() + delay, self._turn, act))

    # The process.

    def _start_plane(self) -> None:
        board = Board()
        board.on_change = self._saw_panel
        plane = ControlPlane(
            store=FaultyStore(self.store, self.dice),  # type: ignore[arg-type]
            driver=self._driver,
            board=board,
            clock=self.clock,
            rules=self._rules,
            new_id=self._new_id,
            monotonic=self.moment,
        )
        plane.observers.append(self._count)
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
        self.lobby.meet_guests()
        for checker in self.checkers:
            checker.after_restart()
        self.tick()

    def _die_now(self) -> None:
        """The process is gone; another starts after a while."""
        self.plane = None
        self.counts["restart"] += 1
        pause = self._pauses.choice([0.5, 2, 30, 600, 7200])
        self.after(timedelta(seconds=pause), self._start_plane)

    def tick(self) -> None:
        """One tick, as the runner would do it."""
        if self.plane is None:
            return
        if self._call(self.plane.tick) is None and self.plane is not None:
            self.lobby.meet_guests()
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
            self.witness.see_document(panel.scope, panel.page.document, self.clock.now(), self.clock.elapsed())
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

    def _count(self, changes: Changes) -> None:
        """Count what only a commit shows."""
        for entity in changes.entities:
            match entity:
                case Scope(is_on=False, was_on_before=True, is_gone=False) if entity.id in self._on:
                    self.counts["scope off after silence"] += 1
                    self._on.discard(entity.id)
                case Scope(is_on=True) if entity.id not in self._on:
                    self._on.add(entity.id)
                    if entity.incarnation > 1:
                        self.counts["scope on with events before"] += 1
                case Attempt(outcome=Outcome.FAILED) if "no outcome" in entity.reason:
                    self.counts["action without an outcome"] += 1
                case Operation(phase=Phase.STARTED, kind=None):
                    self.counts["ran at once and silently"] += 1
                case _:
                    pass

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


_ORIGIN = _START - datetime(1970, 1, 1, tzinfo=UTC)

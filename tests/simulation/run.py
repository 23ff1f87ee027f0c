"""One seed: a fleet, a day of requests and faults, then a kind world in which everything has to end."""

from __future__ import annotations

import heapq
import random
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from forewarn.board.board import Board, wake_waiters
from forewarn.clock import VirtualClock
from forewarn.control.plane import ControlPlane
from forewarn.core.event import Event
from forewarn.core.fault import FaultRule
from forewarn.core.fleet import Vm
from forewarn.core.notice import Limits
from forewarn.core.operation import Attempt, Outcome
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause, VmState
from forewarn.core.world import Changes, World
from forewarn.drivers.machines import Machines
from forewarn.drivers.simulated import SimulatedDriver
from forewarn.errors import StoreUnavailable
from forewarn.store.sql import SqlStore
from tests.simulation.counting import Counting
from tests.simulation.day import Day
from tests.simulation.faults import Crash, Dice, FaultyDriver, FaultyStore
from tests.simulation.felt import MachinesAsFelt
from tests.simulation.fleets import minimum_of, random_fleet
from tests.simulation.laws import LAWS
from tests.simulation.lobby import Lobby
from tests.simulation.outside import Outside
from tests.simulation.promises import Promises
from tests.simulation.requests import Operator
from tests.simulation.rollouts import RolloutDesk
from tests.simulation.watched_board import WatchedBoard
from tests.simulation.witness import Effect, KnownVms, Shown, Sighting, Witness

DAY = timedelta(days=1)
_START = datetime(2026, 3, 1, 0, 0, 0, tzinfo=UTC)
_RETRY = timedelta(seconds=1)
_FLUSH = timedelta(minutes=20)
_BOUND = timedelta(hours=4)  # after the last notice has run out
_ROLLOUT_BOUND = timedelta(hours=12)  # for six waves and what lies between them


class Simulation:
    """The production plane and everything around it, on one virtual clock."""

    def __init__(self, seed: int, faults: Sequence[FaultRule] = ()) -> None:
        self.seed = seed
        self._faults = faults  # put into the engine of every process
        self.counts: Counter[str] = Counter()
        self.clock = VirtualClock(_START)
        self._limits = _random_rules(self._die("rules"))
        self.store = SqlStore("sqlite://")
        self.outside = Outside(self.store)
        self.promises = Promises(self.outside, self.clock.elapsed, self._limits.silence)
        self.witness = Witness(KnownVms(lambda: self.world.vms))
        self.felt = MachinesAsFelt(self.clock.elapsed, self.witness.is_owners_switch)
        self.counting = Counting(self)
        self.dice = Dice(self._die("faults"), counts=self.counts)
        self.machines = Machines.open()
        self._driver = FaultyDriver(SimulatedDriver(self.machines, self.clock), self.dice, self._see_effects)
        self._ids = self._die("ids")
        self._most_intents = self._die("batches").choice((1, 2, 3, 500))
        self._pauses = self._die("pauses")
        self._queue: list[tuple[timedelta, int, Callable[[], None]]] = []
        self._turn = 0
        self._moments = 0
        self._effects_seen = 0
        self.plane: ControlPlane | None = None
        self.shown = 0  # the last commit that the plane has shown
        self.undisturbed_since = timedelta(0)
        self._not_before_retry = timedelta(0)
        self.acted: set[tuple[str, str]] = set()
        self.approved: set[str] = set()
        self.witness.on_sighting.append(self._saw_event)
        self.on_commit: list[Callable[[Changes], None]] = []
        self.checkers = [law(self) for law in LAWS]
        self.fleet = random_fleet(self._die("fleet"))
        self.lobby = Lobby(self, self._die("guests"))
        self.operator = Operator(self)
        self.rollouts = RolloutDesk(self, self._die("rollouts"))
        self.day = Day(self, self._die("operator"))

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
        self.dice.be_unkind(self._die("temper"))
        self.day.plan(DAY)
        self.rollouts.plan(DAY)
        self._flush_now_and_then()
        self._go_on_until(DAY)
        self._be_kind()
        self._drain()
        for checker in self.checkers:
            checker.at_end()
        return self.counts

    def _be_kind(self) -> None:
        """The faults stop, and nobody asks for anything more."""
        self.day.end()
        self.rollouts.be_well()
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
        while self._is_busy() and self.clock.elapsed() - _ORIGIN < DAY + wait + _BOUND + _ROLLOUT_BOUND:
            self.operator.heal()
            self.rollouts.be_well()
            self._go_on_until(self.clock.elapsed() - _ORIGIN + timedelta(minutes=10))

    def _is_busy(self) -> bool:
        return bool(self.world.operations or self.world.rollouts)

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
                for checker in self.checkers:
                    checker.after_wake()

    def _next_plane_wake(self) -> timedelta | None:
        if self.plane is None:
            return None
        wake = self.plane.next_wake()
        if wake is None:
            return None
        return max(self.clock.elapsed() + (wake - self.clock.now()), self.clock.elapsed(), self._not_before_retry)

    def after(self, delay: timedelta, act: Callable[[], None]) -> None:
        """Let somebody do something later."""
        self._turn += 1
        heapq.heappush(self._queue, (self.clock.elapsed() + delay, self._turn, act))

    # The process.

    def _start_plane(self) -> None:
        """A process takes over the store, unless one has."""
        if self.plane is not None:
            return
        board = WatchedBoard(self._saw_document)
        board.changed.subscribe(wake_waiters)
        plane = ControlPlane(
            store=FaultyStore(self.store, self.dice),  # type: ignore[arg-type]
            driver=self._driver,
            board=board,
            clock=self.clock,
            limits=self._limits,
            new_id=self._new_id,
            monotonic=self.moment,
            health=self.rollouts,
        )
        plane.most_intents = self._most_intents
        for rule in self._faults:
            plane.faults.add(rule)
        for look_on in (self.counting.saw_commit, self.rollouts.saw_commit, self._saw_commit):
            plane.committed.subscribe(look_on)
        self.board: Board = board
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
        self.undisturbed_since = self.clock.elapsed()
        for scope in [scope for scope in self.witness.shown if scope not in board.panels]:
            self.witness.lose_document(scope, self.clock.now())
        self.lobby.meet_guests()
        for checker in self.checkers:
            checker.after_restart()
        self.tick()

    def _saw_commit(self, changes: Changes) -> None:
        self.shown = changes.number
        for entity in changes.entities:
            if isinstance(entity, Attempt) and entity.outcome is Outcome.FAILED:
                self.felt.is_not_told(*entity.key)
        for judge in self.on_commit:
            judge(changes)

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

    def crash(self, when: str) -> None:
        """The process dies without a word, now."""
        if self.plane is not None:
            self.counts[f"crash {when}"] += 1
            self._die_now()

    def flush(self) -> bool:
        """Polls and clocks are written down, as the runner does now and then; whether they were."""
        return self.plane is not None and self._call(self.plane.flush) is None

    def _flush_now_and_then(self) -> None:
        """A good moment, too, to see whether something waits that should not."""
        if self.flush():
            self.rollouts.look_around()
            for checker in self.checkers:
                checker.now_and_then()
        self.after(_FLUSH, self._flush_now_and_then)

    def _call(self, act: Callable[[], object]) -> object:
        """Let the process do something. What it answers, or the exception that nobody was answered with."""
        try:
            outcome = act()
        except Crash as crash:
            self._die_now()
            return crash
        except StoreUnavailable as problem:
            self.undisturbed_since = self.clock.elapsed()
            self._not_before_retry = self.undisturbed_since + _RETRY
            return problem
        return outcome

    def request(self, act: Callable[[ControlPlane], object]) -> object:
        """Somebody asks for something; a tick follows before the answer, as in the runner."""
        plane = self.plane
        if plane is None:
            return StoreUnavailable("nobody is there")
        outcome = self._call(lambda: act(plane))
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

    def _saw_document(self, scope: str, shown: Shown | None) -> None:
        if shown is not None:
            self.rollouts.note_operations({event.operation for event in shown.document.events})
            self.witness.see_document(scope, shown, self.clock.now(), self.clock.elapsed())
        else:
            self.witness.lose_document(scope, self.clock.now())

    def _saw_event(self, sighting: Sighting, what: str) -> None:
        """The event of a failed host says under whom it has failed."""
        asked = self.witness.asked[sighting.event.operation]
        if what == "first" and asked.cause is Cause.FAIL:
            for vm in sighting.event.resources:
                self.felt.strike(vm, asked.host or "its host")

    def _see_effects(self) -> None:
        for effect in self.machines.ledger(self._effects_seen):
            self._effects_seen += 1
            self.acted.add((effect.operation, effect.vm))
            self.felt.feel(effect)
            self.counting.felt(effect)
            self.witness.feel(
                Effect(effect.operation, effect.vm, effect.action, self.clock.elapsed(), effect.trouble)
            )

    def is_on(self, scope: str) -> bool:
        """Whether the scope is on, as far as it was seen."""
        return scope in self.witness.shown and self.witness.shown[scope].is_on

    def is_short_without(self, event: Event) -> bool:
        """Whether a set has fewer VMs available than its minimum while those of the event's operation are away.

        Judged by what guests can read and by what the machines feel. Those that are away already are no loss, nor
        are those that count as down because nobody could tell what has become of them; and one that its owner
        switched off counts as running for as long as the driver could not tell that it is off.
        """
        own = [each.event for each in self.witness.of_operation(event.operation) if each.gone_at is None]
        taken = {vm for each in own for vm in each.resources}
        first = self.witness.vms[event.resources[0]]
        members = [vm for vm in self.witness.vms.values() if vm.set_name == first.set_name]
        up = {vm.name for vm in members if self._does_its_job(vm, event)} if first.set_name else set()
        minimum = minimum_of(self.fleet, first.set_name or "")
        lost = {vm.name for vm in members if vm.name in up & taken and vm.state is not VmState.DOWN}
        return bool(lost) and len(up - taken) < minimum

    def _does_its_job(self, vm: Vm, started: Event) -> bool:
        """Whether the VM was up when the event started, but for what the event's own operation does to it."""
        if self.felt.is_known_to_be_off(vm.name) or self.felt.why_down(vm.name, but=started.operation):
            return False
        return not any(
            # After a restart both may be seen for the first time; the commit tells which was first.
            event.phase is Phase.STARTED and event.version <= started.version and vm.name in event.resources
            for event in self.witness.events_shown(vm.scope)
            if event.operation != started.operation
        )

    def was_approved(self, event: str) -> bool:
        """Whether an approval of the event was answered with success."""
        return event in self.approved

    def concluded(self, operation: str) -> set[str]:
        """The VMs that the operation is done with."""
        return {attempt.vm for attempt in self.world.attempts_of(operation) if attempt.outcome is not None}


def _random_rules(dice: random.Random) -> Limits:
    return Limits(
        user_operation_limit=dice.choice([2, 10, 100]),
        resets_incarnation=dice.random() < 0.3,
        silence=timedelta(hours=dice.choice([2, 2, 24])),
        postpone_limit=timedelta(hours=dice.choice([1, 6, 168])),
    )


_ORIGIN = _START - datetime(1970, 1, 1, tzinfo=UTC)

"""Play a scenario: everything at its exact instant, always in the same order.

At one instant come first the actions, then the polls, then the approvals, and last the expectations.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commands.guests import first_poll
from forewarn.control.plane import ControlPlane
from forewarn.core.event import Event
from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.phase import Phase
from forewarn.core.world import Changes
from forewarn.emulator import Emulator, Refused
from forewarn.scenario.file.fleet import address_of, with_addresses, world_of
from forewarn.scenario.file.model import END, Expectation, FileLine, GuestScript, Scenario, TimedAction, clock_of
from forewarn.scenario.file.reader import BadScenario
from forewarn.scenario.play import actions, expectations
from forewarn.scenario.play.clock import PlayClock, RealTimePlayClock, VirtualPlayClock
from forewarn.scenario.play.expectations import EventLog, ExpectationChecker, FailedExpectation
from forewarn.scenario.play.guests import Address, OnBytes, ScriptedGuest, SeenEvent
from forewarn.service import Service

_HERE = ("127.0.0.1", 0)


class Rank(IntEnum):
    """The order at one instant."""

    ACTION = 0
    POLL = 1
    APPROVAL = 2
    EXPECTATION = 3


@dataclass(frozen=True, slots=True)
class PlayStep:
    """One thing that happened in the play."""

    at: timedelta
    what: str  # act, event, seen, approval, held, failed
    text: str
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlayProgress:
    """How far the play is, and the next action or expectation."""

    at: timedelta
    next_at: timedelta | None = None
    next_text: str = ""


@dataclass(frozen=True, slots=True)
class PlayOptions:
    """How to play a scenario."""

    rate: float | None = None  # times real time; None: virtual
    seed: int | None = None  # None: the scenario's
    metadata: Address | None = None  # for other clients; scripted guests have a port of their own
    operator: Address = _HERE
    guest: str | None = None  # the VM of a loopback caller that no address identifies
    on_bytes: OnBytes | None = None  # called with everything that scripted guests receive


@dataclass(slots=True)
class PlayResult:
    """The result of a play so far."""

    held: int = 0
    failures: list[FailedExpectation] = field(default_factory=list)
    reached: timedelta = timedelta(0)
    is_over: bool = False


class _AgendaItem(NamedTuple):
    at: timedelta
    rank: Rank
    number: int  # the order of planning
    do: Callable[[timedelta], None]
    text: str = ""  # for PlayProgress; a poll has none


class Player:
    """Plays one scenario once."""

    def __init__(
        self,
        scenario: Scenario,
        on_step: Callable[[PlayStep], None],
        options: PlayOptions,
        on_progress: Callable[[PlayProgress], None] = lambda _: None,
    ) -> None:
        self._scenario = scenario
        self._on_step = on_step
        self._on_progress = on_progress
        self._options = options
        self.result = PlayResult()
        self._agenda: list[_AgendaItem] = []
        self._numbers = count()
        self._log = EventLog()
        self._unreported: deque[tuple[datetime, Event]] = deque()  # filled on the plane's thread
        self._guests: dict[str, ScriptedGuest] = {}
        self._fleet = _with_addresses(scenario)
        self._seed = scenario.head.seed if options.seed is None else options.seed
        self.emulator = Emulator(
            seed=self._seed,
            start=scenario.head.start,
            metadata=(_HERE,) if options.metadata is None else (options.metadata, _HERE),
            operator=options.operator,
            guest=options.guest,
            furnish=self._furnish,
            **scenario.settings,
        )

    def play(self, when_ready: Callable[[], None] = lambda: None) -> PlayResult:
        """Play to the end; `result` is current also when the play is interrupted."""
        with self.emulator:
            try:
                self._turn_scopes_on()
                self._create_guests()
                when_ready()
                self._fill_agenda()
                self._go_through(self._pace())
            finally:
                for guest in self._guests.values():
                    guest.close()
        self.result.is_over = True
        return self.result

    def _pace(self) -> PlayClock:
        rate = self._options.rate
        return VirtualPlayClock(self.emulator) if rate is None else RealTimePlayClock(self.emulator, rate)

    # Before the play.

    def _furnish(self, service: Service) -> None:
        apply_fleet(service.plane, self._fleet, "scenario")  # cannot fail: `_with_addresses` has checked it
        service.plane.committed.subscribe(self._note)

    @property
    def _plane(self) -> ControlPlane:
        return self.emulator.service.plane

    def _turn_scopes_on(self) -> None:
        if self._scenario.head.enabled:
            for vm in {vm.scope: vm.name for vm in reversed(self._plane.world.vms.values())}.values():
                self.emulator.on_plane(first_poll, self._plane, vm)

    def _create_guests(self) -> None:
        host, port = self.emulator.service.metadata[-1]
        on_bytes = self._options.on_bytes or (lambda _name, _data: None)
        for script in self._scenario.guests:
            if not script.outside:
                vm = self._plane.world.vms.get(script.vm)
                if vm is None:  # its scale set gets it later, with this address
                    server, source = (host, port), address_of(self._fleet, script.vm)
                else:
                    server, source = (host, vm.port or port), None if vm.port else vm.addresses[0]
                self._guests[script.title] = ScriptedGuest(script, server, source, on_bytes)

    def _fill_agenda(self) -> None:
        scenario = self._scenario
        for action, line in zip(scenario.actions, scenario.action_lines, strict=True):
            self._plan(action.time, Rank.ACTION, partial(self._run, action, line), actions.in_words(action))
        for guest in self._guests.values():
            self._plan(guest.script.starts, Rank.POLL, partial(self._poll, guest))
        for wanted, line in zip(scenario.expectations, scenario.expectation_lines, strict=True):
            at = scenario.length if wanted.time == END else wanted.time
            text = f"whether {expectations.subject_of(wanted)} is as expected"
            self._plan(at, Rank.EXPECTATION, partial(self._check, wanted, line), text)

    def _plan(self, at: timedelta, rank: Rank, do: Callable[[timedelta], None], text: str = "") -> None:
        if at <= self._scenario.length:
            heapq.heappush(self._agenda, _AgendaItem(at, rank, next(self._numbers), do, text))

    def _go_through(self, pace: PlayClock) -> None:
        start, length = self._scenario.head.start, self._scenario.length
        while self._agenda:
            pace.go_to(start + self._agenda[0].at, self._meanwhile)
            due = heapq.heappop(self._agenda)
            self.result.reached = due.at
            due.do(due.at)
            self._report_events()
        pace.go_to(start + length, self._meanwhile)
        self.result.reached = length

    # What happens at an instant.

    def _run(self, action: TimedAction, line: FileLine, at: timedelta) -> None:
        words = actions.in_words(action)
        self._on_step(PlayStep(at, "act", words, {"do": str(action.do), "line": str(line)}))
        runner = actions.ActionRunner(self._plane, self._seed)
        try:
            self.emulator.on_plane(runner.run, action)
        except Refused as refused:
            difference = expectations.Difference("do", str(action.do), f"refused: {refused.message}")
            self._fail(FailedExpectation(line, at, words, (difference,)))

    def _poll(self, guest: ScriptedGuest, at: timedelta) -> None:
        for seen in guest.poll():
            text = f"{guest.script.title} sees {seen.kind} {seen.id[:8].lower()} {seen.status}"
            self._on_step(PlayStep(at, "seen", text, _in_detail(guest.script, seen)))
            if guest.wants_to_approve(seen) and guest.script.approve_after is not None:
                self._plan(at + guest.script.approve_after, Rank.APPROVAL, partial(self._approve, guest, seen))
        again, stops = at + guest.script.every, guest.script.stops
        if stops is None or again < stops:
            self._plan(again, Rank.POLL, partial(self._poll, guest))

    def _approve(self, guest: ScriptedGuest, seen: SeenEvent, at: timedelta) -> None:
        if seen.status != Phase.SCHEDULED:
            return  # the guest has seen meanwhile that there is nothing to approve
        text = f"{guest.script.title} approves {seen.kind} {seen.id[:8].lower()}"
        self._on_step(PlayStep(at, "approval", text, _in_detail(guest.script, seen)))
        guest.approve(seen.id)

    def _check(self, wanted: Expectation, line: FileLine, at: timedelta) -> None:
        checker = ExpectationChecker(self._plane, self._log, self._guests)
        found = self.emulator.on_plane(lambda: tuple(checker.differences(wanted)))
        subject = expectations.subject_of(wanted)
        if found:
            self._fail(FailedExpectation(line, at, subject, found))
            return
        self.result.held += 1
        text = f"as expected: {subject}: {expectations.in_words(wanted)}"
        self._on_step(PlayStep(at, "held", text, {"line": str(line)}))

    def _fail(self, failure: FailedExpectation) -> None:
        self.result.failures.append(failure)
        details = {
            "line": str(failure.line),
            "subject": failure.subject,
            "differences": [
                {"key": each.key, "expected": each.expected, "seen": each.seen} for each in failure.differences
            ],
        }
        text = "; ".join(f"{d.key} is {d.seen}, not {d.expected}" for d in failure.differences)
        self._on_step(PlayStep(failure.at, "failed", f"NOT as expected: {failure.subject}: {text}", details))

    # Reports.

    def _note(self, changes: Changes) -> None:
        """Note a commit; called on the plane's thread."""
        now = self._plane.clock.now()
        self._unreported.extend((now, event) for event in self._log.note(changes))

    def _meanwhile(self) -> None:
        self._report_events()
        coming = min((due for due in self._agenda if due.text), default=None)
        at = self.emulator.now - self._scenario.head.start
        self._on_progress(PlayProgress(at) if coming is None else PlayProgress(at, coming.at, coming.text))

    def _report_events(self) -> None:
        """Report what the plane has done since the last call."""
        while self._unreported:
            at, event = self._unreported.popleft()
            self._on_step(_step_of(event, at - self._scenario.head.start))


def _with_addresses(scenario: Scenario) -> FleetSpec:
    """The fleet with an address for every VM; raise `BadScenario` if the fleet has problems."""
    found = with_addresses(scenario.fleet, {script.vm for script in scenario.guests})
    world = world_of(found)
    if isinstance(world, list):
        raise BadScenario(tuple(f"{each.what} {each.remedy}" for each in world))
    return found


def _step_of(event: Event, at: timedelta) -> PlayStep:
    """A line about an event."""
    text = f"{event.kind} of {', '.join(event.resources)} {event.phase}"
    if event.phase is Phase.SCHEDULED:
        text += f", not before {event.not_before:%H:%M:%SZ}"
    if event.phase is Phase.SCHEDULED and event.approved_by:
        text += f", approved by {event.approved_by}"
    if not event.phase.is_open and event.reason:
        text += f": {event.reason}"
    details = {"event": event.id, "kind": str(event.kind), "phase": str(event.phase), "vms": list(event.resources)}
    return PlayStep(at, "event", f"{event.short_id} {text}", details)


def _in_detail(script: GuestScript, seen: SeenEvent) -> dict[str, Any]:
    return {"guest": script.title, "event": seen.id, "kind": seen.kind, "status": seen.status}


def in_a_sentence(result: PlayResult, scenario: Scenario) -> str:
    """The result, for a reader."""
    total = result.held + len(result.failures)
    if not result.is_over:
        left = len(scenario.expectations) - total
        where = f"stopped at {clock_of(result.reached)} of {clock_of(scenario.length)}"
        return f"{where}: {result.held} as expected, {len(result.failures)} not, {left} not checked"
    if result.failures:
        return f"{scenario.head.name}: {len(result.failures)} not as expected, {result.held} as expected"
    return f"{scenario.head.name}: {result.held} of {total} as expected"

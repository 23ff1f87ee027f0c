"""Plays a scenario: everything on its exact instant, in an order that is always the same.

At one instant come first what is done, then the polls, then the approvals, and last what is expected.
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
from forewarn.scenario import acts, looking
from forewarn.scenario.file import BadScenario
from forewarn.scenario.guests import Address, Hear, ScriptedGuest, Sighting
from forewarn.scenario.looking import Chronicle, Failure, Look
from forewarn.scenario.model import END, Act, Expectation, GuestScript, Line, Scenario, clock_of
from forewarn.scenario.pace import AtOnce, Pace, Playing
from forewarn.scenario.stage import address_of, seated, world_of
from forewarn.service import Service

_HERE = ("127.0.0.1", 0)


class Rank(IntEnum):
    """What comes first at one instant."""

    ACT = 0
    POLL = 1
    APPROVAL = 2
    LOOK = 3


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that happened, for whoever follows the play."""

    at: timedelta
    what: str  # act, event, seen, approval, held, failed
    text: str
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Waiting:
    """How far the play is while nothing happens, and what is done or looked at next."""

    at: timedelta
    next_at: timedelta | None = None
    next_text: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """How a scenario is played."""

    rate: float | None = None  # None: at once
    seed: int | None = None  # None: the scenario's own
    metadata: Address | None = None  # where others are heard; scripted guests have a port of their own
    operator: Address = _HERE
    guest: str | None = None  # who a caller from this machine is that no address names
    hear: Hear | None = None  # told of every byte that scripted guests receive


@dataclass(slots=True)
class Outcome:
    """What came of it so far."""

    held: int = 0
    failures: list[Failure] = field(default_factory=list)
    reached: timedelta = timedelta(0)
    is_over: bool = False


class _Due(NamedTuple):
    at: timedelta
    rank: Rank
    number: int  # of two that are otherwise alike, the one that was thought of first
    do: Callable[[timedelta], None]
    text: str = ""  # for who waits for it; a poll has none


class Player:
    """Plays one scenario once."""

    def __init__(
        self,
        scenario: Scenario,
        tell: Callable[[Happening], None],
        options: Options,
        wait: Callable[[Waiting], None] = lambda _: None,
    ) -> None:
        self._scenario = scenario
        self._tell = tell
        self._wait = wait
        self._options = options
        self.outcome = Outcome()
        self._agenda: list[_Due] = []
        self._numbers = count()
        self._chronicle = Chronicle()
        self._unsaid: deque[tuple[datetime, Event]] = deque()  # filled by the plane's thread
        self._guests: dict[str, ScriptedGuest] = {}
        self._fleet = _seated(scenario)
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

    def play(self, when_ready: Callable[[], None] = lambda: None) -> Outcome:
        """Play it to its end; `outcome` is what came of it, also when it is broken off."""
        with self.emulator:
            try:
                self._turn_scopes_on()
                self._seat_guests()
                when_ready()
                self._fill_agenda()
                self._go_through(self._pace())
            finally:
                for guest in self._guests.values():
                    guest.close()
        self.outcome.is_over = True
        return self.outcome

    def _pace(self) -> Pace:
        rate = self._options.rate
        return AtOnce(self.emulator) if rate is None else Playing(self.emulator, rate)

    # Before it begins.

    def _furnish(self, service: Service) -> None:
        apply_fleet(
            service.plane, self._fleet, "scenario"
        )  # into an empty store: it is taken, as `_seated` has seen
        service.plane.committed.subscribe(self._note)

    @property
    def _plane(self) -> ControlPlane:
        return self.emulator.service.plane

    def _turn_scopes_on(self) -> None:
        if self._scenario.head.enabled:
            for vm in {vm.scope: vm.name for vm in reversed(self._plane.world.vms.values())}.values():
                self.emulator.on_plane(first_poll, self._plane, vm)

    def _seat_guests(self) -> None:
        host, port = self.emulator.service.metadata[-1]
        hear = self._options.hear or (lambda _name, _data: None)
        for script in self._scenario.guests:
            if not script.outside:
                vm = self._plane.world.vms.get(script.vm)
                if vm is None:  # its scale set gets it later, and keeps this address for it
                    server, source = (host, port), address_of(self._fleet, script.vm)
                else:
                    server, source = (host, vm.port or port), None if vm.port else vm.addresses[0]
                self._guests[script.title] = ScriptedGuest(script, server, source, hear)

    def _fill_agenda(self) -> None:
        scenario = self._scenario
        for act, line in zip(scenario.acts, scenario.act_lines, strict=True):
            self._plan(act.time, Rank.ACT, partial(self._act, act, line), acts.in_words(act))
        for guest in self._guests.values():
            self._plan(guest.script.starts, Rank.POLL, partial(self._poll, guest))
        for wanted, line in zip(scenario.expectations, scenario.expectation_lines, strict=True):
            at = scenario.length if wanted.time == END else wanted.time
            text = f"whether {looking.subject_of(wanted)} is as expected"
            self._plan(at, Rank.LOOK, partial(self._look, wanted, line), text)

    def _plan(self, at: timedelta, rank: Rank, do: Callable[[timedelta], None], text: str = "") -> None:
        if at <= self._scenario.length:
            heapq.heappush(self._agenda, _Due(at, rank, next(self._numbers), do, text))

    def _go_through(self, pace: Pace) -> None:
        start, length = self._scenario.head.start, self._scenario.length
        while self._agenda:
            pace.go_to(start + self._agenda[0].at, self._meanwhile)
            due = heapq.heappop(self._agenda)
            self.outcome.reached = due.at
            due.do(due.at)
            self._say()
        pace.go_to(start + length, self._meanwhile)
        self.outcome.reached = length

    # What happens at an instant.

    def _act(self, act: Act, line: Line, at: timedelta) -> None:
        words = acts.in_words(act)
        self._tell(Happening(at, "act", words, {"do": str(act.do), "line": str(line)}))
        hands = acts.Hands(self._plane, self._seed)
        try:
            self.emulator.on_plane(hands.do, act)
        except Refused as refused:
            difference = looking.Difference("do", str(act.do), f"refused: {refused.message}")
            self._fail(Failure(line, at, words, (difference,)))

    def _poll(self, guest: ScriptedGuest, at: timedelta) -> None:
        for seen in guest.poll():
            text = f"{guest.script.title} sees {seen.kind} {seen.id[:8].lower()} {seen.status}"
            self._tell(Happening(at, "seen", text, _in_detail(guest.script, seen)))
            if guest.wants_to_approve(seen) and guest.script.approve_after is not None:
                self._plan(at + guest.script.approve_after, Rank.APPROVAL, partial(self._approve, guest, seen))
        again, stops = at + guest.script.every, guest.script.stops
        if stops is None or again < stops:
            self._plan(again, Rank.POLL, partial(self._poll, guest))

    def _approve(self, guest: ScriptedGuest, seen: Sighting, at: timedelta) -> None:
        if seen.status != Phase.SCHEDULED:
            return  # by what the guest has seen meanwhile there is nothing to approve
        text = f"{guest.script.title} approves {seen.kind} {seen.id[:8].lower()}"
        self._tell(Happening(at, "approval", text, _in_detail(guest.script, seen)))
        guest.approve(seen.id)

    def _look(self, wanted: Expectation, line: Line, at: timedelta) -> None:
        look = Look(self._plane, self._chronicle, self._guests)
        found = self.emulator.on_plane(lambda: tuple(look.differences(wanted)))
        subject = looking.subject_of(wanted)
        if found:
            self._fail(Failure(line, at, subject, found))
            return
        self.outcome.held += 1
        text = f"as expected: {subject}: {looking.in_words(wanted)}"
        self._tell(Happening(at, "held", text, {"line": str(line)}))

    def _fail(self, failure: Failure) -> None:
        self.outcome.failures.append(failure)
        details = {
            "line": str(failure.line),
            "subject": failure.subject,
            "differences": [
                {"key": each.key, "expected": each.expected, "seen": each.seen} for each in failure.differences
            ],
        }
        text = "; ".join(f"{d.key} is {d.seen}, not {d.expected}" for d in failure.differences)
        self._tell(Happening(failure.at, "failed", f"NOT as expected: {failure.subject}: {text}", details))

    # What the plane did.

    def _note(self, changes: Changes) -> None:
        """On the plane's thread."""
        now = self._plane.clock.now()
        self._unsaid.extend((now, event) for event in self._chronicle.note(changes))

    def _meanwhile(self) -> None:
        self._say()
        coming = min((due for due in self._agenda if due.text), default=None)
        at = self.emulator.now - self._scenario.head.start
        self._wait(Waiting(at) if coming is None else Waiting(at, coming.at, coming.text))

    def _say(self) -> None:
        """Tell what the plane has done since."""
        while self._unsaid:
            at, event = self._unsaid.popleft()
            self._tell(_told(event, at - self._scenario.head.start))


def _seated(scenario: Scenario) -> FleetSpec:
    """The fleet with an address for every VM; `BadScenario`, before anything is made, if it cannot be."""
    found = seated(scenario.fleet, {script.vm for script in scenario.guests})
    world = world_of(found)
    if isinstance(world, list):
        raise BadScenario(tuple(f"{each.what} {each.remedy}" for each in world))
    return found


def _told(event: Event, at: timedelta) -> Happening:
    """A line about an event."""
    text = f"{event.kind} of {', '.join(event.resources)} {event.phase}"
    if event.phase is Phase.SCHEDULED:
        text += f", not before {event.not_before:%H:%M:%SZ}"
    if event.phase is Phase.SCHEDULED and event.approved_by:
        text += f", approved by {event.approved_by}"
    if not event.phase.is_open and event.reason:
        text += f": {event.reason}"
    details = {"event": event.id, "kind": str(event.kind), "phase": str(event.phase), "vms": list(event.resources)}
    return Happening(at, "event", f"{event.short_id} {text}", details)


def _in_detail(script: GuestScript, seen: Sighting) -> dict[str, Any]:
    return {"guest": script.title, "event": seen.id, "kind": seen.kind, "status": seen.status}


def in_a_sentence(outcome: Outcome, scenario: Scenario) -> str:
    """How it ended, for a reader."""
    total = outcome.held + len(outcome.failures)
    if not outcome.is_over:
        left = len(scenario.expectations) - total
        where = f"stopped at {clock_of(outcome.reached)} of {clock_of(scenario.length)}"
        return f"{where}: {outcome.held} as expected, {len(outcome.failures)} not, {left} not looked at"
    if outcome.failures:
        return f"{scenario.head.name}: {len(outcome.failures)} not as expected, {outcome.held} as expected"
    return f"{scenario.head.name}: {outcome.held} of {total} as expected"

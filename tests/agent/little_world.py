"""Cases without threads, disks or clocks: the course's moves are made, and handlers end when a test says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from forewarn.agent import course, steps
from forewarn.agent.case import (
    Case,
    Consent,
    Direction,
    Ending,
    Outcome,
    Run,
    lost,
    next_order,
    with_run,
)
from forewarn.agent.events import STARTED, Event
from forewarn.agent.policy import Approval, Occasion, Policy, Profile, Rule, Step
from forewarn.agent.scene import View
from forewarn.agent.superseded import profile_of, type_told, with_other_names

NOW = datetime(2026, 3, 2, 12, 0, 0, tzinfo=timezone.utc)
DO, UNDO = Direction.DO, Direction.UNDO
DONE, FAILED, BEGUN, SKIPPED = Outcome.DONE, Outcome.FAILED, Outcome.BEGUN, Outcome.SKIPPED


def an_event(
    event: str = "E1", *, minutes: float | None = 15, resources: Iterable[str] = ("web-0",), **said: Any
) -> Event:
    not_before = None if minutes is None else NOW + timedelta(minutes=minutes)
    return Event(**{"id": event, "type": "Reboot", "resources": tuple(resources), "not_before": not_before} | said)


def a_case(event: Event | None = None, **said: Any) -> Case:
    event = event or an_event()
    known = {"vm": "web-0", "profile": "drain", "why": "rule 1 fits", "first_seen_at": NOW, "last_seen_at": NOW}
    return Case(event, **(known | {"policy": a_policy(a_profile(a_step()))} | said))


def a_policy(*profiles: Profile) -> Policy:
    return Policy(profiles={each.name: each for each in profiles})


def a_step(name: str = "drain", **said: Any) -> Step:
    return Step(**{"name": name, "uses": "command", "options": {"command": (name,)}, "has_undo": True} | said)


def a_profile(*its_steps: Step, name: str = "drain", **said: Any) -> Profile:
    return Profile(name, its_steps, **({"approval": Approval.AFTER_SUCCESS} | said))


def a_run(outcome: Outcome = DONE, **said: Any) -> Run:
    ended_at = None if outcome is BEGUN else NOW
    return Run(**{"outcome": outcome, "tries": 1, "begun_at": NOW, "ended_at": ended_at} | said)


@dataclass
class World:
    """Some cases, the profiles they are met with, and the time."""

    profiles: dict[str, Profile]
    cases: dict[str, Case] = field(default_factory=dict)
    now: datetime = NOW
    ready: set[str] = field(default_factory=set)
    made: list[tuple[str, course.Move]] = field(default_factory=list)  # all moves but `Stop`
    acted: list[tuple[str, str, Direction]] = field(default_factory=list)  # every attempt that was begun
    approved: list[str] = field(default_factory=list)
    stopped: list[tuple[str, str]] = field(default_factory=list)  # as often as it was said
    view: View = field(default_factory=lambda: View("b-1"))
    rules: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, *profiles: Profile) -> World:
        return cls({profile.name: profile for profile in profiles})

    @property
    def policy(self) -> Policy:
        """What new cases get. A profile that a test adds is there for those that have it already, too."""
        return Policy(self.rules, self.profiles)

    def see(self, event: Event, profile: str = "drain", vm: str = "web-0") -> World:
        started_at = self.now if event.has_started else None
        known = {"first_seen_at": self.now, "last_seen_at": self.now, "started_at": started_at}
        self.cases[event.id] = Case(event, vm, profile, "a test", policy=self.policy, **known)
        return self.settle()

    def change(self, name: str, /, **changes: Any) -> World:
        self.cases[name] = replace(self.cases[name], **changes)
        return self.settle()

    def start(self, event: str) -> World:
        started = replace(self.cases[event].event, status=STARTED, not_before=None)
        return self.change(event, event=started, started_at=self.now)

    def go(self, *events: str, ending: Ending = Ending.FINISHED) -> World:
        for event in events:
            self.cases[event] = replace(self.cases[event], ending=ending, ended_at=self.now)
        return self.settle()

    def end(
        self, event: str, step: str, direction: Direction = DO, outcome: Outcome = DONE, note: str = ""
    ) -> World:
        run = self.cases[event].runs[step, direction]
        assert run.outcome is BEGUN, run
        ended = replace(run, outcome=outcome, ended_at=self.now, note=note)
        self.cases[event] = with_run(self.cases[event], step, direction, ended)
        return self.settle()

    def reboot(self) -> World:
        """The machine boots, and the endpoint is asked again."""
        self.view = replace(self.view, boot=f"{self.view.boot}+")
        return self.settle()

    def advance(self, seconds: float) -> World:
        self.now += timedelta(seconds=seconds)
        for event, case in self.cases.items():
            self.cases[event] = replace(case, last_seen_at=self.now) if case.is_open else case
        return self.settle()

    def plan(self, event: str) -> course.Plan:
        case = self.cases[event]
        others = [each for each in self.cases.values() if each.closed_at is None]
        return course.plan(case, profile_of(case), others, self.now, self.ready, self.view)

    def settle(self) -> World:
        """Make moves until there are none, as the keeper does: open cases first."""
        for _ in range(100):
            has_moved = False
            for case in sorted(self.cases.values(), key=lambda each: not each.is_open):
                for move in self.plan(case.id).moves:
                    has_moved |= self._make(case.id, move)
            if not has_moved:
                return self
        raise AssertionError("the course never comes to rest")

    def _make(self, event: str, move: course.Move) -> bool:
        is_step = isinstance(move, steps.STEP_MOVES)
        has_moved = self._take_step(event, move) if is_step else self._take_note(event, move)
        if has_moved:
            self.made.append((event, move))
        return has_moved

    def _take_step(self, event: str, move: course.Move) -> bool:
        case = self.cases[event]
        if isinstance(move, steps.Begin):
            last = case.run(move.step.name, move.direction)
            run = Run(
                BEGUN,
                move.try_number,
                self.now,
                boot=self.view.boot,
                tries_before=last.tries_before if last else 0,
                until=self.now + timedelta(seconds=move.seconds),
                order=next_order(*self.cases.values()),
                profile=case.profile,
                of_type=type_told(move.step, case.event.type) if move.direction is DO else "",
            )
            self.acted.append((event, move.step.name, move.direction))
            self.cases[event] = with_run(case, move.step.name, move.direction, run)
        elif isinstance(move, steps.Skip):
            run = Run(SKIPPED, 0, self.now, self.now, note=move.why)
            self.cases[event] = with_run(case, move.step.name, move.direction, run)
        elif isinstance(move, steps.Rely):
            run = Run(
                DONE,
                0,
                self.now,
                self.now,
                boot=self.view.boot,
                of_event=move.of_event,
                order=next_order(*self.cases.values()),
                profile=case.profile,
                of_type=type_told(move.step, case.event.type),
            )
            self.cases[event] = with_run(case, move.step.name, DO, run)
        elif isinstance(move, steps.Stop):
            self.stopped.append((event, move.step.name))
            return False
        return True

    def _take_note(self, event: str, move: course.Move) -> bool:
        case = self.cases[event]
        if isinstance(move, course.NotePrepared):
            self.cases[event] = replace(case, prepared_at=self.now)
        elif isinstance(move, course.NoteLost):
            for name in move.steps:
                done = self.cases[event].runs[name, DO]
                self.cases[event] = with_run(self.cases[event], name, DO, lost(done))
            self.cases[event] = replace(self.cases[event], prepared_at=None)
        elif isinstance(move, course.NoteUnprepared):
            self.cases[event] = replace(case, prepared_at=None)
        elif isinstance(move, course.NoteRenamed):
            self.cases[event] = with_other_names(case, move.names)
        elif isinstance(move, course.LookAgain):
            return False
        elif isinstance(move, course.Approve):
            self.approved.append(event)
            self.cases[event] = replace(case, consent=Consent.GIVEN, consent_by=move.by, consent_at=self.now)
        elif isinstance(move, course.NoteUnconfirmed):
            self.cases[event] = replace(case, unconfirmed_at=self.now)
        elif isinstance(move, course.Close):
            self.cases[event] = replace(case, closed_at=self.now)
        return True

    # What a test asks.

    def outcome(self, event: str, step: str = "drain", direction: Direction = DO) -> Outcome | None:
        run = self.cases[event].run(step, direction)
        return run.outcome if run else None

    def running(self) -> list[tuple[str, str, Direction]]:
        return [
            (case.id, step, direction)
            for case in self.cases.values()
            for (step, direction), run in case.runs.items()
            if run.outcome is BEGUN
        ]

    def is_closed(self, event: str) -> bool:
        return self.cases[event].closed_at is not None

    def words(self, event: str) -> str:
        return "; ".join(self.plan(event).waiting_for)


__all__ = [
    "BEGUN",
    "DO",
    "DONE",
    "FAILED",
    "NOW",
    "SKIPPED",
    "UNDO",
    "Approval",
    "Occasion",
    "World",
    "a_case",
    "a_policy",
    "a_profile",
    "a_run",
    "a_step",
    "an_event",
]

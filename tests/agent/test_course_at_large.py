"""Events come, change and go in any order, handlers succeed or fail: what holds whatever happens."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from forewarn.agent.case import Case, Direction, Ending, Outcome
from forewarn.agent.policy import Approval, OnFailure, Step
from forewarn.agent.steps import Begin
from tests.agent.little_world import (
    BEGUN,
    DO,
    DONE,
    FAILED,
    SKIPPED,
    UNDO,
    Occasion,
    World,
    a_profile,
    a_step,
    an_event,
)

EVENTS = ("E1", "E2", "E3")
_DRAIN = a_profile(
    a_step("out", retries=1, is_for_all_events=True),
    a_step("count", has_undo=False),
    a_step("stop", group=2, needs=("out",)),
    a_step("tell", on=Occasion.DETECTED, has_undo=False, on_failure=OnFailure.CONTINUE),
    a_step("back", on=Occasion.FINISHED, has_undo=False, on_failure=OnFailure.CONTINUE),
)
# The same effect under another name, in another profile.
_SPOT = a_profile(
    a_step("leave", options={"command": ("out",)}, is_for_all_events=True),
    a_step("halt", options={"command": ("stop",)}, group=2),
    name="spot",
    approval=Approval.BEFORE_DEADLINE,
    lead_seconds=300,
)
# What is told of the event comes before a state of the machine, and has to come back after it.
_LAST = a_profile(
    a_step("balancer"), a_step("off", options={"command": ("out",)}, group=2, is_for_all_events=True), name="last"
)
# One state of the machine upon another.
_TWO = a_profile(
    a_step("away", options={"command": ("out",)}, is_for_all_events=True),
    a_step("unit", group=2, is_for_all_events=True),
    name="two",
)
_EFFECTS = {
    "away": "out",
    "unit": "unit",
    "out": "out",
    "leave": "out",
    "off": "out",
    "stop": "stop",
    "halt": "stop",
    "balancer": "balancer",
}


class AtLarge(RuleBasedStateMachine):
    """Some events of some profiles."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World.of(_DRAIN, _SPOT, _LAST, _TWO)
        self.lives = 0
        self.checked = 0
        self.approved = 0  # so many approvals were looked at
        self.ordered = 0  # and so many moves
        # The attempts that acted and are not undone.
        self.held: dict[str, list[str]] = {"out": [], "stop": [], "balancer": [], "unit": []}
        self.stuck: set[str] = set()  # effects that nobody can undo any more

    @precondition(lambda self: self.lives < len(EVENTS))
    @rule(profile=st.sampled_from(["drain", "spot", "last", "two"]), minutes=st.sampled_from([0.05, 1, 15, None]))
    def see(self, profile: str, minutes: float | None) -> None:
        self.lives += 1
        self.world.see(an_event(f"E{self.lives}", minutes=minutes), profile)

    @precondition(lambda self: self.world.running())
    @rule(which=st.integers(0, 9), outcome=st.sampled_from([DONE, DONE, FAILED]))
    def end(self, which: int, outcome) -> None:
        running = self.world.running()
        self._end(running[which % len(running)], outcome)

    def _end(self, attempt: tuple[str, str, Direction], outcome: Outcome) -> None:
        _, step, direction = attempt
        is_stuck = direction is UNDO and _EFFECTS.get(step) in self.stuck
        self.world.end(*attempt, FAILED if is_stuck else outcome)

    @rule(effect=st.sampled_from(["out", "stop", "balancer", "unit"]))
    def get_stuck(self, effect: str) -> None:
        self.stuck.add(effect)

    @rule(seconds=st.sampled_from([1, 5, 60, 600]))
    def advance(self, seconds: int) -> None:
        self.world.advance(seconds)

    @precondition(lambda self: self.there())
    @rule(which=st.integers(0, 9), ending=st.sampled_from(Ending))
    def go(self, which: int, ending: Ending) -> None:
        there = self.there()
        self.world.go(there[which % len(there)], ending=ending)

    @precondition(lambda self: self.there())
    @rule(which=st.integers(0, 9))
    def start(self, which: int) -> None:
        there = self.there()
        self.world.start(there[which % len(there)])

    @precondition(lambda self: self.there())
    @rule(which=st.integers(0, 9), minutes=st.sampled_from([0.5, 60]))
    def postpone(self, which: int, minutes: float) -> None:
        event = self.there()[which % len(self.there())]
        case = self.world.cases[event]
        if not case.event.has_started:
            self.world.change(event, event=replace(case.event, not_before=an_event(minutes=minutes).not_before))

    @rule()
    def reboot(self) -> None:
        self.world.reboot()

    def there(self) -> list[str]:
        return [case.id for case in self.world.cases.values() if case.is_open]

    @invariant()
    def one_effect_is_moved_by_one_attempt_at_a_time(self) -> None:
        moving = [_EFFECTS[step] for _, step, _ in self.world.running() if step in _EFFECTS]

        assert len(moving) == len(set(moving)), self.world.running()

    @invariant()
    def nothing_is_undone_while_an_open_event_relies_on_it(self) -> None:
        undoing = {_EFFECTS[step] for _, step, direction in self.world.running() if direction is UNDO}
        needed = {
            _EFFECTS[step]
            for case in self.world.cases.values()
            for (step, direction), run in case.runs.items()
            if case.is_open and direction is DO and run.outcome in {DONE, BEGUN} and step in _EFFECTS
        }

        assert not undoing & needed

    @invariant()
    def nothing_is_undone_before_what_was_done_after_it(self) -> None:
        for event, move in self.world.made[self.ordered :]:
            if isinstance(move, Begin) and move.direction is UNDO:
                case = self.world.cases[event]
                later = [
                    step
                    for step in self.world.profiles[case.profile].on(Occasion.PREPARE)
                    if step.group > move.step.group and step.has_undo and _has_done(case.run(step.name))
                ]
                still = [step.name for step in later if self._is_there(step, case)]
                assert not still, f"{move.step.name} of {event} is undone before {still}"
        self.ordered = len(self.world.made)

    def _is_there(self, step: Step, case: Case) -> bool:
        """Whether what the step did is still there: a state by the last who did anything about it.

        What was undone for the event itself, another may have done anew since.
        """
        own = case.run(step.name, UNDO)
        if own is not None and own.outcome is DONE:
            return False
        cases = self.world.cases.values() if step.is_for_all_events else [case]
        runs = [
            (run.order, direction, run)
            for each in cases
            for (name, direction), run in each.runs.items()
            if _EFFECTS.get(name) == _EFFECTS[step.name] and run.outcome is not SKIPPED and not run.of_event
        ]
        _, direction, last = max(runs, key=lambda each: each[0])
        return direction is DO or last.outcome is BEGUN

    @invariant()
    def what_is_approved_was_prepared(self) -> None:
        for event in self.world.approved[self.approved :]:
            case = self.world.cases[event]
            steps = self.world.profiles[case.profile].on(Occasion.PREPARE)

            assert all(case.run(step.name).outcome is DONE for step in steps if step.on_failure is OnFailure.HOLD)
            assert all(case.run(step.name).boot == self.world.view.boot for step in steps)
        self.approved = len(self.world.approved)

    @invariant()
    def nothing_is_approved_twice(self) -> None:
        assert len(self.world.approved) == len(set(self.world.approved))

    @invariant()
    def what_is_closed_runs_nothing(self) -> None:
        assert not any(self.world.is_closed(event) for event, _, _ in self.world.running())

    @invariant()
    def every_successful_attempt_at_an_undo_has_something_to_undo(self) -> None:
        for event, step, direction in self.world.acted[self.checked :]:
            if direction is DO and step in _EFFECTS:
                self.held[_EFFECTS[step]].append(event)
        self.checked = len(self.world.acted)
        undone = [
            _EFFECTS[step]
            for case in self.world.cases.values()
            for (step, direction), run in case.runs.items()
            if direction is UNDO and run.outcome is DONE
        ]

        assert all(undone.count(effect) <= len(set(events)) for effect, events in self.held.items())

    def teardown(self) -> None:
        """When all events go, everything ends, and everything that was done is undone, or was tried to be."""
        self.world.go(*self.there())
        for _ in range(600):
            if running := self.world.running():
                self._end(running[0], DONE)
            else:
                self.world.advance(60)
            if all(self.world.is_closed(event) for event in self.world.cases):
                break
        assert all(self.world.is_closed(event) for event in self.world.cases)
        for effect in self.held:
            did = [
                run
                for _, direction, run in self._runs_of(effect)
                if direction is DO and run.outcome is not SKIPPED
            ]
            own = {case for case, direction, run in self._runs_of(effect) if direction is DO and _acted(run)}
            undone = [
                run for _, direction, run in self._runs_of(effect) if direction is UNDO and run.outcome is DONE
            ]
            gave_up = [
                run for _, direction, run in self._runs_of(effect) if direction is UNDO and run.outcome is FAILED
            ]
            assert not did or undone or gave_up, f"{effect} was done and never undone"
            assert len(undone) <= len(own), f"{effect} was undone more often than done"

    def _runs_of(self, effect: str):
        for case in self.world.cases.values():
            for (step, direction), run in case.runs.items():
                if _EFFECTS.get(step) == effect:
                    yield case.id, direction, run


def _has_done(run) -> bool:
    return run is not None and run.outcome is DONE


def _acted(run) -> bool:
    return run.outcome is not SKIPPED and not run.of_event


TestAtLarge = AtLarge.TestCase
TestAtLarge.settings = settings(
    max_examples=120,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.long
class TestAtLargeForLong(AtLarge.TestCase):
    settings = settings(TestAtLarge.settings, max_examples=1000)

"""Events change, go and come back, the file is edited and taken, in any order: what holds of the machine itself.

A `Machine` knows what handlers really did to it; that is compared with what is approved, and looked at in the end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from forewarn.agent import course, orders, returning, sightings, steps, superseded
from forewarn.agent.case import Case, Direction, Ending, Outcome, Run
from forewarn.agent.effects import likeness_of
from forewarn.agent.events import Document, Event, Sighting
from forewarn.agent.policy import Approval, Profile, Rule, Step, has_same_effect
from forewarn.agent.policy_form import read_policy, refuse_all, write_policy
from forewarn.agent.steps import Begin
from forewarn.agent.superseded import definition_of, profile_of
from tests.agent.little_world import DO, DONE, FAILED, UNDO, Occasion, World, a_profile, a_step, an_event

_TYPES = {"Reboot": "drain", "Redeploy": "leave", "Freeze": "drain"}
_RULES = tuple(Rule(profile, types=(kind,)) for kind, profile in _TYPES.items())
_HALF = "half"


def _profiles(edition: int) -> tuple[Profile, ...]:
    """The file in one of its editions: what a step does changes under its name, goes, or has another name."""
    out = a_step("out", options={"servers": [f"web/{edition % 2}"]}, is_for_all_events=True)
    stop = a_step("stop", options={"command": ["stop", str(edition // 2)]}, group=2)
    drain = a_profile(out, stop) if edition != 3 else a_profile(out)
    also = replace(stop, name="halt", group=1)
    return drain, a_profile(also, replace(out, name="off", group=2), name="leave", approval=Approval.AFTER_SUCCESS)


class Machine:
    """What was really done: by effect, and for those that are told of the event, by event."""

    def __init__(self) -> None:
        self.effects: dict[tuple[str, str], str] = {}  # on, half; what is off is not there
        self.told: dict[tuple[str, str, str], str] = {}  # by the step's name also: for which type it was last done

    def act(self, step: Step, event: Event, direction: Direction, outcome: Outcome) -> None:
        """Something was done, or undone; the event is as the handler was told of it."""
        key = _key(step, event)
        if outcome is FAILED:
            is_there = direction is DO and self.effects.get(key) == "on"  # to fail to do it again does not undo it
            self.effects[key] = "on" if is_there else _HALF
        elif direction is DO:
            self.effects[key] = "on"
            self.told[(*key, step.name)] = event.type
        else:
            self.effects.pop(key, None)

    def is_prepared(self, step: Step, event: Event) -> bool:
        key = _key(step, event)
        is_for_it = step.is_for_all_events or self.told.get((*key, step.name)) == event.type
        return self.effects.get(key) == "on" and is_for_it


def _key(step: Step, event: Event) -> tuple[str, str]:
    return "" if step.is_for_all_events else event.id, likeness_of(step)


class Changing(RuleBasedStateMachine):
    """Some events, and a file that is edited."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World.of(*_profiles(0))
        self.world.rules = _RULES
        self.machine = Machine()
        self.approved = 0
        self.gave_up = False

    # What happens.

    @precondition(lambda self: len(self.world.cases) < 3)
    @rule(kind=st.sampled_from(list(_TYPES)), minutes=st.sampled_from([1, 15, None]))
    def see(self, kind: str, minutes: float | None) -> None:
        event = an_event(f"E{len(self.world.cases) + 1}", minutes=minutes, type=kind)
        self.world.see(event, _TYPES[kind])

    @precondition(lambda self: self.world.running())
    @rule(which=st.integers(0, 9), outcome=st.sampled_from([DONE, DONE, FAILED]))
    def end(self, which: int, outcome: Outcome) -> None:
        running = self.world.running()
        self._end(*running[which % len(running)], outcome)

    def _end(self, event: str, step: str, direction: Direction, outcome: Outcome) -> None:
        begun = next(
            move.step
            for of, move in reversed(self.world.made)
            if isinstance(move, Begin) and (of, move.step.name, move.direction) == (event, step, direction)
        )
        case = self.world.cases[event]
        of_type = case.runs[step, direction].of_type
        told = replace(case.event, type=of_type) if of_type else case.event
        self.machine.act(begun, told, direction, outcome)
        self.world.end(event, step, direction, outcome)

    @rule(seconds=st.sampled_from([1, 5, 60, 600]))
    def advance(self, seconds: int) -> None:
        self.world.advance(seconds)

    @precondition(lambda self: self._there())
    @rule(which=st.integers(0, 9), ending=st.sampled_from(Ending))
    def go(self, which: int, ending: Ending) -> None:
        self.world.go(self._there()[which % len(self._there())].id, ending=ending)

    @precondition(lambda self: self._there())
    @rule(which=st.integers(0, 9))
    def start(self, which: int) -> None:
        self.world.start(self._there()[which % len(self._there())].id)

    @precondition(lambda self: self._there())
    @rule(which=st.integers(0, 9), kind=st.sampled_from(list(_TYPES)))
    def change(self, which: int, kind: str) -> None:
        case = self._there()[which % len(self._there())]
        self._show(case, replace(case.event, type=kind))

    @precondition(lambda self: self._gone())
    @rule(which=st.integers(0, 9), kind=st.sampled_from([*_TYPES, ""]))
    def come_back(self, which: int, kind: str) -> None:
        case = self._gone()[which % len(self._gone())]
        self._show(case, replace(case.event, type=kind or case.event.type))

    @rule(edition=st.integers(0, 3))
    def edit(self, edition: int) -> None:
        """The agent is ended, and another begins, with what it finds in the journal and in the file."""
        self.world.profiles = {profile.name: profile for profile in _profiles(edition)}
        for event, case in self.world.cases.items():
            policy = read_policy(write_policy(case.policy), refuse_all)
            self.world.cases[event] = replace(case, policy=policy)
        for case in self._there():
            self.world.cases[case.id] = sightings.judge_anew(case, self._viewpoint())
        self.world.settle()

    @precondition(lambda self: self._there())
    @rule(which=st.integers(0, 9))
    def reset(self, which: int) -> None:
        self._order(self._there()[which % len(self._there())], orders.Verb.RESET)

    @precondition(lambda self: self.world.cases)
    @rule(which=st.integers(0, 9))
    def retry(self, which: int) -> None:
        cases = list(self.world.cases.values())
        self._order(cases[which % len(cases)], orders.Verb.RETRY)

    def _order(self, case: Case, verb: orders.Verb) -> None:
        order = orders.Order(verb, case.id, "ann")
        answer = orders.give(case, order, profile_of(case), approves=True, policy=self.world.policy)
        if not isinstance(answer, orders.Refusal):
            self.world.cases[case.id] = answer[0]
            self.world.settle()

    def _show(self, case: Case, event: Event) -> None:
        at = self.world.now
        others = [each for each in self.world.cases.values() if each.closed_at is None]
        noted = sightings.note_event(case, event, Sighting(Document((event,)), at), self._viewpoint(), others)
        if noted is not None:  # otherwise what is under way for its end is waited for
            self.world.cases[case.id] = noted.case
            self.world.settle()

    def _viewpoint(self) -> sightings.Viewpoint:
        return sightings.Viewpoint(
            boot=self.world.view.boot,
            watched_within=timedelta(seconds=5),
            apart_seconds=1,
            which=lambda _: "web-0",
            policy=self.world.policy,
            view=self.world.view,
        )

    def _there(self) -> list[Case]:
        return [case for case in self.world.cases.values() if case.is_open]

    def _gone(self) -> list[Case]:
        return [case for case in self.world.cases.values() if not case.is_open]

    # What holds.

    @invariant()
    def what_is_approved_was_really_done_as_its_policy_and_the_event_are_now(self) -> None:
        for event in self.world.approved[self.approved :]:
            self._assert_prepared(self.world.cases[event])
        self.approved = len(self.world.approved)

    @invariant()
    def what_counts_as_prepared_stays_so_while_its_event_is_there(self) -> None:
        for case in self._there():
            if case.prepared_at is not None and case.started_at is None:
                self._assert_prepared(case)

    def _assert_prepared(self, case: Case) -> None:
        for step in case.policy.profile(case.profile).on(Occasion.PREPARE):
            assert self.machine.is_prepared(step, case.event), f"{step.name} is not done for {case.id}"

    @invariant()
    def nothing_is_approved_twice(self) -> None:
        assert len(self.world.approved) == len(set(self.world.approved))

    @invariant()
    def an_undo_that_was_given_up_is_known(self) -> None:
        self.gave_up |= any(
            direction is UNDO and run.outcome is FAILED and self.world.is_closed(case.id)
            for case in self.world.cases.values()
            for (_, direction), run in case.runs.items()
        )

    def teardown(self) -> None:
        """When all events go and every undo comes off, the machine is as it was."""
        self.world.go(*(case.id for case in self._there()))
        for _ in range(300):
            if running := self.world.running():
                self._end(*running[0], DONE)
            else:
                self.world.advance(60)
            if all(self.world.is_closed(event) for event in self.world.cases):
                break
        self.an_undo_that_was_given_up_is_known()

        waiting = {event: self.world.words(event) for event in self.world.cases if not self.world.is_closed(event)}
        assert not waiting, f"waits for ever: {waiting}"
        assert self.gave_up or not self.machine.effects, f"left as it is: {self.machine.effects}"


_REPEATABLE = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestChanging = Changing.TestCase
TestChanging.settings = _REPEATABLE


@pytest.mark.long
class TestChangingForLong(Changing.TestCase):
    settings = settings(_REPEATABLE, max_examples=1000)


def _is_by_for_any_type(case: Case, run: Run, name: str, step: Step) -> bool:
    made_by = definition_of(case, name)
    return made_by is None or has_same_effect(made_by, step)


_PLANTED = {
    "undoes what another event needs": (steps, "keeper_of", lambda *_: ""),
    "takes what was told of another type for done": (superseded, "is_by", _is_by_for_any_type),
    "takes another step of the name for done": (superseded, "is_by", lambda *_: True),
    "takes what is undone for done when its event comes back": (returning, "_left_of", lambda _, run, __: run),
    "does not see that there is more to be done": (course, "_was_prepared", lambda _: False),
}


def _walk(dice: random.Random) -> None:
    """One walk, drawn from the seed alone: those of Hypothesis depend on which modules were imported before."""
    walker, kinds, some = Changing(), list(_TYPES), range(10)
    for _ in range(_REPEATABLE.stateful_step_count):
        there, gone = walker._there(), walker._gone()
        moves: list[tuple[Callable[..., None], list[Sequence[Any]]]] = [
            (walker.advance, [(1, 5, 60, 600)]),
            (walker.edit, [range(4)]),
            *([(walker.see, [kinds, (1, 15, None)])] if len(walker.world.cases) < 3 else []),
            *([(walker.end, [some, (DONE, DONE, FAILED)])] if walker.world.running() else []),
            *([(walker.go, [some, list(Ending)]), (walker.start, [some])] if there else []),
            *([(walker.change, [some, kinds]), (walker.reset, [some])] if there else []),
            *([(walker.retry, [some])] if walker.world.cases else []),
            *([(walker.come_back, [some, [*kinds, ""]])] if gone else []),
        ]
        move, choices = dice.choice(moves)
        move(*map(dice.choice, choices))
        walker.what_is_approved_was_really_done_as_its_policy_and_the_event_are_now()
        walker.what_counts_as_prepared_stays_so_while_its_event_is_there()
        walker.nothing_is_approved_twice()
        walker.an_undo_that_was_given_up_is_known()
    walker.teardown()


def _walk_often() -> None:
    for seed in range(20_000):  # about a hundred find each bug
        _walk(random.Random(seed))


@pytest.mark.parametrize(("where", "name", "bug"), _PLANTED.values(), ids=_PLANTED)
def test_a_planted_bug_is_caught(monkeypatch: pytest.MonkeyPatch, where: ModuleType, name: str, bug: Callable):
    monkeypatch.setattr(where, name, bug)

    with pytest.raises(AssertionError, match=r"is not done for|left as it is|waits for ever"):
        _walk_often()

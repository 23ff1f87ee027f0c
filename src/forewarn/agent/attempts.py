"""What comes of attempts, and what became of those that an earlier agent began. For the keeper's thread only."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta

from forewarn.agent.case import Case, Direction, Outcome, Run, next_order, with_run, without_run
from forewarn.agent.common import Common
from forewarn.agent.course import prepares_until
from forewarn.agent.handlers.base import Result
from forewarn.agent.policy import Occasion, Profile, Step
from forewarn.agent.runner import OUTLIVING, Ended, Runner
from forewarn.agent.seeing import Eyes
from forewarn.agent.steps import CAME_NEARER
from forewarn.agent.superseded import profile_of

_LEAST_SECONDS = 1.0  # to find out what became of an attempt whose time is up


class Attempts:
    """Takes note of ends."""

    def __init__(self, common: Common, runner: Runner, eyes: Eyes) -> None:
        self._clock, self._boot = common.clock, common.boot
        self._book = common.book
        self._say = common.reporter.say
        self._metrics = common.metrics
        self._runner = runner
        self._eyes = eyes
        self._waiting: list[tuple[str, str, Direction]] = []  # to be begun again, if their events are still there

    def offer_to_handlers(self) -> None:
        """After a restart: every attempt without an end is first offered to its handler."""
        for case in list(self._book.unclosed()):
            for (name, direction), run in case.runs.items():
                if run.outcome is not Outcome.BEGUN:
                    continue
                step = profile_of(case).step(name)
                if step is None:
                    note = f"profile {case.profile} has no such step any more, so what became of it is not known"
                    self._end(case, name, direction, Result(is_done=False, note=note))
                else:
                    self._say(case, "step is taken over", step=name, direction=direction)
                    left = max(self._seconds_left(case, step, direction, run), _LEAST_SECONDS)
                    self._runner.take_over(case, step, direction, left, run.tries)

    def note(self, ended: Ended) -> None:
        """A handler came back."""
        settled = self._runner.settle(ended)
        attempt, result = ended.attempt, ended.result
        case = self._book.cases.get(attempt.event)
        run = case.run(attempt.step, attempt.direction) if case else None
        if settled is None or case is None or run is None or run.outcome is not Outcome.BEGUN:
            return
        if settled.is_given_up and not (result and result.is_done):
            return  # it was not its own failure: the next agent begins it again
        if result is None:
            self._waiting.append((attempt.event, attempt.step, attempt.direction))
        elif settled.why_stopped and not result.is_done:
            note = ": ".join(filter(None, (settled.why_stopped, result.note)))
            if settled.why_stopped == CAME_NEARER:  # NotBefore may move away again, and then there is time
                case = with_run(case, attempt.step, attempt.direction, replace(run, tries_before=run.tries))
            self._end(case, attempt.step, attempt.direction, replace(result, note=note))
        else:
            self._end(case, attempt.step, attempt.direction, result)

    def begin_what_waits(self) -> None:
        """Begin again what never began, once it is known whether its event is there."""
        waiting, self._waiting = self._waiting, []
        for event, step, direction in waiting:
            case = self._book.cases[event]
            run = case.runs[step, direction]
            if direction is Direction.UNDO and self._eyes.is_back(case):
                self._call_off(case, step, run)
            elif self._eyes.is_certain(case):
                self._begin_again(case, step, direction, run)
            else:
                self._waiting.append((event, step, direction))

    @property
    def are_awaited(self) -> bool:
        """Whether something that gives up with the agent has not come back."""
        return any(self._kind_of(each.event, each.step) not in OUTLIVING for each in self._runner.running)

    def left_running(self) -> list[str]:
        """The steps that go on without the agent."""
        return [each.step for each in self._runner.running]

    def _kind_of(self, event: str, step: str) -> str:
        found = profile_of(self._book.cases[event]).step(step)
        return found.uses if found else ""

    def _call_off(self, case: Case, name: str, run: Run) -> None:
        """Nothing more is undone of what is wanted again: what never began is as if nobody had wanted it."""
        if run.tries > 1:  # those before it may have got half way
            note = "the agent ended before it began again, and its event is there again"
            return self._end(case, name, Direction.UNDO, Result(is_done=False, note=note))
        self._say(case, "undo is called off: it had not begun, and the event is there again", step=name)
        return self._book.note(without_run(case, name, Direction.UNDO))

    def _begin_again(self, case: Case, name: str, direction: Direction, run: Run) -> None:
        """The same try once more, if it is wanted and there is time; otherwise a failure, which is undone."""
        profile = profile_of(case)
        step = profile.step(name)
        if step is None or not _is_wanted(case, step, direction, profile):
            why = "the rules do not ask for it any more" if case.is_open else "its event is gone"
            note = f"the agent ended while it ran, and {why}"
            return self._end(case, name, direction, Result(is_done=False, note=note))
        now = self._clock.now()
        again = replace(run, begun_at=now, boot=self._boot, order=next_order(case, *self._book.acted_on()))
        seconds = self._seconds_left(case, step, direction, again)
        if seconds <= 0:
            note = "the agent ended while it ran, and no time was left to begin it again"
            return self._end(case, name, direction, Result(is_done=False, note=note))
        begun = with_run(case, name, direction, replace(again, until=now + timedelta(seconds=seconds)))
        if not self._book.save_first(begun):
            note = "the agent ended while it ran, and the journal could not be written to begin it again"
            return self._end(case, name, direction, Result(is_done=False, note=note))
        self._say(case, "step begins again", step=name, direction=direction, try_number=run.tries)
        return self._runner.begin(begun, step, direction, seconds, run.tries)

    def _seconds_left(self, case: Case, step: Step, direction: Direction, run: Run) -> float:
        until = run.begun_at + timedelta(seconds=step.timeout_seconds)
        deadline = prepares_until(case, profile_of(case))
        if direction is Direction.DO and step.on is Occasion.PREPARE and case.is_open and deadline is not None:
            until = min(until, deadline)
        # Begun later than now: the clock was put back, and it has at most what it had at first.
        return min((until - self._clock.now()).total_seconds(), step.timeout_seconds)

    def _end(self, case: Case, name: str, direction: Direction, result: Result) -> None:
        run = case.runs[name, direction]
        now = self._clock.now()
        outcome = Outcome.DONE if result.is_done else Outcome.FAILED
        step = profile_of(case).step(name)
        self._metrics.count("steps", handler=step.uses if step else "", direction=direction, outcome=outcome)
        self._say(
            case,
            f"step {outcome}",
            logging.INFO if result.is_done else logging.WARNING,
            step=name,
            direction=direction,
            note=result.note or None,
            seconds=round((now - run.begun_at).total_seconds(), 3),
            try_number=run.tries,
        )
        ended = replace(run, outcome=outcome, ended_at=now, note=result.note, is_uncertain=result.is_uncertain)
        self._book.note(with_run(self._book.cases[case.id], name, direction, ended))


def _is_wanted(case: Case, step: Step, direction: Direction, profile: Profile) -> bool:
    """Whether what an earlier agent began, and nobody finished, is still to be done."""
    if direction is Direction.UNDO:
        return True
    return step not in profile.superseded and (case.is_open or step.on is not Occasion.PREPARE)

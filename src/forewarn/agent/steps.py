"""Which steps of a profile may run now: groups, needs, retries, and the time that is left. Pure.

An effect that several events want is brought about once, and undone by the last of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from forewarn.agent.case import Case, Direction, Outcome, Run
from forewarn.agent.policy import Occasion, OnFailure, Profile, Step

UNDO_TRIES = 10  # the network may come up after the agent does
_LONGEST_PAUSE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Begin:
    """Run a step, or its undo, for at most that long."""

    step: Step
    direction: Direction
    seconds: float
    try_number: int


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave a step out, and say why."""

    step: Step
    direction: Direction
    why: str


@dataclass(frozen=True, slots=True)
class Rely:
    """The step's effect is there already: another event's attempt brought it about."""

    step: Step
    of_event: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Give up a step that runs: its event is gone."""

    step: Step


StepMove = Begin | Skip | Rely | Stop


class State(StrEnum):
    """How far a row of steps is."""

    PENDING = "pending"
    SUCCESS = "success"
    HELD = "held"


@dataclass(slots=True)
class Progress:
    """What a row of steps wants next."""

    state: State = State.SUCCESS
    moves: list[StepMove] = field(default_factory=list)
    wake_at: datetime | None = None
    words: list[str] = field(default_factory=list)

    def is_pending(self) -> bool:
        """Whether something is not over yet."""
        return self.state is State.PENDING

    def wait(self, words: str, wake_at: datetime | None = None) -> None:
        """Something is not over yet."""
        self.state = State.PENDING
        self.words.append(words)
        if wake_at is not None:
            self.wake_at = min(self.wake_at or wake_at, wake_at)


@dataclass(frozen=True, slots=True)
class Scene:
    """A case among the others, at one moment."""

    case: Case
    profile: Profile
    others: Sequence[Case]  # that are not closed yet
    now: datetime

    def rivals(self) -> Iterator[Case]:
        """Other cases with the same steps."""
        return (each for each in self.others if each.id != self.case.id and each.profile == self.case.profile)


def go_on(scene: Scene, occasion: Occasion, deadline: datetime | None = None) -> Progress:
    """The steps of an occasion, group by group."""
    progress = Progress()
    for group in _groups(scene.profile.on(occasion)):
        for step in group:
            _go_on_with(progress, step, scene, deadline)
        if progress.is_pending():
            break
        if failed := [step for step in group if _holds(scene.case, step)]:
            progress.state = State.HELD
            progress.words.extend(f"nobody: {_words_of(scene.case, step)}" for step in failed)
            break
    return progress


def go_back(scene: Scene) -> Progress:
    """Stop what runs, then undo what was done, the last group first. A failed undo holds no other up."""
    progress = Progress()
    steps = scene.profile.on(Occasion.PREPARE)
    for step in steps:
        run = scene.case.run(step.name)
        if run and run.outcome is Outcome.BEGUN:
            progress.moves.append(Stop(step))
            progress.wait(f"step {step.name} to give up")
    if progress.is_pending():
        return progress
    for group in reversed(list(_groups(steps))):
        for step in reversed(group):
            if step.has_undo and _was_begun(scene.case, step):
                _undo(progress, step, scene)
        if progress.is_pending():
            break
    return progress


def _groups(steps: Iterable[Step]) -> Iterator[list[Step]]:
    steps = list(steps)
    for number in sorted({step.group for step in steps}):
        yield [step for step in steps if step.group == number]


def _go_on_with(progress: Progress, step: Step, scene: Scene, deadline: datetime | None) -> None:
    run = scene.case.run(step.name)
    if run is None:
        _begin_first(progress, step, scene, deadline)
    elif run.outcome is Outcome.BEGUN:
        progress.wait(f"step {step.name}, at it since {run.begun_at:%H:%M:%SZ}")
    elif _has_tries_left(step, run):
        _begin_again(
            progress, Begin(step, Direction.DO, step.timeout_seconds, run.tries + 1), run, scene, deadline
        )


def _begin_first(progress: Progress, step: Step, scene: Scene, deadline: datetime | None) -> None:
    for name in step.needs:
        needed, run = scene.profile.step(name), scene.case.run(name)
        if run is None or run.outcome is Outcome.BEGUN or (needed and _has_tries_left(needed, run)):
            progress.wait(f"step {step.name}, which needs {name}")
            return
        if run.outcome is not Outcome.DONE:
            _skip(progress, step, Direction.DO, f"it needs {name}, which was not done")
            return
    if step.has_undo and _is_left_to_another(progress, step, scene):
        return
    _begin(progress, Begin(step, Direction.DO, step.timeout_seconds, 1), scene.now, deadline)


def _is_left_to_another(progress: Progress, step: Step, scene: Scene) -> bool:
    """Whether another event's attempt has the same effect, or is about to have it."""
    for rival in scene.rivals():
        if rival.is_open and _in_force(rival, step):
            progress.moves.append(Rely(step, rival.id))
            progress.wait(f"step {step.name}, done already for event {rival.id}")
            return True
        if _is_busy(rival, step):
            progress.wait(f"step {step.name}, under way for event {rival.id}")
            return True
    return False


def _begin_again(
    progress: Progress, wanted: Begin, last: Run, scene: Scene, deadline: datetime | None = None
) -> None:
    pause = timedelta(seconds=wanted.step.retry_pause_seconds)
    if wanted.direction is Direction.UNDO:
        pause = min(pause * 2 ** (last.tries - 1), _LONGEST_PAUSE)
    again_at = (last.ended_at or last.begun_at) + pause
    if scene.now >= again_at:
        _begin(progress, wanted, scene.now, deadline)
    elif deadline is None or again_at < deadline:
        progress.wait(f"step {wanted.step.name}, tried again at {again_at:%H:%M:%SZ}: {last.note}", again_at)


def _begin(progress: Progress, wanted: Begin, now: datetime, deadline: datetime | None) -> None:
    """Begin it with what time there is; without any, a first try is left out and a repeat is not made."""
    left = wanted.seconds if deadline is None else (deadline - now).total_seconds()
    if left > 0:
        progress.moves.append(replace(wanted, seconds=min(wanted.seconds, left)))
        progress.wait(f"step {wanted.step.name} to begin")
    elif wanted.try_number == 1:
        _skip(progress, wanted.step, wanted.direction, "no time was left for it")


def _skip(progress: Progress, step: Step, direction: Direction, why: str) -> None:
    progress.moves.append(Skip(step, direction, why))
    progress.wait(f"step {step.name} to be left out")


def _undo(progress: Progress, step: Step, scene: Scene) -> None:
    run = scene.case.run(step.name, Direction.UNDO)
    if run is None:
        if keeper := next((rival for rival in scene.rivals() if _keeps(rival, step)), None):
            _skip(progress, step, Direction.UNDO, f"event {keeper.id} still needs it, or undoes it")
        else:
            _begin(progress, Begin(step, Direction.UNDO, step.timeout_seconds, 1), scene.now, None)
    elif run.outcome is Outcome.BEGUN:
        progress.wait(f"the undo of step {step.name}, at it since {run.begun_at:%H:%M:%SZ}")
    elif run.outcome is Outcome.FAILED and run.tries < UNDO_TRIES:
        _begin_again(progress, Begin(step, Direction.UNDO, step.timeout_seconds, run.tries + 1), run, scene)


def _has_tries_left(step: Step, run: Run) -> bool:
    return run.outcome is Outcome.FAILED and run.tries <= step.retries


def _in_force(case: Case, step: Step) -> bool:
    """Whether the step's effect is there through this case."""
    run, undo = case.run(step.name), case.run(step.name, Direction.UNDO)
    return run is not None and run.outcome is Outcome.DONE and (undo is None or undo.outcome is Outcome.SKIPPED)


def _keeps(rival: Case, step: Step) -> bool:
    """Whether another case wants the effect to stay, or is the one that undoes it."""
    undo = rival.run(step.name, Direction.UNDO)
    if undo is not None and undo.outcome in {Outcome.BEGUN, Outcome.DONE}:
        return True
    run = rival.run(step.name)
    return rival.is_open and run is not None and run.outcome in {Outcome.DONE, Outcome.BEGUN}


def _is_busy(rival: Case, step: Step) -> bool:
    """Whether the effect is just coming or going."""
    runs = (rival.run(step.name), rival.run(step.name, Direction.UNDO))
    return any(run is not None and run.outcome is Outcome.BEGUN for run in runs)


def _was_begun(case: Case, step: Step) -> bool:
    """Whether there may be something to undo: a failed attempt may have got half way."""
    run = case.run(step.name)
    return run is not None and run.outcome in {Outcome.DONE, Outcome.FAILED}


def _holds(case: Case, step: Step) -> bool:
    run = case.run(step.name)
    return step.on_failure is OnFailure.HOLD and run is not None and run.outcome is not Outcome.DONE


def _words_of(case: Case, step: Step) -> str:
    run = case.run(step.name)
    return f"step {step.name} failed" + (f" ({run.note})" if run and run.note else "")

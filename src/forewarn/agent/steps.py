"""Which steps of a profile may run now: groups, needs, retries, and the time that is left. Pure.

What several events want is undone when the last of them is over; see `effects.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Union

from forewarn.agent.case import Case, Direction, Outcome, Run, is_underway, is_undone_again
from forewarn.agent.compat import StrEnum, dataclass
from forewarn.agent.effects import bringer_of, heir_of, keeper_of, laggard_of, mover_of, successor_of, undone_by
from forewarn.agent.policy import Occasion, OnFailure, Step
from forewarn.agent.scene import Scene
from forewarn.agent.undo_order import groups_to_undo

CAME_NEARER = "NotBefore came nearer, and its time was up"  # which is no failure of the step, and no try
_LONGEST_PAUSE = timedelta(seconds=60)
_ROUNDING = timedelta(seconds=1)  # between the plan and the beginning something else may be written to the disk


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
    """Give up a step that runs, and say why."""

    step: Step
    why: str


STEP_MOVES = (Begin, Skip, Rely, Stop)
StepMove = Union[Begin, Skip, Rely, Stop]


class State(StrEnum):
    """How far a row of steps is."""

    PENDING = "pending"
    PUT_OFF = "put off"  # nothing is left but what waits for another event's end
    SUCCESS = "success"
    HELD = "held"


@dataclass(slots=True)
class Progress:
    """What a row of steps wants next."""

    state: State = State.SUCCESS
    moves: list[StepMove] = field(default_factory=list)
    wake_at: datetime | None = None
    words: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)  # that hold the rest up

    def is_pending(self) -> bool:
        """Whether something is not over yet."""
        return self.state in {State.PENDING, State.PUT_OFF}

    def wait(self, words: str, wake_at: datetime | None = None) -> None:
        """Something is not over yet."""
        self.state = State.PENDING
        self.words.append(words)
        if wake_at is not None:
            self.wake_at = min(self.wake_at or wake_at, wake_at)

    def put_off(self, words: str) -> None:
        """Something waits for another event's end."""
        self.state = State.PENDING if self.state is State.PENDING else State.PUT_OFF
        self.words.append(words)


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
            progress.failures = [_words_of(scene.case, step) for step in failed]
            progress.words.extend(_consequence(occasion, words) for words in progress.failures)
            break
    return progress


def prepare(scene: Scene, deadline: datetime | None) -> Progress:
    """The steps of the preparation; it is not over while one runs that the rules do not ask for any more."""
    progress = go_on(scene, Occasion.PREPARE, deadline)
    own = {step.name for step in scene.profile.on(Occasion.PREPARE)}
    for step in scene.profile.prepared_by():
        run = scene.case.run(step.name)
        if step.name not in own and run is not None and is_underway(run):
            _follow(progress, step, run, scene, deadline)
    return progress


def go_back(scene: Scene) -> Progress:
    """Stop what runs, then undo what was done, the last first; what was begun as one group is undone as one.

    A group waits for the one after it, also while an undo of that is tried again, and where a state is left to
    another event, until that has undone it; one that fails for good holds no other up.
    """
    progress = Progress()
    for step in scene.profile.prepared_by():
        if is_underway(scene.case.run(step.name)):
            progress.moves.append(Stop(step, "its event is gone"))
            progress.wait(f"step {step.name} to give up")
    if progress.is_pending():
        return progress
    left_to: dict[str, str] = {}
    for group in groups_to_undo(scene):
        if left_to and any(is_to_be_undone(step, scene) for step in group):
            for name, other in left_to.items():
                progress.put_off(f"event {other}, to which the undo of step {name} is left")
            return progress
        for step in group:
            _undo(progress, step, scene)
            if other := successor_of(step, scene):
                left_to[step.name] = other
        if progress.is_pending():
            return progress
    _see_to_the_rest(progress, scene)
    return progress


def _see_to_the_rest(progress: Progress, scene: Scene) -> None:
    for step in scene.profile.prepared_by():
        # A case that is closed is not looked at any more: whoever shares its effect has to have seen its undo.
        if step.has_undo and (heir := heir_of(step, scene)):
            progress.put_off(f"event {heir} to note that step {step.name} is undone")


def wind_up(scene: Scene, occasion: Occasion) -> Progress:
    """What runs of an occasion that is over is waited for; nothing more of it begins."""
    progress = Progress()
    superseded = (step for step in scene.profile.superseded if step.on is occasion)
    for step in (*scene.profile.on(occasion), *superseded):
        run = scene.case.run(step.name)
        if run is not None and is_underway(run):
            progress.wait(_at_it(f"step {step.name}", run))
    return progress


def _groups(steps: Iterable[Step]) -> Iterator[list[Step]]:
    steps = list(steps)
    for number in sorted({step.group for step in steps}):
        yield [step for step in steps if step.group == number]


def _go_on_with(progress: Progress, step: Step, scene: Scene, deadline: datetime | None) -> None:
    run = scene.case.run(step.name)
    if run is None or _may_begin_after_all(run, scene):
        if not (_waits_for_a_need(progress, step, scene, deadline) or _waits_for_another(progress, step, scene)):
            number = run.tries + 1 if run else 1
            _begin(progress, Begin(step, Direction.DO, step.timeout_seconds, number), scene, deadline)
    elif is_underway(run):
        _follow(progress, step, run, scene, deadline)
    elif _has_tries_left(step, run, scene) and not _waits_for_another(progress, step, scene):
        again = Begin(step, Direction.DO, step.timeout_seconds, run.tries + 1)
        _begin_again(progress, again, run, scene, deadline)


def _may_begin_after_all(run: Run, scene: Scene) -> bool:
    """Whether what was lost or left out may be done: a deadline moves, and so does a clock that was wrong."""
    has_started = scene.case.event.has_started
    if run.outcome is Outcome.LOST:
        return not has_started or (scene.profile.prepares_when_started and scene.is_of_this_boot(run))
    return run.outcome is Outcome.SKIPPED and (not has_started or scene.profile.prepares_when_started)


def _follow(progress: Progress, step: Step, run: Run, scene: Scene, deadline: datetime | None) -> None:
    """Wait for a step that runs. It got its time when it was begun; if the deadline is nearer now, it has less."""
    if deadline is None or (run.until is not None and run.until - _ROUNDING <= deadline):
        progress.wait(_at_it(f"step {step.name}", run))
        return
    progress.wait(_at_it(f"step {step.name}", run), deadline)
    if scene.now >= deadline:
        progress.moves.append(Stop(step, CAME_NEARER))


def _waits_for_a_need(progress: Progress, step: Step, scene: Scene, deadline: datetime | None) -> bool:
    """Wait for steps that have to have succeeded, or leave this one out; whether there was need to."""
    for name in step.needs:
        needed, run = scene.profile.step(name), scene.case.run(name)
        if run is not None and run.outcome is Outcome.DONE:
            continue
        if run is not None and not (needed and _may_yet_be_done(needed, run, scene, deadline)):
            _leave_out(progress, step, scene, f"it needs {name}, which was not done")
        else:
            progress.wait(f"step {step.name}, which needs {name}")
        return True
    return False


def _waits_for_another(progress: Progress, step: Step, scene: Scene) -> bool:
    """Wait for, or rely on, another event's attempt that has the same effect; whether there is one."""
    found = bringer_of(step, scene) if step.has_undo else None
    if found is None:
        return False
    if found.is_there:
        progress.moves.append(Rely(step, found.event))
        progress.wait(f"step {step.name}, done already for event {found.event}")
    else:
        progress.wait(f"step {step.name}, under way for event {found.event}")
    return True


def _begin_again(
    progress: Progress, wanted: Begin, last: Run, scene: Scene, deadline: datetime | None = None
) -> None:
    # No try so far: its event came back while it was being undone, and nothing is to be waited for.
    pause = timedelta(seconds=wanted.step.retry_pause_seconds if last.tries else 0)
    if wanted.direction is Direction.UNDO:
        pause = min(pause * 2 ** (last.tries - 1), _LONGEST_PAUSE)
    ended_at = last.ended_at or last.begun_at
    again_at = ended_at + pause
    # Before its own end: the clock was put back, and how long it has been nobody knows.
    if scene.now >= again_at or scene.now < ended_at:
        if deadline is None or scene.now < deadline:  # else it stays failed: left out, it would never be undone
            _begin(progress, wanted, scene, deadline)
    elif deadline is None or again_at < deadline:
        progress.wait(f"{_named(wanted)}, tried again at {again_at:%H:%M:%SZ}: {last.note}", again_at)


def _begin(progress: Progress, wanted: Begin, scene: Scene, deadline: datetime | None) -> None:
    """Begin it with what time there is; without any, a first try is left out and a repeat is not made."""
    left = wanted.seconds if deadline is None else (deadline - scene.now).total_seconds()
    if left > 0:
        progress.moves.append(replace(wanted, seconds=min(wanted.seconds, left)))
        progress.wait(f"{_named(wanted)} to begin")
    elif wanted.try_number == 1:
        _leave_out(progress, wanted.step, scene, "no time was left for it")


def _leave_out(progress: Progress, step: Step, scene: Scene, why: str) -> None:
    """Leave a step out, for now. What was lost stays so: it has to be undone."""
    run = scene.case.run(step.name)
    if run is None or (run.outcome is Outcome.SKIPPED and run.note != why):
        _skip(progress, step, Direction.DO, why)


def _skip(progress: Progress, step: Step, direction: Direction, why: str) -> None:
    progress.moves.append(Skip(step, direction, why))
    progress.wait(f"step {step.name} to be left out")


def _undo(progress: Progress, step: Step, scene: Scene) -> None:
    run = scene.case.run(step.name, Direction.UNDO)
    if run is not None and is_underway(run):
        progress.wait(_at_it(f"the undo of step {step.name}", run))
    elif not is_to_be_undone(step, scene):
        return
    # Asked before every try: another event may have come to need it since the last one.
    elif other := keeper_of(step, scene):
        if step.is_for_all_events:
            _skip(progress, step, Direction.UNDO, f"event {other} still needs it")
        else:
            progress.put_off(f"the undo of step {step.name}, put off until event {other} is over")
    elif other := undone_by(step, scene):
        _skip(progress, step, Direction.UNDO, f"it is undone for event {other}")
    elif other := mover_of(step, scene):
        progress.wait(f"the undo of step {step.name}, after that for event {other}")
    elif other := laggard_of(step, scene):
        wake_at = scene.now + timedelta(seconds=1)
        progress.wait(f"the undo of step {step.name}, after what event {other} built on it", wake_at)
    elif run is None:
        _begin(progress, Begin(step, Direction.UNDO, step.timeout_seconds, 1), scene, None)
    else:
        again = Begin(step, Direction.UNDO, step.timeout_seconds, run.tries + 1)
        _begin_again(progress, again, run, scene)


def is_to_be_undone(step: Step, scene: Scene) -> bool:
    """Whether its undo has still to begin, or is tried again."""
    run = scene.case.run(step.name, Direction.UNDO)
    return run is None or (not step.missing and is_undone_again(run, step.retries))


def _has_tries_left(step: Step, run: Run, scene: Scene) -> bool:
    """Whether it failed and is tried again. What only had no time left is not, once the platform is at it."""
    had_no_time = 0 < run.tries == run.tries_before
    is_too_late = had_no_time and scene.case.event.has_started
    return run.outcome is Outcome.FAILED and run.tries - run.tries_before <= step.retries and not is_too_late


def _may_yet_be_done(step: Step, run: Run, scene: Scene, deadline: datetime | None) -> bool:
    is_lost = run.outcome is Outcome.LOST and _may_begin_after_all(run, scene)
    has_time = deadline is None or scene.now < deadline
    return is_underway(run) or (has_time and (is_lost or _has_tries_left(step, run, scene)))


def _holds(case: Case, step: Step) -> bool:
    run = case.run(step.name)
    return step.on_failure is OnFailure.HOLD and run is not None and run.outcome is not Outcome.DONE


def _words_of(case: Case, step: Step) -> str:
    run = case.run(step.name)
    outcome = run.outcome if run else Outcome.FAILED
    what = {Outcome.SKIPPED: "was left out", Outcome.LOST: "was not done anew"}.get(outcome, "failed")
    return f"step {step.name} {what}" + (f" ({run.note})" if run and run.note else "")


def _consequence(occasion: Occasion, words: str) -> str:
    """What is waited for after a failure: nobody here does anything more."""
    return f"its start, unapproved, as {words}" if occasion is Occasion.PREPARE else f"nothing, as {words}"


def _named(wanted: Begin) -> str:
    return ("the undo of " if wanted.direction is Direction.UNDO else "") + f"step {wanted.step.name}"


def _at_it(what: str, run: Run) -> str:
    return f"{what}, at it since {run.begun_at:%H:%M:%SZ}"

"""A profile, run for an event that nobody announced: its steps, then their undo. It approves nothing.

The same pure course decides; here are only the threads and the queue, and no journal.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from forewarn.agent.case import UNDO_TRIES, Case, Direction, Ending, Outcome, Run
from forewarn.agent.compat import dataclass
from forewarn.agent.course import Close, Move, NotePrepared, plan
from forewarn.agent.events import STARTED, Event
from forewarn.agent.file_names import fit_for_a_file
from forewarn.agent.handlers.base import Handler, Result, Task, grace_seconds_of
from forewarn.agent.policy import Approval, Policy, Profile, Step
from forewarn.agent.steps import Begin, Skip, Stop

_GRACE_SECONDS = 10  # how much longer than its time a handler may take to come back
_LOOK_UP_SECONDS = 1.0  # a signal that comes right before a wait is heeded after it, so none is longer
_MOST_ROUNDS = 100_000


class Clock(Protocol):
    """What time it is."""

    def now(self) -> datetime:
        """The instant, in UTC."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one try at a step, or at its undo."""

    step: str
    direction: Direction
    outcome: Outcome
    note: str
    seconds: float


class Trial:
    """One profile and one invented event."""

    def __init__(
        self,
        profile: Profile,
        event: Event,
        vm: str,
        *,
        clock: Clock,
        find: Callable[[str], Handler],
        scratch: Path,
        tell: Callable[[Tried], None],
    ) -> None:
        # Nobody waits for the time of an event that was made up, and nobody approves it.
        self._profile = replace(profile, lead_seconds=None, approval=Approval.NEVER)
        now = clock.now()
        policy = Policy(profiles={profile.name: self._profile})
        self._case = Case(event, vm, profile.name, "a trial", first_seen_at=now, last_seen_at=now, policy=policy)
        self._clock = clock
        self._find = find
        self._scratch = scratch
        self._tell = tell
        self._answers: queue.SimpleQueue[tuple[Begin, Result, float] | None] = queue.SimpleQueue()
        self._running: dict[tuple[str, Direction], tuple[Begin, threading.Event]] = {}
        self.is_broken_off = False  # somebody has ended it
        self.tried: list[Tried] = []

    def run(self, *, is_cancelled: bool = False) -> bool:
        """Prepare, start unless it is cancelled, end, undo; whether everything succeeded."""
        self._go_on()
        now = self._clock.now()
        if not is_cancelled and self._case.is_open:
            event = replace(self._case.event, status=STARTED, not_before=None)
            self._case = replace(self._case, event=event, started_at=now)
            self._go_on()
        if self._case.is_open:
            ending = Ending.CANCELLED if is_cancelled else Ending.FINISHED
            self._case = replace(self._case, ending=ending, ended_at=now)
        self._go_on()
        return all(run.outcome is Outcome.DONE for run in self._case.runs.values())

    def break_off(self) -> None:
        """End the event now: what runs is given up, and what was done is undone.

        For any thread, or a signal's handler: it takes no lock, and this queue's `put` takes none.
        """
        self.is_broken_off = True
        self._answers.put(None)

    def stop(self) -> None:
        """Give up what runs, and undo nothing."""
        for _, stop in list(self._running.values()):
            stop.set()

    def _go_on(self) -> None:
        """Until nothing is left to do for now."""
        for _ in range(_MOST_ROUNDS):
            if self.is_broken_off and self._case.is_open:
                self._case = replace(self._case, ending=Ending.CANCELLED, ended_at=self._clock.now())
                self.stop()
            wanted = plan(self._case, self._profile, (), self._clock.now())
            for move in wanted.moves:
                self._take(move)
            # What is told to stop is told so until it has; that alone is no reason not to wait for it.
            if any(not isinstance(move, Stop) for move in wanted.moves) and not self._case.closed_at:
                continue
            if not self._running and (wanted.wake_at is None or self._case.closed_at):
                return
            self._await(wanted.wake_at)

    def _take(self, move: Move) -> None:
        now = self._clock.now()
        if isinstance(move, Begin):
            self._set(move.step, move.direction, Run(Outcome.BEGUN, move.try_number, now))
            self._begin(move)
        elif isinstance(move, Skip):
            self._set(move.step, move.direction, Run(Outcome.SKIPPED, 0, now, now, note=move.why))
            self._note(Tried(move.step.name, move.direction, Outcome.SKIPPED, move.why, 0))
        elif isinstance(move, Stop):
            self._running[move.step.name, Direction.DO][1].set()
        elif isinstance(move, NotePrepared):
            self._case = replace(self._case, prepared_at=now)
        elif isinstance(move, Close):
            self._case = replace(self._case, closed_at=now)
        else:
            raise AssertionError(  # noqa: TRY004 - no type that a caller could mend
                f"a trial was about to do what it must not: {move}"
            )

    def _begin(self, move: Begin) -> None:
        stop = threading.Event()
        self._running[move.step.name, move.direction] = (move, stop)
        name = f"{move.step.name}-{move.direction}"
        threading.Thread(target=self._work, args=(move, stop), name=name, daemon=True).start()

    def _work(self, move: Begin, stop: threading.Event) -> None:
        begun_at = self._clock.now()
        try:
            result = self._find(move.step.uses).run(self._task(move, stop))
        except Exception as problem:  # noqa: BLE001 - a handler's bug is one failed step
            result = Result(is_done=False, note=f"{type(problem).__name__}: {problem}")
        self._answers.put((move, result, (self._clock.now() - begun_at).total_seconds()))

    def _task(self, move: Begin, stop: threading.Event) -> Task:
        step, not_before = move.step, self._case.event.not_before
        memory = self._scratch / fit_for_a_file(step.name)
        scratch = memory / f"{move.direction}-{move.try_number}"
        scratch.mkdir(parents=True, exist_ok=True)
        return Task(
            event=self._case.event,
            step=step.name,
            options=step.options,
            direction=move.direction,
            seconds=move.seconds,
            try_number=move.try_number,
            vm=self._case.vm,
            scratch=scratch,
            stop=stop,
            seconds_to_not_before=(not_before - self._clock.now()).total_seconds() if not_before else None,
            memory=memory,
            is_test=True,
            was_done=move.direction is Direction.UNDO
            and self._case.runs[step.name, Direction.DO].outcome is Outcome.DONE,
        )

    def _await(self, wake_at: datetime | None) -> None:
        """Take the next answer, or wake up. A handler that does not come back at all has failed."""
        steps = self._profile.steps
        longest = max((step.timeout_seconds + grace_seconds_of(step.options) for step in steps), default=0)
        longest += _GRACE_SECONDS
        if wake_at is not None:
            longest = min(longest, max(0.0, (wake_at - self._clock.now()).total_seconds()))
        try:
            answer = self._next_answer(longest)
        except queue.Empty:
            if wake_at is None:
                self._give_up()
            return
        if answer is None:  # only to look up
            return
        move, result, seconds = answer
        # A try that was given up may come back all the same; it counts no more.
        if self._running.get((move.step.name, move.direction), (None,))[0] is move:
            del self._running[move.step.name, move.direction]
            self._end(move.step, move.direction, result, seconds)

    def _next_answer(self, seconds: float) -> tuple[Begin, Result, float] | None:
        while seconds > _LOOK_UP_SECONDS:
            with suppress(queue.Empty):
                return self._answers.get(timeout=_LOOK_UP_SECONDS)
            seconds -= _LOOK_UP_SECONDS
        return self._answers.get(timeout=seconds)

    def _give_up(self) -> None:
        for move, stop in list(self._running.values()):
            stop.set()
            del self._running[move.step.name, move.direction]
            self._end(move.step, move.direction, Result(is_done=False, note="it did not come back in its time"), 0)

    def _end(self, step: Step, direction: Direction, result: Result, seconds: float) -> None:
        run = self._case.runs[step.name, direction]
        outcome = Outcome.DONE if result.is_done else Outcome.FAILED
        if direction is Direction.UNDO:
            run = replace(run, tries=UNDO_TRIES)  # who tries something out does not wait for ten tries
        self._set(step, direction, replace(run, outcome=outcome, ended_at=self._clock.now(), note=result.note))
        self._note(Tried(step.name, direction, outcome, result.note, seconds))

    def _set(self, step: Step, direction: Direction, run: Run) -> None:
        self._case = replace(self._case, runs={**self._case.runs, (step.name, direction): run})

    def _note(self, tried: Tried) -> None:
        self.tried.append(tried)
        self._tell(tried)

"""Threads that run handlers: one for each attempt. What comes of it is told; nothing here decides or remembers.

A handler that raises has failed. One that does not come back is given up after a while.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path

from forewarn.agent.case import Case, Direction, Outcome
from forewarn.agent.clock import Clock
from forewarn.agent.compat import dataclass
from forewarn.agent.effects import own_memory
from forewarn.agent.file_names import fit_for_a_file
from forewarn.agent.handlers.base import Handler, Result, Task, grace_seconds_of
from forewarn.agent.handlers.records import is_still_needed
from forewarn.agent.policy import Step

MOST_AT_ONCE = 64
OUTLIVING = frozenset({"command"})  # kinds whose work goes on without the agent, and is taken over by the next one
_GRACE_SECONDS = 30  # for a handler to come back after its time is up
_REMEMBERED_FOR = timedelta(days=30)  # how things were, if nobody could undo it: somebody has seen to it by then
_LONGEST_NOTE = 500

log = logging.getLogger("forewarn.agent")


@dataclass(frozen=True, slots=True)
class Attempt:
    """Which attempt it is."""

    number: int  # unlike that of any other of this process
    event: str
    step: str
    direction: Direction


@dataclass(frozen=True, slots=True)
class Ended:
    """A handler came back. No result: there was nothing to take over, and it may be begun again."""

    attempt: Attempt
    result: Result | None


@dataclass(frozen=True, slots=True)
class Settled:
    """Why an attempt may have been cut short."""

    is_given_up: bool  # the agent ends
    why_stopped: str  # empty: it was not told to stop


@dataclass(slots=True)
class _Running:
    task: Task
    kind: str
    due_at: float
    grace_seconds: float  # from the end of its time until it should have come back
    is_given_up: bool = False
    why_stopped: str = ""


class Runner:
    """What runs now. Its methods are for the keeper's thread."""

    def __init__(
        self,
        tell: Callable[[Ended], None],
        find: Callable[[str], Handler],
        state_dir: Path,
        clock: Clock,
        *,
        is_dry_run: bool = False,
        conceal: Callable[[str], str] = str,
    ) -> None:
        self._tell = tell
        self._find = find
        self._state_dir = state_dir
        self._clock = clock
        self._is_dry_run = is_dry_run
        self._conceal = conceal
        self._numbers = count(1)
        self._running: dict[Attempt, _Running] = {}

    @property
    def has_room(self) -> bool:
        """Whether one more may run."""
        return len(self._running) < MOST_AT_ONCE

    @property
    def running(self) -> tuple[Attempt, ...]:
        """What runs, as far as is known."""
        return tuple(self._running)

    def begin(self, case: Case, step: Step, direction: Direction, seconds: float, try_number: int) -> None:
        """Run a step. It has been recorded as begun."""
        self._start(case, step, direction, seconds, try_number, takes_over=False)

    def take_over(self, case: Case, step: Step, direction: Direction, seconds: float, try_number: int) -> None:
        """Ask what became of an attempt of an earlier agent."""
        self._start(case, step, direction, seconds, try_number, takes_over=True)

    def stop(self, event: str, step: str, why: str) -> bool:
        """Have a step give up; whether that is news."""
        is_news = False
        for attempt, running in self._running.items():
            if (attempt.event, attempt.step, attempt.direction) == (event, step, Direction.DO):
                is_news = not running.why_stopped
                running.why_stopped = running.why_stopped or why
                running.due_at = min(running.due_at, self._clock.monotonic() + running.grace_seconds)
                running.task.stop.set()
        return is_news

    def leave(self) -> None:
        """The agent ends: what cannot go on without it gives up."""
        for running in self._running.values():
            if running.kind not in OUTLIVING:
                running.is_given_up = True
                running.task.stop.set()

    def settle(self, ended: Ended) -> Settled | None:
        """What is known of an attempt that has ended; None: its end is not news."""
        running = self._running.pop(ended.attempt, None)
        return Settled(running.is_given_up, running.why_stopped) if running else None

    def overdue(self) -> list[Ended]:
        """What should have come back long ago: it has failed, and its end is not news any more."""
        now = self._clock.monotonic()
        late = [attempt for attempt, running in self._running.items() if now > running.due_at]
        for attempt in late:
            self._running[attempt].task.stop.set()
        unknown = Result(is_done=False, note="it did not come back in time", is_uncertain=True)
        return [Ended(attempt, unknown) for attempt in late]

    def forget_all_but(self, events: Collection[str]) -> None:
        """Take the directories of other events' attempts away; without events, also what need not be known."""
        if self._is_dry_run:
            return
        kept = {fit_for_a_file(event) for event in events}
        runs = self._state_dir / "runs"
        for place in runs.iterdir() if runs.is_dir() else ():
            if place.name not in kept:
                _remove(place)
        memory = self._state_dir / "memory"
        long_ago = (self._clock.now() - _REMEMBERED_FOR).timestamp()
        for place in memory.iterdir() if memory.is_dir() and not kept else ():
            if not is_still_needed(place, long_ago):
                _remove(place)

    def forget(self, event: str, step: str = "") -> None:
        """Take the directories of an event's attempts away, or of those at one step: they are counted anew."""
        if self._is_dry_run:
            return
        place = self._state_dir / "runs" / fit_for_a_file(event)
        if not step:
            _remove(place)
            return
        for each in place.iterdir() if place.is_dir() else ():
            if each.name.rsplit(".", 2)[0] == fit_for_a_file(step):
                _remove(each)

    def _start(
        self, case: Case, step: Step, direction: Direction, seconds: float, try_number: int, *, takes_over: bool
    ) -> None:
        attempt = Attempt(next(self._numbers), case.id, step.name, direction)
        task = self._task(case, step, direction, seconds, try_number)
        grace_seconds = _GRACE_SECONDS + grace_seconds_of(step.options)
        due_at = self._clock.monotonic() + seconds + grace_seconds
        self._running[attempt] = _Running(task, step.uses, due_at, grace_seconds)
        if self._is_dry_run:
            self._tell(Ended(attempt, Result(is_done=True, note="dry run: it was not done")))
            return
        if step.missing and not (takes_over and step.uses in OUTLIVING):
            self._tell(Ended(attempt, Result(is_done=False, note=step.missing, is_uncertain=takes_over)))
            return
        body = threading.Thread(
            target=self._run,
            args=(attempt, step.uses, task, takes_over),
            name=f"{step.name} {direction}",
            daemon=True,  # whoever does not come back does not keep the agent
        )
        try:
            body.start()
        except RuntimeError as problem:
            self._tell(Ended(attempt, Result(is_done=False, note=f"no thread for it: {problem}")))

    def _task(self, case: Case, step: Step, direction: Direction, seconds: float, try_number: int) -> Task:
        not_before = case.event.not_before
        left = (not_before - self._clock.now()).total_seconds() if not_before else None
        run, done = case.run(step.name, direction), case.run(step.name)
        memory = run.memory if run else ""
        event = case.event
        if direction is Direction.UNDO and done is not None and done.of_type:
            event = replace(event, type=done.of_type)  # of which it was told: that is what is undone
        return Task(
            event=event,
            step=step.name,
            options=step.options,
            direction=direction,
            seconds=seconds,
            try_number=try_number,
            vm=case.vm,
            scratch=self._state_dir
            / "runs"
            / fit_for_a_file(case.id)
            / f"{fit_for_a_file(step.name)}.{direction}.{try_number}",
            seconds_to_not_before=left,
            memory=self._state_dir / "memory" / fit_for_a_file(memory or own_memory(step)),
            was_done=direction is Direction.UNDO
            and done is not None
            and done.outcome in {Outcome.DONE, Outcome.LOST},
        )

    def _run(self, attempt: Attempt, kind: str, task: Task, takes_over: bool) -> None:  # noqa: FBT001 - a thread's argument
        try:
            for place in (task.scratch, task.memory):
                if place is not None:
                    place.mkdir(parents=True, exist_ok=True, mode=0o700)
            handler = self._find(kind)
            result = handler.take_over(task) if takes_over else handler.run(task)
        except Exception as problem:  # a handler that breaks is a step that failed
            log.exception("a handler broke", extra={"event": attempt.event, "step": attempt.step})
            result = Result(is_done=False, note=f"the handler broke: {problem!r}")
        self._tell(Ended(attempt, result and replace(result, note=_one_line(self._conceal(result.note)))))


def _remove(place: Path) -> None:
    """Take a directory away with all that is in it. `shutil` would bring every kind of archive, for good."""
    for folder, folders, files in os.walk(place, topdown=False):
        for name in (*files, *folders):
            each = os.path.join(folder, name)  # noqa: PTH118 - `walk` gives texts
            with suppress(OSError):
                os.unlink(each) if name in files or os.path.islink(each) else os.rmdir(each)  # noqa: PTH106, PTH108, PTH114 - the same
    with suppress(OSError):
        place.rmdir()


def _one_line(note: str) -> str:
    line = " ".join(note.split())
    return line if len(line) <= _LONGEST_NOTE else line[: _LONGEST_NOTE - 1] + "…"

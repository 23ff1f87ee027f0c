"""Carries out what the course wants, in the safe order: recorded, then done. For the keeper's thread only."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from forewarn.agent import course, steps
from forewarn.agent.approving import Approver
from forewarn.agent.audit import Audit
from forewarn.agent.case import (
    DRY_RUN,
    Case,
    Consent,
    Direction,
    Outcome,
    Run,
    lost,
    next_order,
    with_run,
)
from forewarn.agent.common import Common
from forewarn.agent.effects import memory_of
from forewarn.agent.policy import Step
from forewarn.agent.runner import Runner
from forewarn.agent.scene import Scene
from forewarn.agent.settings import Settings
from forewarn.agent.superseded import Renamed, profile_of, type_told, with_other_names


class Mover:
    """Makes moves."""

    def __init__(
        self,
        common: Common,
        settings: Settings,
        runner: Runner,
        approver: Approver,
        look_again: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._clock, self._boot = common.clock, common.boot
        self._book = common.book
        self._say = common.reporter.say
        self._metrics = common.metrics
        self._runner = runner
        self._approver = approver
        self._look_again = look_again
        self._looked_for: dict[
            str, tuple[datetime, bool]
        ] = {}  # when the event was last seen as a look was asked for
        self._audit = Audit(None if settings.is_dry_run else settings.audit_file)

    def make(self, event: str, move: course.Move) -> bool:
        """Whether the move changed the case, so that it has to be looked at again."""
        case = self._book.cases[event]
        return self._take_step(case, move) if isinstance(move, steps.STEP_MOVES) else self._take_note(case, move)

    def _take_step(self, case: Case, move: steps.StepMove) -> bool:
        if isinstance(move, steps.Begin):
            return self._begin(case, move)
        if isinstance(move, steps.Skip):
            return self._skip(case, move)
        if isinstance(move, steps.Rely):
            return self._rely(case, move)
        if self._runner.stop(case.id, move.step.name, move.why):
            self._say(case, "step is given up", step=move.step.name, why=move.why)
        return False

    def _take_note(self, case: Case, move: course.CaseMove) -> bool:
        if isinstance(move, course.Approve):
            return self._approve(case, move.by)
        if isinstance(move, course.LookAgain):
            self._look_for(case, is_early=move.is_early)
            return False
        if isinstance(move, course.NotePrepared):
            prepared = replace(case, prepared_at=self._clock.now())
            self._say(prepared, "event prepared")
            self._book.note(prepared)
        elif isinstance(move, course.NoteUnprepared):
            self._say(case, "event is not prepared any more: there is more to be done")
            self._book.note(replace(case, prepared_at=None))
        elif isinstance(move, course.NoteLost):
            self._note_lost(case, move.steps)
        elif isinstance(move, course.NoteRenamed):
            self._note_renamed(case, move.names)
        elif isinstance(move, course.NoteUnconfirmed):
            self._note_unconfirmed(case)
        elif isinstance(move, course.Close):
            self._close(case)
        return True

    def _begin(self, case: Case, move: steps.Begin) -> bool:
        if not self._runner.has_room:
            return False
        last = case.run(move.step.name, move.direction)
        now = self._clock.now()
        run = Run(
            Outcome.BEGUN,
            move.try_number,
            now,
            boot=self._boot,
            tries_before=last.tries_before if last else 0,
            until=now + timedelta(seconds=move.seconds),
            order=next_order(case, *self._book.acted_on()),
            profile=case.profile,
            of_type=type_told(move.step, case.event.type) if move.direction is Direction.DO else "",
            memory=self._memory_of(case, move.step),
        )
        begun = with_run(case, move.step.name, move.direction, run)
        if not self._book.save_first(begun):
            return False
        self._say(
            case,
            "step would begin" if self._settings.is_dry_run else "step begins",
            step=move.step.name,
            direction=move.direction,
            handler=move.step.uses,
            seconds=round(move.seconds, 1),
            try_number=move.try_number,
        )
        self._runner.begin(begun, move.step, move.direction, move.seconds, move.try_number)
        return True

    def _memory_of(self, case: Case, step: Step) -> str:
        return memory_of(step, Scene(case, profile_of(case), self._book.acted_on(), self._clock.now()))

    def _skip(self, case: Case, move: steps.Skip) -> bool:
        now = self._clock.now()
        last = case.run(move.step.name, move.direction)
        run = Run(Outcome.SKIPPED, last.tries if last else 0, now, now, self._boot, move.why)
        log_at = logging.INFO if move.direction is Direction.UNDO else logging.WARNING
        self._say(case, "step left out", log_at, step=move.step.name, direction=move.direction, why=move.why)
        self._book.note(with_run(case, move.step.name, move.direction, run))
        return True

    def _rely(self, case: Case, move: steps.Rely) -> bool:
        now = self._clock.now()
        run = Run(
            Outcome.DONE,
            0,
            now,
            now,
            boot=self._boot,
            note=f"done already for event {move.of_event}",
            of_event=move.of_event,
            order=next_order(case, *self._book.acted_on()),
            profile=case.profile,
            of_type=type_told(move.step, case.event.type),
            memory=self._memory_of(case, move.step),
        )
        self._say(case, "step done already", step=move.step.name, of_event=move.of_event)
        self._book.note(with_run(case, move.step.name, Direction.DO, run))
        return True

    def _note_lost(self, case: Case, names: tuple[str, ...]) -> None:
        """What was done before the machine booted is to be done anew, and to be undone all the same."""
        runs = {
            (name, direction): lost(run) if name in names and direction is Direction.DO else run
            for (name, direction), run in case.runs.items()
        }
        words = "the machine has booted since it was prepared: that counts as lost, and is done anew"
        self._say(case, words, logging.WARNING, steps=" ".join(names))
        self._book.note(replace(case, runs=runs, prepared_at=None))

    def _note_renamed(self, case: Case, names: Renamed) -> None:
        """What was done is undone as it was done, in the end; what the step does now is done too."""
        for name, kept_as in names.aside.items():
            self._say(case, "step superseded", logging.WARNING, step=name, kept_as=kept_as)
            self._runner.forget(case.id, name)  # its attempts are counted anew
        for name in names.back.values():
            self._say(case, "step current again", step=name, is_done_anew=name in names.stale or None)
        self._book.note(with_other_names(case, names))

    def _look_for(self, case: Case, *, is_early: bool) -> None:
        """Ask anew, once: the watcher goes on asking at its own pace until it gets an answer."""
        if self._looked_for.get(case.id) != (case.last_seen_at, is_early):
            self._looked_for[case.id] = case.last_seen_at, is_early
            if not is_early:
                words = "its approval waits for a new answer of the endpoint"
                self._say(case, words, seen_at=case.last_seen_at.isoformat())
            self._look_again()

    def _approve(self, case: Case, by: str) -> bool:
        now = self._clock.now()
        if self._settings.is_dry_run:
            self._say(case, "event would be approved", by=by)
            self._book.note(replace(case, consent=Consent.GIVEN, consent_by=DRY_RUN, consent_at=now))
            return True
        if not self._settings.approves or self._approver.is_under_way(case.id):
            return False
        asked = replace(
            case, consent=Consent.ASKED, consent_by=by, consent_at=now, consent_tries=case.consent_tries + 1
        )
        if not self._book.save_first(asked):
            return False
        self._say(case, "approval is sent", by=by, try_number=asked.consent_tries)
        return self._approver.send(case.id)

    def _note_unconfirmed(self, case: Case) -> None:
        if case.consent_by != DRY_RUN:
            self._say(case, "the endpoint has taken the approval, but the event has not started", logging.WARNING)
        self._book.note(replace(case, unconfirmed_at=self._clock.now()))

    def _close(self, case: Case) -> None:
        profile = profile_of(case)
        closed = replace(case, closed_at=self._clock.now())
        self._audit.write(closed, profile)
        self._book.note(closed)
        self._metrics.observe_phases(closed, profile)
        self._metrics.count("events_over", ending=str(closed.ending))
        self._looked_for.pop(case.id, None)
        if closed.runs:
            self._runner.forget_all_but([each.id for each in self._book.unclosed()])
        self._say(
            closed,
            "event over",
            ending=closed.ending,
            approval=DRY_RUN if closed.consent_by == DRY_RUN else closed.consent,
            approved_by=closed.approved_by or None,
            asked_by=closed.consent_by or None,
        )

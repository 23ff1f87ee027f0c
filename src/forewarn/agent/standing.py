"""How the agent stands, for all who ask. The keeper writes it, whole values at a time; any thread reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from forewarn.agent.case import Case, Consent, Direction, Ending, Outcome
from forewarn.agent.compat import StrEnum
from forewarn.agent.course import has_begun_to_prepare
from forewarn.agent.policy import Occasion, Profile, Step
from forewarn.agent.superseded import profile_of
from forewarn.agent.watching import Trouble

READINESS = "readiness"  # the kind of handler that takes this machine out of service


class Phase(StrEnum):
    """How far a case is, in a word."""

    DETECTED = "detected"
    PREPARING = "preparing"
    PREPARED = "prepared"
    APPROVED = "approved"
    STARTED = "started"
    RECOVERING = "recovering"  # gone, and something is left to undo or to tell
    FINISHED = "finished"
    CANCELLED = "cancelled"


def phase_of(case: Case, profile: Profile) -> Phase:
    """How far a case is."""
    if case.closed_at is not None:
        return Phase.FINISHED if case.ending is Ending.FINISHED else Phase.CANCELLED
    if not case.is_open:
        return Phase.RECOVERING
    if case.started_at is not None:
        return Phase.STARTED
    if case.consent is Consent.GIVEN:
        return Phase.APPROVED
    if case.prepared_at is not None:
        return Phase.PREPARED
    return Phase.PREPARING if has_begun_to_prepare(case, profile) else Phase.DETECTED


class Standing:
    """What is known now."""

    def __init__(self, *, is_dry_run: bool = False) -> None:
        self.is_dry_run = is_dry_run
        self.cases: tuple[Case, ...] = ()  # all, also closed ones
        self.waiting_for: Mapping[str, tuple[str, ...]] = {}
        self.names: tuple[str, ...] = ()
        self.endpoint = ""
        self.api_version = ""
        self.incarnation: int | None = None
        self.good_at: float | None = None  # the last good answer, on the monotonic clock
        self.trouble: Trouble | None = None
        self.stuck: Mapping[str, str] = {}  # the events whose cases cannot be planned, and why
        self.ticked_at = 0.0  # the keeper's last good round, on the monotonic clock

    @property
    def is_blind(self) -> bool:
        """Whether there has been no good answer for too long."""
        return self.trouble is not None and self.trouble.is_blind

    def unclosed(self) -> tuple[Case, ...]:
        """The cases with something left to do."""
        return tuple(case for case in self.cases if case.closed_at is None)

    def out_of_service_for(self) -> list[str]:
        """The events for whose sake a readiness step keeps this machine out of service.

        From the journal, so that it holds on over a restart; and over when a case is closed, come what may.
        """
        return [] if self.is_dry_run else [case.id for case in self.unclosed() if self._is_taken_out(case)]

    def drained_for(self) -> list[str]:
        """The events for which this machine is prepared: all that was to be done before the approval is done."""
        return [] if self.is_dry_run else [case.id for case in self.unclosed() if self._is_drained(case)]

    def _is_taken_out(self, case: Case) -> bool:
        return any(
            _is_in_force(case, step.name) for step in _all_steps(profile_of(case)) if step.uses == READINESS
        )

    def _is_drained(self, case: Case) -> bool:
        steps = profile_of(case).on(Occasion.PREPARE)
        done = [step.name for step in steps if (run := case.run(step.name)) and run.outcome is Outcome.DONE]
        undone = [name for name in done if (run := case.run(name, Direction.UNDO)) and run.outcome is Outcome.DONE]
        return case.prepared_at is not None and bool(done) and not undone


def _all_steps(profile: Profile) -> tuple[Step, ...]:
    return (*profile.superseded, *profile.steps)


def _is_in_force(case: Case, step: str) -> bool:
    """From the moment it is begun, and also if it failed half way; until it is undone."""
    run, undo = case.run(step), case.run(step, Direction.UNDO)
    is_undone = undo is not None and undo.outcome in {Outcome.DONE, Outcome.SKIPPED}
    return run is not None and run.outcome is not Outcome.SKIPPED and not is_undone


def in_words(cases: Iterable[Case], *, is_blind: bool) -> str:
    """The status line for systemd."""
    there = [case for case in cases if case.is_open]
    seeing = "blind: no good answer of the endpoint" if is_blind else "watching"
    if not there:
        return f"{seeing}, no events"
    return f"{seeing}, " + "; ".join(f"{case.event.type} {case.id} {case.event.status}" for case in there)

"""The life of an operation and of its events, as one table.

The rules of this file: a step that is not in `TRANSITIONS` raises `IllegalStep` and changes nothing; no row leads
back; guests see `Scheduled` and `Started` only. The diagram in ARCHITECTURE.md is drawn from the table.
"""

from __future__ import annotations

from enum import StrEnum

from forewarn.core.refusal import IllegalStep


class Phase(StrEnum):
    """Where an operation or an event is in its life."""

    SCHEDULED = "Scheduled"
    STARTED = "Started"
    COMPLETED = "Completed"
    CANCELLED = "Cancelled"
    FAILED = "Failed"

    @property
    def is_open(self) -> bool:
        """Whether it is still to end: what guests see."""
        return self is Phase.SCHEDULED or self is Phase.STARTED


class Step(StrEnum):
    """What moves an operation or an event from one phase to the next."""

    ANNOUNCE = "announce"
    BORN_STARTED = "born_started"  # born Started: a failed host, or approval given beforehand
    START = "start"
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"


TRANSITIONS: dict[tuple[Phase | None, Step], Phase] = {
    (None, Step.ANNOUNCE): Phase.SCHEDULED,
    (None, Step.BORN_STARTED): Phase.STARTED,
    (Phase.SCHEDULED, Step.START): Phase.STARTED,
    (Phase.SCHEDULED, Step.CANCEL): Phase.CANCELLED,
    (Phase.STARTED, Step.COMPLETE): Phase.COMPLETED,
    (Phase.STARTED, Step.FAIL): Phase.FAILED,
}


def after(phase: Phase | None, step: Step, *, of: str) -> Phase:
    """The phase that `step` leads to; `of` names the thing in the error."""
    try:
        return TRANSITIONS[phase, step]
    except KeyError:
        raise IllegalStep(f"{of} is {phase or 'not there yet'}; it cannot {step}") from None

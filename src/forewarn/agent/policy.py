"""What is to be done about an event: rules that choose a profile, and the steps of a profile.

Values only. `config.py` makes them from a file, `rules.py` chooses, `course.py` carries on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import time
from typing import Any

from forewarn.agent.compat import StrEnum, dataclass


class Approval(StrEnum):
    """When an event is approved."""

    NEVER = "never"
    MANUAL = "manual"  # by `forewarn agent approve`, once prepared
    AFTER_SUCCESS = "after_success"
    AT_ONCE_FOR_USER = "at_once_for_user"  # what a user asked for: without waiting; the rest: after success
    BEFORE_DEADLINE = "before_deadline"  # after success, as late as the reserve allows


class Together(StrEnum):
    """Who approves an event that names several VMs."""

    LEADER = "leader"  # the first named, when all named are ready
    EACH = "each"  # whoever is ready first
    REFUSE = "refuse"  # nobody


class Occasion(StrEnum):
    """When a step runs."""

    DETECTED = "detected"
    PREPARE = "prepare"
    STARTED = "started"
    FINISHED = "finished"
    CANCELLED = "cancelled"


class OnFailure(StrEnum):
    """What a failed step means for the rest."""

    HOLD = "hold"  # later groups do not run, and nothing is approved
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, by one handler."""

    name: str
    uses: str  # the kind of handler
    options: Mapping[str, Any] = field(default_factory=dict)  # as the handler's own `Options` read them
    on: Occasion = Occasion.PREPARE
    group: int = 1  # groups run one after the other, the steps of one side by side
    needs: tuple[str, ...] = ()  # steps that have to have succeeded
    timeout_seconds: float = 60
    retries: int = 0
    retry_pause_seconds: float = 2
    on_failure: OnFailure = OnFailure.HOLD
    has_undo: bool = False
    has_secrets: bool = False  # perhaps, among its options: they are not written down
    is_for_all_events: bool = False  # as its handler says: a state of this machine, whatever the event


@dataclass(frozen=True, slots=True)
class Profile:
    """How an event is met."""

    name: str
    steps: tuple[Step, ...] = ()
    lead_seconds: float | None = None  # begin that long before NotBefore; None: as soon as it is seen
    reserve_seconds: float = 5  # steps have to be done that long before NotBefore
    approval: Approval = Approval.NEVER
    pause_before_approval_seconds: float = 0  # so that logs can leave the machine
    together: Together = Together.REFUSE
    approves_others: bool = False  # also events that do not name this VM
    prepares_when_started: bool = False  # also when the platform is already at it
    bygone: tuple[Step, ...] = ()  # that were done for a case, and are not in the file any more: only to be undone
    forgotten: tuple[str, ...] = ()  # the same, and how they are undone is not known

    def on(self, occasion: Occasion) -> tuple[Step, ...]:
        """Its steps for an occasion."""
        return tuple(step for step in self.steps if step.on is occasion)

    def step(self, name: str) -> Step | None:
        """Its step of that name, as it was done."""
        return next((step for step in (*self.bygone, *self.steps) if step.name == name), None)

    def prepared_by(self) -> tuple[Step, ...]:
        """Its steps for the preparation, as they were done, what is bygone first."""
        bygone = [step for step in self.bygone if step.on is Occasion.PREPARE]
        names = {*(step.name for step in bygone), *self.forgotten}
        return (*bygone, *(step for step in self.on(Occasion.PREPARE) if step.name not in names))


LOG_ONLY = Profile("log only")


class Whose(StrEnum):
    """Which events a rule is for."""

    MINE = "mine"
    OTHERS = "others"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition and the profile that it leads to. What is empty or None asks for nothing."""

    profile: str
    name: str = ""
    whose: Whose = Whose.MINE
    types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    min_duration_seconds: int | None = None
    max_duration_seconds: int | None = None
    resources: tuple[str, ...] = ()  # patterns, one of which a named VM has to fit
    min_resources: int | None = None
    max_resources: int | None = None
    description: str = ""  # a regular expression
    between: tuple[time, time] | None = None  # the time of day of NotBefore, local; may span midnight
    line: int = 0  # where the file says it

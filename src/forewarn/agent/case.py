"""A case: one event, what was done about it, and what came of it. Values only; the journal keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime

from forewarn.agent.compat import StrEnum, dataclass
from forewarn.agent.events import Event
from forewarn.agent.policy import NO_POLICY, Policy

DRY_RUN = "dry run"  # who consents where nothing is approved
UNDO_TRIES = 10  # the network may come up after the agent does


class Direction(StrEnum):
    """Whether a step is done or undone."""

    DO = "do"
    UNDO = "undo"


class Outcome(StrEnum):
    """What came of an attempt at a step."""

    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    LOST = "lost"  # done, and the machine has booted since: to be done anew, and still to be undone


class Ending(StrEnum):
    """How an event went away."""

    FINISHED = "finished"  # gone after it had started
    CANCELLED = "cancelled"  # gone while it was Scheduled


class Consent(StrEnum):
    """How far its approval is."""

    NONE = "none"
    ASKED = "asked"  # recorded before the request leaves
    GIVEN = "given"  # the endpoint said 200


@dataclass(frozen=True, slots=True)
class Run:
    """A step in one direction: its last attempt."""

    outcome: Outcome
    tries: int
    begun_at: datetime
    ended_at: datetime | None = None
    boot: str = ""  # in which boot of this machine it was begun
    note: str = ""  # what the handler said, or why it was skipped
    of_event: str = ""  # the event whose attempt it was, where the effect was there already
    tries_before: int = 0  # of its tries: so many were before it was lost or had no time left, and count no more
    until: datetime | None = None  # when its time is up
    order: int = 0  # of two attempts on this machine, whatever its clock did meanwhile, the later has the higher
    profile: str = ""  # of the case's policy, that wanted it; empty: the case's
    of_step: str = ""  # the name of its step there; empty: the attempt has the same name
    of_type: str = ""  # the type of event that it was told of; empty: that makes no difference to it
    memory: str = ""  # the name of the place where the step keeps how things were before, for its undo
    is_uncertain: bool = False  # it failed as far as is known, and may have been done all the same


Runs = Mapping[tuple[str, Direction], Run]


def is_underway(run: Run | None) -> bool:
    """Whether an attempt has begun, and nothing is known of its end."""
    return run is not None and run.outcome is Outcome.BEGUN


def has_acted(run: Run | None) -> bool:
    """Whether an attempt was made, whatever came of it."""
    return run is not None and run.outcome is not Outcome.SKIPPED


def is_undone_again(undo: Run, retries: int) -> bool:
    """Whether an undo failed and is tried again; one that may have been done is so only as `retries` allow."""
    most = 1 + retries if undo.is_uncertain else UNDO_TRIES
    return undo.outcome is Outcome.FAILED and undo.tries < most


def place_of(run: Run) -> tuple[int, datetime]:
    """Where an attempt stands among all; an older journal knows the time alone."""
    return run.order, run.begun_at


def lost(run: Run) -> Run:
    """The same, to be done anew and still to be undone."""
    return replace(run, outcome=Outcome.LOST, tries_before=run.tries)


@dataclass(frozen=True, slots=True)
class Case:
    """All that is known about one event."""

    event: Event  # as it was last seen
    vm: str  # the name by which it means this VM; empty: it does not
    profile: str
    why: str  # which rule led to the profile, in words
    first_seen_at: datetime
    last_seen_at: datetime
    policy: Policy = NO_POLICY  # with which the event was first seen: what it is met with is decided by that
    not_before: datetime | None = None  # the last that was said; an event that has started says none
    boot: str = ""  # in which boot of this machine it was last seen
    named_by: tuple[str, ...] = ()  # the endpoints that have named it; empty in an older journal: not known
    runs: Runs = field(default_factory=dict)
    prepared_at: datetime | None = None
    consent: Consent = Consent.NONE
    consent_by: str = ""
    consent_at: datetime | None = None
    consent_tries: int = 0
    unconfirmed_at: datetime | None = None  # when it was said that it is approved and does not start
    started_at: datetime | None = None  # when Started was first seen
    told_to_approve_by: str = ""  # the operator who said so
    is_urgent: bool = False  # the operator does not want to wait for its preparation
    held_by: str = ""  # the operator who said "not yet"
    was_prepared_for: bool = False  # in an earlier life: then it is again, even if the platform is at it
    ending: Ending | None = None
    ended_at: datetime | None = None
    closed_at: datetime | None = None  # recovered, told, over

    @property
    def id(self) -> str:
        """The event's id."""
        return self.event.id

    @property
    def is_mine(self) -> bool:
        """Whether the event names this VM."""
        return bool(self.vm)

    @property
    def approved_by(self) -> str:
        """Whose approval the endpoint has taken; empty: nobody's, as far as is known."""
        return self.consent_by if self.consent is Consent.GIVEN and self.consent_by != DRY_RUN else ""

    @property
    def is_open(self) -> bool:
        """Whether the event is still there, as far as is known."""
        return self.ending is None

    def run(self, step: str, direction: Direction = Direction.DO) -> Run | None:
        """The last attempt at a step."""
        return self.runs.get((step, direction))


def next_order(*cases: Case) -> int:
    """The order of an attempt that begins now, after all those of these cases."""
    return max((run.order for case in cases for run in case.runs.values()), default=0) + 1


def with_run(case: Case, step: str, direction: Direction, run: Run) -> Case:
    """The case with a step's last attempt."""
    return replace(case, runs={**case.runs, (step, direction): run})


def without_run(case: Case, step: str, direction: Direction) -> Case:
    """The case as if a step had not been taken up in that direction."""
    return replace(case, runs={key: run for key, run in case.runs.items() if key != (step, direction)})

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
class SecretOption:
    """Where a secret stands among a step's options, and where its text comes from."""

    path: tuple[str, ...]
    reference: Mapping[
        str, str
    ]  # {"file": PATH}, {"env": NAME}, or {"literal": CHECKSUM} for one in the agent's file


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
    secrets: tuple[SecretOption, ...] = ()  # among its options
    missing: str = ""  # why it cannot run: a secret that its options refer to is not to be had
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
    superseded: tuple[Step, ...] = ()  # that were run for a case by another profile or type: only to be undone

    def on(self, occasion: Occasion) -> tuple[Step, ...]:
        """Its steps for an occasion."""
        return tuple(step for step in self.steps if step.on is occasion)

    def step(self, name: str) -> Step | None:
        """Return its step of that name, as it was done."""
        return next((step for step in (*self.superseded, *self.steps) if step.name == name), None)

    def prepared_by(self) -> tuple[Step, ...]:
        """Return its steps for the preparation, as they were done, superseded ones first."""
        superseded = [step for step in self.superseded if step.on is Occasion.PREPARE]
        names = {step.name for step in superseded}
        return (*superseded, *(step for step in self.on(Occasion.PREPARE) if step.name not in names))


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
    line: int = field(default=0, compare=False)  # where the file says it


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules and profiles as one file had them. An event keeps the policy with which it was first seen."""

    rules: tuple[Rule, ...] = ()
    profiles: Mapping[str, Profile] = field(default_factory=dict)

    def profile(self, name: str) -> Profile:
        """Return the profile of that name; one that only logs if there is none."""
        return self.profiles.get(name, LOG_ONLY)

    def covers(self, other: Policy) -> bool:
        """Whether it has all that the other has; it may have more profiles."""
        return self.rules == other.rules and all(
            self.profile(each) == other.profile(each) for each in other.profiles
        )


NO_POLICY = Policy()  # not known, as in a journal of the first form


def has_same_effect(one: Step, other: Step) -> bool:
    """Whether the same handler is given the same options; a secret is the same if it comes from the same place."""
    return one is other or (one.uses == other.uses and referring_options(one) == referring_options(other))


def referring_options(step: Step) -> Mapping[str, Any]:
    """Return the options with references in place of secrets."""
    options: Mapping[str, Any] = step.options
    for secret in step.secrets:
        options = with_option(options, secret.path, dict(secret.reference))
    return options


def with_option(options: Mapping[str, Any], path: tuple[str, ...], value: object) -> Mapping[str, Any]:
    """Return the options with a value at a path."""
    first, *rest = path
    inner = with_option(options.get(first, {}), tuple(rest), value) if rest else value
    return {**options, first: inner}

"""What will come of an event, foreseen by the same pure course that will carry it on.

Every step is taken to succeed: once at once, and once with all the time it has. What really happens lies between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from datetime import datetime, timedelta

from forewarn.agent.case import Case, Consent, Direction, Outcome, Run
from forewarn.agent.compat import dataclass
from forewarn.agent.course import Approve, Move, NotePrepared, plan
from forewarn.agent.events import Event
from forewarn.agent.policy import Approval, Occasion, Policy, Profile, Together
from forewarn.agent.steps import Begin, Skip

_MOST_ROUNDS = 10_000  # far more than any profile has steps and tries


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that will be done."""

    at: datetime
    step: str
    uses: str
    occasion: Occasion
    seconds: float  # how long it may take
    left_out: str = ""  # why it is not done
    group: int = 1


@dataclass(slots=True)
class Forecast:
    """What will be done, when it will be approved, and what else will be waited for."""

    moments: list[Moment] = field(default_factory=list)
    approved_at: datetime | None = None
    waiting_for: tuple[str, ...] = ()


def foresee(event: Event, vm: str, profile: Profile, now: datetime, *, is_slow: bool = False) -> Forecast:
    """What will come of an event that is first seen now, until it starts."""
    return _Rehearsal(event, vm, profile, now, is_slow=is_slow).play()


def approval_in_words(event: Event, vm: str, profile: Profile, quick: Forecast, slow: Forecast) -> str:
    """When the event will be approved, in a sentence, or why it will not be."""
    if event.has_started:
        return "There is nothing to approve: it has started."
    if not event.is_scheduled:
        status = f"{event.status}, and not Scheduled" if event.status else "not said"
        return f"It is not approved: its EventStatus is {status}."
    if profile.approval is Approval.NEVER:
        return f"It is not approved: profile {profile.name} never does."
    if not (vm or profile.approves_others):
        return "It is not approved: it does not name this VM."
    if quick.approved_at is None:
        reasons = "; ".join(quick.waiting_for)
        return f"It waits for {reasons}." if reasons else "It is not approved."
    when = f"at {quick.approved_at:%H:%M:%SZ}"
    if slow.approved_at is not None and slow.approved_at > quick.approved_at:
        when = f"between {quick.approved_at:%H:%M:%SZ} and {slow.approved_at:%H:%M:%SZ}"
    limit = "" if slow.approved_at else "; if they use all their time, it is not"
    return f"It is approved {when}, {_condition(event, vm, profile)}{limit}."


def _condition(event: Event, vm: str, profile: Profile) -> str:
    if profile.approval is Approval.AT_ONCE_FOR_USER and event.source.lower() == "user":
        return "whether its steps have succeeded or not"
    others = [name for name in event.resources if name != vm]
    if profile.together is not Together.LEADER or not others:
        return "if every step succeeds"
    return f"if every step succeeds and {', '.join(others)} {'is' if len(others) == 1 else 'are'} ready"


class _Rehearsal:
    """One way through an event, from now until it starts."""

    def __init__(self, event: Event, vm: str, profile: Profile, now: datetime, *, is_slow: bool) -> None:
        started_at = now if event.has_started else None
        policy = Policy(profiles={profile.name: profile})
        self._case = Case(
            event, vm, profile.name, "", first_seen_at=now, last_seen_at=now, policy=policy, started_at=started_at
        )
        self._profile = profile
        self._now = now
        self._is_slow = is_slow
        self._ends: dict[str, datetime] = {}  # of the steps that run
        self._forecast = Forecast()

    def play(self) -> Forecast:
        """What comes of it."""
        for _ in range(_MOST_ROUNDS):
            wanted = plan(self._case, self._profile, (), self._now, self._case.event.resources)
            self._forecast.waiting_for = wanted.waiting_for
            for move in wanted.moves:
                self._take(move)
            next_at = None if wanted.moves else self._next_at(wanted.wake_at)
            if not wanted.moves and (next_at is None or self._is_too_late(next_at)):
                break
            self._now = next_at or self._now
            self._case = replace(self._case, last_seen_at=self._now)
            self._end_steps()
        return self._forecast

    def _take(self, move: Move) -> None:
        if isinstance(move, Begin):
            step, until = move.step, self._now + timedelta(seconds=move.seconds)
            self._note(Moment(self._now, step.name, step.uses, step.on, move.seconds, group=step.group))
            self._ends[step.name] = until if self._is_slow else self._now
            self._set(step.name, move.direction, Run(Outcome.BEGUN, move.try_number, self._now, until=until))
        elif isinstance(move, Skip):
            step, why = move.step, move.why
            self._note(Moment(self._now, step.name, step.uses, step.on, 0, why, step.group))
            self._set(step.name, move.direction, Run(Outcome.SKIPPED, 0, self._now, self._now, note=why))
        elif isinstance(move, NotePrepared):
            self._case = replace(self._case, prepared_at=self._now)
        elif isinstance(move, Approve):
            self._forecast.approved_at = self._now
            self._case = replace(self._case, consent=Consent.GIVEN)

    def _note(self, moment: Moment) -> None:
        self._forecast.moments.append(moment)

    def _set(self, step: str, direction: Direction, run: Run) -> None:
        self._case = replace(self._case, runs={**self._case.runs, (step, direction): run})

    def _next_at(self, wake_at: datetime | None) -> datetime | None:
        return min([*self._ends.values(), *([wake_at] if wake_at else [])], default=None)

    def _is_too_late(self, at: datetime) -> bool:
        starts_at = self._case.event.not_before
        return starts_at is not None and at >= starts_at and not self._ends

    def _end_steps(self) -> None:
        for name in [name for name, at in self._ends.items() if at <= self._now]:
            begun = self._case.runs[name, Direction.DO]
            self._set(name, Direction.DO, replace(begun, outcome=Outcome.DONE, ended_at=self._ends.pop(name)))


def undone_after(profile: Profile) -> Iterator[str]:
    """The steps that are undone when the event is over, in that order."""
    steps = sorted(profile.on(Occasion.PREPARE), key=lambda step: step.group)
    return (step.name for step in reversed(steps) if step.has_undo)

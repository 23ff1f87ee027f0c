"""What the platform does in the hour: events that come, start, by an approval or not, and go."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tests.agent.azure import event, http_date
from tests.agent.storm.hours import BEGINNING

MINE = "web-0"
FIRST_CALL_SECONDS = 120.0
_NOTICE_SECONDS = {"Reboot": 900, "Redeploy": 600, "Freeze": 900, "Preempt": 30, "Terminate": 300}


@dataclass
class Happening:
    """One event, from its first moment to its last."""

    id: str
    kind: str
    resources: tuple[str, ...]
    appears_at: float
    notice_seconds: float
    lag_seconds: float  # from its approval to its start
    lasts_seconds: float
    cancelled_at: float | None = None
    is_put_off_at: float | None = None  # then its time comes as much later again
    approved_at: float | None = None
    glitch: tuple[float, float] = (0.0, 0.0)  # after it appears, and for how long the document lacks it then
    later_glitch: tuple[float, float] = (0.0, 0.0)  # the same after its start

    @property
    def is_mine_alone(self) -> bool:
        return self.resources == (MINE,)

    def not_before(self, at: float) -> float:
        is_put_off = self.is_put_off_at is not None and at >= self.is_put_off_at
        return self.appears_at + self.notice_seconds * (2 if is_put_off else 1)

    @property
    def _due_at(self) -> float:
        first = self.appears_at + self.notice_seconds
        return first if self.is_put_off_at is None or self.is_put_off_at >= first else first + self.notice_seconds

    @property
    def starts_at(self) -> float:
        """When it starts, as things are now; infinite, if it is cancelled before."""
        starts_at = self._due_at
        if self.approved_at is not None:
            starts_at = min(starts_at, self.approved_at + self.lag_seconds)
        return float("inf") if self.cancelled_at is not None and self.cancelled_at < starts_at else starts_at

    @property
    def gone_at(self) -> float:
        starts_at = self.starts_at
        return self.cancelled_at if starts_at == float("inf") else starts_at + self.lasts_seconds  # type: ignore[return-value]

    def status(self, at: float) -> str:
        """Scheduled, Started, or nothing."""
        if not self.appears_at <= at < self.gone_at:
            return ""
        return "Started" if at >= self.starts_at else "Scheduled"

    def glitches(self) -> list[tuple[float, float]]:
        """From when to when the document lacks it, although it is there."""
        spans = ((self.appears_at, self.glitch), (self.starts_at, self.later_glitch))
        return [(since + after, since + after + seconds) for since, (after, seconds) in spans if seconds]

    def is_shown(self, at: float) -> bool:
        """Whether the document has it."""
        return bool(self.status(at)) and not any(begins <= at < ends for begins, ends in self.glitches())

    def members(self, at: float) -> dict[str, Any]:
        is_due = BEGINNING + timedelta(seconds=self.not_before(at))
        is_scheduled = self.status(at) == "Scheduled"
        return event(
            self.id,
            EventType=self.kind,
            EventStatus=self.status(at),
            Resources=list(self.resources),
            NotBefore=http_date(is_due) if is_scheduled else "",
            EventSource="Platform",
        )


@dataclass
class Platform:
    """All that happens, and the document that tells it."""

    happenings: list[Happening]
    forgets_at: float  # then its incarnations begin anew
    _incarnation: int = 1
    _last: str = ""
    _has_forgotten: bool = field(default=False)

    def find(self, event_id: str) -> Happening | None:
        return next((each for each in self.happenings if each.id == event_id), None)

    def events(self, at: float) -> list[dict[str, Any]]:
        return [each.members(at) for each in self.happenings if each.is_shown(at)]

    def document(self, at: float) -> bytes:
        events = self.events(at)
        said = json.dumps(events)
        if at >= self.forgets_at and not self._has_forgotten:
            self._has_forgotten, self._incarnation = True, 0
        if said != self._last:
            self._last, self._incarnation = said, self._incarnation + 1
        return json.dumps({"DocumentIncarnation": self._incarnation, "Events": events}).encode()

    def next_change(self, at: float) -> float:
        """When the document says something else, as things are now."""
        instants = [
            instant
            for each in self.happenings
            for instant in (
                *(each.appears_at, each.is_put_off_at, each.starts_at, each.gone_at),
                *(instant for glitch in each.glitches() for instant in glitch),
            )
            if instant is not None and instant > at
        ]
        return min(instants, default=float("inf"))

    def approve(self, event_id: str, at: float) -> bool:
        """Whether there is such an event that may still start."""
        found = self.find(event_id)
        if found is None or found.status(at) != "Scheduled":
            return False
        found.approved_at = at if found.approved_at is None else found.approved_at
        return True


def draw_platform(dice: random.Random, seconds: float) -> Platform:
    """About eighty events in an hour; half of them are there for seconds only."""
    happenings = []
    at = FIRST_CALL_SECONDS - 20.0
    for number in range(1, 200):
        at += dice.expovariate(1 / 45)
        if at > seconds:
            break
        happenings.append(_draw(dice, f"E{number:03d}", at))
    return Platform(happenings, forgets_at=dice.uniform(0.2, 0.8) * seconds)


def _draw(dice: random.Random, name: str, at: float) -> Happening:
    kind = dice.choice(list(_NOTICE_SECONDS))
    notice = _NOTICE_SECONDS[kind] * dice.choice((1, 1, 0.2))
    names = dice.choices([(MINE,), (MINE, "web-1"), ("web-1", MINE), ("web-1",)], (7, 1, 1, 1))[0]
    drawn = Happening(name, kind, names, at, notice, dice.choice((0.0, 0.5, 5.0)), dice.choice((0.5, 5.0, 60.0)))
    fate = dice.random()
    if fate < 0.5:
        drawn.cancelled_at = at + dice.uniform(3.0, 4.5)
    elif fate < 0.6:
        drawn.cancelled_at = at + dice.uniform(6.0, notice)
    elif fate < 0.7:
        drawn.is_put_off_at = at + dice.uniform(1.0, notice)
    if fate >= 0.5:
        _draw_glitches(random.Random(f"glitches {name} {at}"), drawn)
    return drawn


def _draw_glitches(dice: random.Random, drawn: Happening) -> None:
    """Moments without it, too short for an event that is Scheduled, or Started, to be gone."""
    if dice.random() < 0.5:
        drawn.glitch = (dice.uniform(5.0, 60.0), dice.uniform(0.05, 0.9))
    if drawn.lasts_seconds == 60.0:
        drawn.later_glitch = (dice.uniform(2.0, 50.0), dice.uniform(1.1, 1.9))

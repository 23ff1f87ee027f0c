"""Simulated guests: they poll through the production wire and board, and approve each in their own way."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from forewarn.board.board import Panel

if TYPE_CHECKING:
    from tests.simulation.lobby import Lobby

_VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")


class Manner(StrEnum):
    """How a guest takes its notices."""

    PROMPT = "prompt"
    SLOW = "slow"
    LAST_SECOND = "last second"
    SILENT = "silent"
    DOUBLE = "approves twice"
    WRONG = "approves what is not its own"
    ONCE = "polls once, then never again"
    NEVER = "never polls"


_WEIGHTS = {
    Manner.PROMPT: 30,
    Manner.SLOW: 15,
    Manner.LAST_SECOND: 10,
    Manner.SILENT: 12,
    Manner.DOUBLE: 8,
    Manner.WRONG: 8,
    Manner.ONCE: 8,
    Manner.NEVER: 9,
}


@dataclass
class SimulatedGuest:
    """One VM's inside: a manner, a version it speaks, and what it has planned."""

    name: str
    manner: Manner
    version: str
    dice: random.Random
    planned: set[str] = field(default_factory=set)
    waits_at: Panel | None = None

    @classmethod
    def born(cls, name: str, dice: random.Random) -> SimulatedGuest:
        """A guest with a character of its own."""
        manner = dice.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        version = dice.choice(_VERSIONS) if dice.random() < 0.3 else "2020-07-01"
        return cls(name, manner, version, dice)

    def first_poll_in(self) -> timedelta | None:
        """When it asks for the first time."""
        if self.manner is Manner.NEVER:
            return None
        return timedelta(seconds=self.dice.uniform(1, 1800))

    def next_poll_in(self) -> timedelta | None:
        """When it asks again by itself; changes wake it sooner."""
        if self.manner is Manner.ONCE:
            return None
        return timedelta(minutes=self.dice.uniform(5, 240))

    @property
    def target(self) -> str:
        """What it asks for."""
        return f"/metadata/scheduledevents?api-version={self.version}"

    def read(self, body: bytes, now: datetime, lobby: Lobby) -> None:
        """Look at a document and plan approvals."""
        document = json.loads(body)
        for event in document["Events"]:
            if event["EventStatus"] == "Scheduled" and event["EventId"] not in self.planned:
                self.planned.add(event["EventId"])
                self._plan(event["EventId"], parsedate_to_datetime(event["NotBefore"]), now, lobby)

    def _plan(self, event: str, not_before: datetime, now: datetime, lobby: Lobby) -> None:
        left = not_before - now
        match self.manner:
            case Manner.PROMPT:
                delays = [self.dice.uniform(0, 20)]
            case Manner.SLOW:
                delays = [self.dice.uniform(0.2, 1.2) * left.total_seconds()]
            case Manner.LAST_SECOND:
                delays = [left.total_seconds() - self.dice.uniform(0.0, 0.9)]
            case Manner.DOUBLE:
                first = self.dice.uniform(0, 60)
                delays = [first, first + self.dice.choice([0.0, 1.0, 30.0])]
            case Manner.WRONG:
                lobby.later(timedelta(seconds=self.dice.uniform(0, 30)), lambda: lobby.approve_wrongly(self))
                delays = [self.dice.uniform(0, 300)] if self.dice.random() < 0.5 else []
            case _:
                delays = []
        for delay in delays:
            lobby.later(timedelta(seconds=max(0.0, delay)), lambda: lobby.approve(self, event, not_before))

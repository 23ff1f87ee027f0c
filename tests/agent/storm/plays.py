"""What the agent of the hour is told to do, and handlers that do it well, badly, late or not at all."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from forewarn.agent.case import Direction
from forewarn.agent.handlers.base import Option, Result, Task
from forewarn.agent.policy import Approval, Occasion, OnFailure, Profile, Rule, Step
from forewarn.agent.settings import Settings
from tests.agent.storm.hours import Hours

_SAVE = Step("save", "play", {"what": "save"}, group=1, timeout_seconds=20, retries=1)
_MAIL = Step("mail", "play", {"what": "mail"}, group=1, on_failure=OnFailure.CONTINUE, timeout_seconds=10)
_DRAIN = Step("drain", "play", {"what": "drain"}, group=2, timeout_seconds=20, retries=2, has_undo=True)
_TELL = Step("tell", "play", {"what": "tell"}, on=Occasion.DETECTED, on_failure=OnFailure.CONTINUE)
_BACK = Step("back", "play", {"what": "back"}, on=Occasion.FINISHED, on_failure=OnFailure.CONTINUE)

DRAIN = Profile("drain", (_SAVE, _MAIL, _DRAIN, _TELL, _BACK), approval=Approval.AFTER_SUCCESS)
QUIET = Profile(
    "quiet", (replace(_SAVE, name="pause", options={"what": "pause"}, has_undo=True),), lead_seconds=60
)
LEAVE = Profile("leave", (_DRAIN,), approval=Approval.AFTER_SUCCESS, reserve_seconds=2)
PROFILES = {"Reboot": DRAIN, "Redeploy": DRAIN, "Freeze": QUIET, "Preempt": LEAVE, "Terminate": LEAVE}


def settings(url: str, place: Path) -> Settings:
    """An agent as one would run it: every length of time is the usual one."""
    profiles = {each.name: each for each in (DRAIN, QUIET, LEAVE)}
    rules = tuple(Rule(profile.name, types=(kind,)) for kind, profile in PROFILES.items())
    return Settings(
        endpoints=(url,), state_dir=place, rules=rules, profiles=profiles, audit_file=place / "audit.jsonl"
    )


@dataclass(frozen=True)
class Played:
    """One attempt of a handler."""

    event_id: str
    step: str
    direction: Direction
    began_at: float
    ended_at: float
    is_done: bool


class Plays:
    """The one kind of handler. What comes of an attempt depends on the seed and on which attempt it is."""

    help = ""
    options: tuple[Option, ...] = ()
    is_for_all_events = False

    def __init__(self, hours: Hours, seed: int) -> None:
        self.begun: list[tuple[str, str, Direction, float]] = []
        self.played: list[Played] = []
        self._hours = hours
        self._seed = seed

    def find(self, kind: str) -> Plays:
        assert kind == "play"
        return self

    def check(self, options: Mapping[str, Any]) -> list[str]:
        return []

    def undoes(self, options: Mapping[str, Any]) -> bool:
        return True

    def run(self, task: Task) -> Result:
        began_at = self._hours.monotonic()
        self.begun.append((task.event.id, task.step, task.direction, began_at))
        dice = random.Random(f"{self._seed} {task.key} {task.try_number}")
        fate = dice.random()
        # An undo comes off in the end.
        fails = fate < 0.35 and not (task.direction is Direction.UNDO and task.try_number > 2)
        seconds = dice.choice((0.0, 0.2, 3.0, 12.0))
        if fails and fate < 0.1:  # it hangs, and one of two does not even heed its time
            seconds = task.seconds + dice.choice((0.0, 100.0))
        self._hours.wait(seconds, task.stop.is_set, task.key)
        is_done = not fails and not task.stop.is_set()
        now = self._hours.monotonic()
        self.played.append(Played(task.event.id, task.step, task.direction, began_at, now, is_done))
        if fails and 0.1 <= fate < 0.15:
            raise ZeroDivisionError("a handler with a bug")
        return Result(is_done=is_done, note="" if is_done else "it did not come off")

    def take_over(self, task: Task) -> Result | None:
        return None

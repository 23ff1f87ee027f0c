"""A fleet for the tables of rollouts, and what a look at a rollout finds, in short."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any

from forewarn.core.rollout import Turn
from forewarn.core.window import Window
from forewarn.core.world import World
from tests.core.worlds import (
    NOON,
    ROLLOUT,
    Part,
    availability_set,
    host,
    look_at,
    minutes,
    rollout,
    turn,
    vm,
    world,
)

HOSTS = tuple(host(f"h{n}") for n in range(1, 6))
VMS = tuple(vm(f"vm-{n}", f"h{n}") for n in range(1, 6))
FLEET = (*HOSTS, *VMS)  # vm-1 on h1, vm-2 on h2, and so on, none of them in a set
SECOND = timedelta(seconds=1)


def announced(found: World, **more: Any) -> dict[str, float]:
    """By host, in how many minutes what is announced now may start."""
    outlook = look_at(found, **more)
    return {turn.host: (start - NOON) / minutes(1) for turn, start in outlook.announce}


def waits(found: World, **more: Any) -> list[datetime | None]:
    """Until when it waits, for each thing it waits for."""
    return [wait.until for wait in look_at(found, **more).waits]


def turn_of(found: World, name: str) -> Turn:
    return found.book_of(ROLLOUT).turns[name]


HOUR = timedelta(hours=1)
SHUT, OPEN_NOW = Window(time(9), HOUR), Window(time(11, 30), HOUR)
MIGRATION = {"by_live_migration": True}


def in_window(opens: time, length: timedelta = HOUR, **more: Any) -> World:
    return world(*FLEET, rollout(turn("h1"), window=Window(opens, length), **more))


def web(minimum: int, *others: Part) -> World:
    members = [vm(f"web-{n}", f"h{n}", "web") for n in range(1, 4)]
    named = {each.name for each in others if hasattr(each, "state")}
    return world(
        *HOSTS, availability_set("web", minimum), *(each for each in members if each.name not in named), *others
    )

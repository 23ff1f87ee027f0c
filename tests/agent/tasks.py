"""Attempts for handlers to make."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from forewarn.agent.case import Direction
from forewarn.agent.events import Event
from forewarn.agent.handlers.base import Task

EVENT = Event(
    id="4F1C9A02-0000-4000-8000-000000000001",
    type="Reboot",
    resources=("web-3", "web-4"),
    not_before=datetime(2026, 3, 2, 12, 15, tzinfo=timezone.utc),
    source="Platform",
    description='Host "blade <7>" & friends:\nnew firmware',
    duration_seconds=120,
)


def attempt(
    place: Path,
    options: Mapping[str, Any],
    *,
    direction: Direction = Direction.DO,
    seconds: float = 20,
    step: str = "drain",
    event: Event = EVENT,
    try_number: int = 1,
    stop: threading.Event | None = None,
) -> Task:
    """One attempt; its directories lie under `place`, as the agent lays them out."""
    scratch = place / "scratch" / event.id / f"{step}-{direction}-{try_number}"
    scratch.mkdir(parents=True, exist_ok=True)
    memory = place / "memory" / step
    memory.mkdir(parents=True, exist_ok=True)
    return Task(
        event=event,
        step=step,
        options=options,
        direction=direction,
        seconds=seconds,
        try_number=try_number,
        vm="web-3",
        scratch=scratch,
        stop=stop or threading.Event(),
        seconds_to_not_before=900,
        memory=memory,
    )

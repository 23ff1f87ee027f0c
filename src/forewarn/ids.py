"""Ids for events and operations: such as nobody else has, or such as come again."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from random import Random


def random_id() -> str:
    """An id that nobody else has."""
    return str(uuid.uuid4())


def seeded_ids(seed: int) -> Callable[[], str]:
    """Ids that look like any other, and are the same ones every time."""
    dice = Random(seed)  # noqa: S311 - to be repeated is the point
    return lambda: str(uuid.UUID(int=dice.getrandbits(128), version=4))

"""What the health checks of sets have answered, as the rules read it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

# What the check of a set has answered since an instant: None if all is well or there is no check, else why not.
Answers = Callable[[str, datetime], str | None]


def no_answers(_set_name: str, _since: datetime) -> str | None:
    """No set has a check of its own: the driver's word is all there is."""
    return None


class NotYet(str):
    """Why nobody knows yet whether a set is well: its check is still to be asked, or may still answer."""

    __slots__ = ()

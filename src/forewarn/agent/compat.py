"""What the agent uses of Python 3.10 and 3.11, for a guest whose Python is older: 3.9 at least.

A type checker sees the newer branches only. Where a guest's Python has the real thing, that is used.
"""

from __future__ import annotations

import re
import socket
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

TIMEOUTS = (TimeoutError, socket.timeout)  # one and the same since 3.10

if TYPE_CHECKING:
    import asyncio

if sys.version_info >= (3, 11):
    from enum import StrEnum

    def cancels_of(task: asyncio.Task[object]) -> int:
        """How often the task was told to cancel, and has not taken that back."""
        return task.cancelling()

    def take_back_cancel(task: asyncio.Task[object]) -> int:
        """Take one cancellation back; how many are left."""
        return task.uncancel()

    read_iso_instant = datetime.fromisoformat
else:
    from enum import Enum

    def cancels_of(task: asyncio.Task[object]) -> int:
        """Not counted: a task is cancelled, or it is not."""
        del task
        return 0

    take_back_cancel = cancels_of

    class StrEnum(str, Enum):
        """A text that is one of a few, and written as that text."""

        __str__ = str.__str__

    _ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?(Z|[+-]\d\d(?::?\d\d)?)?)?")

    def read_iso_instant(text: str) -> datetime:
        """Read what later Pythons take for ISO 8601 and this one does not: `Z`, and fractions of any length."""
        found = _ISO.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no instant in ISO 8601")
        date, clock, fraction, zone = found.groups()
        if clock is None:
            return datetime.fromisoformat(date)
        if len(clock) == len("12:00"):
            clock += ":00"
        part = f".{fraction[:6]:0<6}" if fraction else ""
        if zone in (None, "Z"):
            offset = "+00:00" if zone else ""
        else:
            offset = f"{zone[:3]}:{zone[-2:] if len(zone) > len('+00') else '00'}"
        return datetime.fromisoformat(f"{date}T{clock}{part}{offset}")


if sys.version_info >= (3, 10):
    from dataclasses import dataclass
else:
    import dataclasses

    def dataclass(cls: type | None = None, *, slots: bool = False, **options: bool) -> Any:  # noqa: ANN401 - as the real one
        """Without slots, which only save memory."""
        del slots
        return dataclasses.dataclass(cls, **options)


__all__ = ["TIMEOUTS", "StrEnum", "cancels_of", "dataclass", "read_iso_instant", "take_back_cancel"]

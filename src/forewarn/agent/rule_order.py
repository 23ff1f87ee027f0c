"""Whether an earlier rule takes everything that a later one would. Pure, and careful: in doubt it does not."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import time

from forewarn.agent.policy import Rule, Whose


def covers(earlier: Rule, later: Rule) -> bool:
    """Whether every event that fits the later rule fits the earlier one too."""
    return (
        earlier.whose in {Whose.ANY, later.whose}
        and _has_all(earlier.types, later.types)
        and _has_all(earlier.sources, later.sources)
        and _has_all(earlier.resources, later.resources)
        and _is_no_higher(earlier.min_duration_seconds, later.min_duration_seconds)
        and _is_no_higher(earlier.min_resources, later.min_resources)
        and _is_no_lower(earlier.max_duration_seconds, later.max_duration_seconds)
        and _is_no_lower(earlier.max_resources, later.max_resources)
        and earlier.description in {"", later.description}
        and _spans(earlier.between, later.between)
    )


def _has_all(wide: Iterable[str], narrow: Iterable[str]) -> bool:
    """An empty list asks for nothing, and so has everything."""
    words = {each.lower() for each in wide}
    wanted = {each.lower() for each in narrow}
    return not words or (bool(wanted) and wanted <= words)


def _is_no_higher(wide: int | None, narrow: int | None) -> bool:
    return wide is None or (narrow is not None and wide <= narrow)


def _is_no_lower(wide: int | None, narrow: int | None) -> bool:
    return wide is None or (narrow is not None and wide >= narrow)


def _spans(wide: tuple[time, time] | None, narrow: tuple[time, time] | None) -> bool:
    if wide is None:
        return True
    if narrow is None:
        return False
    begin = _seconds_after(wide[0], narrow[0])
    return begin < _length(wide) and begin + _length(narrow) <= _length(wide)


def _length(span: tuple[time, time]) -> int:
    return _seconds_after(*span)


def _seconds_after(first: time, other: time) -> int:
    """How many seconds later in the day the other is, over midnight if need be."""
    return (_second(other) - _second(first)) % 86400


def _second(at: time) -> int:
    return at.hour * 3600 + at.minute * 60 + at.second

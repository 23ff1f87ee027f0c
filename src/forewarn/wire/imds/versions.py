"""The api-versions: which exist, and what each of them may see.

Members are additive and strictly gated: a caller of one version gets nothing that a later one introduced.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from forewarn.core.terms import Kind

_ALL_KINDS = frozenset(Kind)
_FIRST_KINDS = frozenset({Kind.FREEZE, Kind.REBOOT, Kind.REDEPLOY})


@dataclass(frozen=True, slots=True)
class EventsVersion:
    """One api-version of the scheduledevents category."""

    name: str
    index: int
    kinds: frozenset[Kind]
    members: tuple[str, ...] = ()  # what it has beyond the first six
    needs_header: bool = True
    prefixes_names: bool = False


_TABLE = (
    EventsVersion("2017-03-01", 0, _FIRST_KINDS, needs_header=False, prefixes_names=True),
    EventsVersion("2017-08-01", 1, _FIRST_KINDS),
    EventsVersion("2017-11-01", 2, _FIRST_KINDS | {Kind.PREEMPT}),
    EventsVersion("2019-01-01", 3, _ALL_KINDS),
    EventsVersion("2019-04-01", 4, _ALL_KINDS, ("Description",)),
    EventsVersion("2019-08-01", 5, _ALL_KINDS, ("Description", "EventSource")),
    EventsVersion("2020-07-01", 6, _ALL_KINDS, ("Description", "EventSource", "DurationInSeconds")),
)
EVENTS_VERSIONS = {version.name: version for version in _TABLE}
NEWEST_EVENTS_VERSIONS = [version.name for version in reversed(_TABLE)][:3]

# The instance category has a list of its own; it takes any date from the first on.
INSTANCE_VERSIONS = [
    "2017-03-01",
    "2017-04-02",
    "2017-08-01",
    "2017-10-01",
    "2017-12-01",
    "2018-02-01",
    "2018-04-02",
    "2018-10-01",
    "2019-02-01",
    "2019-03-11",
    "2019-04-30",
    "2019-06-01",
    "2019-06-04",
    "2019-08-01",
    "2019-08-15",
    "2019-11-01",
    "2020-06-01",
    "2020-07-15",
    "2020-09-01",
    "2020-10-01",
    "2020-12-01",
    "2021-01-01",
    "2021-02-01",
    "2021-03-01",
    "2021-05-01",
    "2021-10-01",
    "2021-11-01",
    "2021-11-15",
    "2021-12-13",
    "2023-07-01",
    "2023-11-15",
    "2024-03-15",
    "2024-07-17",
    "2024-10-01",
    "2025-04-07",
]
NEWEST_INSTANCE_VERSIONS = INSTANCE_VERSIONS[:-4:-1]
_FIRST_INSTANCE_VERSION = date(2017, 3, 1)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def is_instance_version(text: str) -> bool:
    """Whether the instance category answers this version: any real date from the first one on."""
    if _DATE.fullmatch(text) is None:
        return False
    try:
        return date.fromisoformat(text) >= _FIRST_INSTANCE_VERSION
    except ValueError:
        return False

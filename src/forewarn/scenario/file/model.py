"""The values of a scenario file, as they are written.

`checks.py` decides whether they make sense together. Times count from the scenario's start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal

from forewarn.core.fault import FaultRule
from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.refusal import Refusal
from forewarn.core.terms import Kind, Risk, Source, VmState
from forewarn.emulator import DEFAULT_START
from forewarn.wire.fault import parse_fault
from forewarn.wire.imds.versions import NEWEST_EVENTS_VERSIONS

END = timedelta.max  # the time of an expectation that is checked last
NO_EVENT = "none"
PhaseWord = Literal["Scheduled", "Started", "Completed", "Cancelled", "Failed", "none"]
GONE = "gone"  # what a guest sees of an event that is no longer in the document


class ActionKind(StrEnum):
    """The values of `do`."""

    RESTART = "restart"
    REDEPLOY = "redeploy"
    STOP = "stop"
    START = "start"
    DELETE = "delete"
    EVICT = "evict"
    SCALE = "scale"
    MAINTAIN = "maintain"
    DEGRADE = "degrade"
    FAIL = "fail"
    RECOVER = "recover"
    ROLLOUT = "rollout"
    APPROVE = "approve"
    CANCEL = "cancel"
    FAULT = "fault"
    CLEAR = "clear"


@dataclass(frozen=True, slots=True)
class Head:
    """`[scenario]`."""

    name: str = ""
    description: str = ""
    seed: int = 0
    start: datetime = DEFAULT_START
    length: timedelta | None = None
    enabled: bool = True


def _all_kinds() -> list[Kind]:
    return list(Kind)


@dataclass(frozen=True, slots=True)
class GuestScript:
    """`[[guests]]`."""

    vm: str
    name: str = ""
    every: timedelta = timedelta(seconds=1)
    starts: timedelta = timedelta(0)
    stops: timedelta | None = None
    version: str = NEWEST_EVENTS_VERSIONS[0]
    approve_after: timedelta | None = None
    approves: list[Kind] = field(default_factory=_all_kinds)
    others: bool = False
    conditional: bool = False
    timeout: timedelta = timedelta(seconds=5)
    outside: bool = False

    @property
    def title(self) -> str:
        """The guest's name in output and expectations."""
        return self.name or self.vm


@dataclass(frozen=True, slots=True)
class TimedAction:
    """`[[at]]`."""

    time: timedelta
    do: ActionKind
    vm: str | None = None
    host: str | None = None
    scale_set: str | None = None
    to: int | None = None
    hosts: list[str] = field(default_factory=list)
    kind: Kind | None = None
    by: Literal["pause", "live_migration"] | None = None
    duration_seconds: int | None = None
    notice: timedelta | None = None
    risk: Risk | None = None
    description: str | None = None
    recovery: timedelta | None = None
    who: str | None = None
    fault: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def by_live_migration(self) -> bool:
        """Whether VMs move to another host instead of being paused."""
        return self.by == "live_migration"

    @property
    def named_vm(self) -> str | None:
        """The VM that the action is about; a fault may name it in its options."""
        return self.vm if self.vm is not None or self.do is not ActionKind.FAULT else self.options.get("vm")

    def fault_rule(self, seed: int) -> FaultRule | Refusal:
        """The fault rule that the action adds, or what is wrong with it; `seed` is for chance."""
        rule = parse_fault({"name": self.fault, "vm": self.vm, **self.options})
        if isinstance(rule, Refusal) or "rate" not in self.options or "seed" in self.options:
            return rule
        return parse_fault({"name": self.fault, "vm": self.vm, "seed": seed, **self.options})


@dataclass(frozen=True, slots=True)
class Expectation:
    """`[[expect]]`."""

    time: timedelta = END
    vm: str | None = None
    kind: Kind | None = None
    phase: PhaseWord | None = None
    notice: timedelta | None = None
    not_before_in: timedelta | None = None
    approved_by: str | None = None
    description: str | None = None
    duration_seconds: int | None = None
    source: Source | None = None
    resources: list[str] | None = None
    fault: str | None = None
    count: int | None = None
    empty: bool | None = None
    events: int | None = None
    incarnation: int | None = None
    on: bool | None = None
    state: VmState | None = None
    host: str | None = None
    guest: str | None = None
    saw: list[str] | None = None
    status: int | None = None
    ids: int | None = None
    open: int | None = None


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a file: `FILE:LINE`."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole file."""

    head: Head
    fleet: FleetSpec
    settings: Mapping[str, Any]
    guests: list[GuestScript]
    actions: list[TimedAction]
    expectations: list[Expectation]
    action_lines: list[FileLine]
    expectation_lines: list[FileLine]

    @property
    def length(self) -> timedelta:
        """How long the scenario takes."""
        return self.last_time if self.head.length is None else self.head.length

    @property
    def last_time(self) -> timedelta:
        """The last time in the file."""
        times = [action.time for action in self.actions] + [
            each.time for each in self.expectations if each.time != END
        ]
        return max(times, default=timedelta(0))


@dataclass(frozen=True, slots=True)
class PartialEntry:
    """The readable rest of an entry with problems: its place in its section, and the values that fit."""

    section: str
    index: int
    values: Mapping[str, Any]


def clock_of(time: timedelta) -> str:
    """A time of the scenario for a reader: `0:15:00`, `168:00:00`, `0:00:00.5`."""
    seconds, rest = divmod(time, timedelta(seconds=1))
    hours, seconds = divmod(seconds, 3600)
    fraction = f".{rest.microseconds:06d}".rstrip("0") if rest else ""
    return f"{hours}:{seconds // 60:02d}:{seconds % 60:02d}{fraction}"

"""How much notice each kind gets, and in which words.

The least notice is a floor: more may be asked for, less is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

from forewarn.core.terms import Cause, Kind, Risk

LEAST_NOTICE: Mapping[Kind, timedelta] = MappingProxyType(
    {
        Kind.FREEZE: timedelta(minutes=15),
        Kind.REBOOT: timedelta(minutes=15),
        Kind.REDEPLOY: timedelta(minutes=10),
        Kind.PREEMPT: timedelta(seconds=30),
        Kind.TERMINATE: timedelta(minutes=5),
    }
)
TERMINATE_NOTICE_RANGE = (timedelta(minutes=5), timedelta(minutes=15))
DEGRADED_NOTICE = timedelta(days=7)
RISK_NOTICE: Mapping[Risk, timedelta] = MappingProxyType(
    {
        Risk.LOW: DEGRADED_NOTICE,
        Risk.HIGH: timedelta(days=1),
        Risk.IMMINENT: timedelta(0),  # that is, the least of a Redeploy
    }
)
LAST_CALL = timedelta(minutes=5)  # before NotBefore; from then on nothing is postponed any more

HOST_MAINTENANCE = "Host server is undergoing maintenance."
LIVE_MIGRATION = "Virtual machine is being paused because of a memory-preserving Live Migration operation."
EMERGENCY_REPAIR = "Host server is undergoing an emergency repair."
DESCRIPTIONS: Mapping[Cause, str] = MappingProxyType(
    {
        Cause.RESTART: "Virtual machine is going to be restarted as requested by authorized user.",
        Cause.REDEPLOY: "Virtual machine is going to be redeployed as requested by authorized user.",
        Cause.REIMAGE: "Virtual machine is going to be reimaged as requested by authorized user.",
        Cause.DELETE: "",
        Cause.EVICT: "",
        Cause.MAINTAIN: HOST_MAINTENANCE,
        Cause.DEGRADE: EMERGENCY_REPAIR,
        Cause.FAIL: "Virtual machine has encountered a failure.",
    }
)

FREEZE_SECONDS = 9
LIVE_MIGRATION_SECONDS = 5
UNKNOWN_SECONDS = -1

USUAL_SECONDS: Mapping[Kind, int] = MappingProxyType({Kind.FREEZE: 9, Kind.REBOOT: 60, Kind.REDEPLOY: 120})


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers that the rules go by; operators may set them."""

    lead: timedelta = timedelta(seconds=5)
    silence: timedelta = timedelta(hours=24)
    user_operation_limit: int = 100  # 0: none
    resets_incarnation: bool = False  # True: a scope that comes on again starts counting at 1, as on Azure
    failed_host_kind: Kind = Kind.REDEPLOY
    action_limit: timedelta = timedelta(minutes=30)  # an action with no outcome after this has failed
    sick_host_percent: float = 10.0  # of declared hosts may be called sick at once; 0: any number
    postpone_limit: timedelta = timedelta(days=7)  # after the NotBefore that the platform gave
    least_notice: Mapping[Kind, timedelta] = field(default_factory=lambda: LEAST_NOTICE)
    usual_seconds: Mapping[Kind, int] = field(default_factory=lambda: USUAL_SECONDS)  # where nobody says


def planned_seconds(kind: Kind, *, by_live_migration: bool) -> int:
    """The duration that planned work announces where the request names none."""
    if by_live_migration:
        return LIVE_MIGRATION_SECONDS
    return FREEZE_SECONDS if kind is Kind.FREEZE else UNKNOWN_SECONDS


def notice_ends(now: datetime, notice: timedelta) -> datetime:
    """The first whole second by which `notice` has been given."""
    ends = now + notice
    return ends if ends.microsecond == 0 else ends.replace(microsecond=0) + timedelta(seconds=1)


def in_words(duration: timedelta) -> str:
    """A length of time for a reader: `15 min`, `30 s`, `7 days`."""
    seconds = round(duration.total_seconds())
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"

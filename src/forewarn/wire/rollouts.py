"""Rollouts as operators write and read them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, time, timedelta, tzinfo
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

import msgspec

from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.rollouts import Plan, RolloutWish
from forewarn.core.rollout import Rollout, RolloutState, Turn, TurnState
from forewarn.core.rollout_plan import Selection
from forewarn.core.terms import Kind
from forewarn.core.window import DAYS, Window
from forewarn.wire.rest import ONE_LINE, Instant

_DAY = timedelta(days=1)
_LARGEST_NUMBER = 1_000_000
_YEAR_SECONDS = 366 * 86400
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
_Number = Annotated[int, msgspec.Meta(ge=-_LARGEST_NUMBER, le=_LARGEST_NUMBER)]
_Seconds = Annotated[int, msgspec.Meta(ge=0, le=_YEAR_SECONDS)]
_Name = Annotated[str, msgspec.Meta(min_length=1)]
_Day = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


class WindowBody(msgspec.Struct, forbid_unknown_fields=True, rename={"from_": "from"}):
    """The hours in which machines may be touched."""

    from_: Annotated[str, msgspec.Meta(description="HH:MM")]
    to: Annotated[str, msgspec.Meta(description="HH:MM; the next day, if that is not later than `from`")]
    days: Annotated[list[_Day], msgspec.Meta(description="on which it opens; without them, every day")] = []
    timezone: Annotated[str, msgspec.Meta(description="a name of the tz database, like Europe/Berlin")] = "UTC"
    blackout: Annotated[list[date], msgspec.Meta(description="dates on which nothing is touched")] = []


class RolloutBody(msgspec.Struct, forbid_unknown_fields=True):
    """Work over many hosts."""

    kind: Literal["Freeze", "Reboot", "Redeploy"]
    hosts: Annotated[list[_Name] | None, msgspec.Meta(description="by name; without it, all")] = None
    zones: Annotated[list[_Name] | None, msgspec.Meta(description="only hosts of these zones")] = None
    tags: Annotated[dict[str, str] | None, msgspec.Meta(description="only hosts that have all of these")] = None
    by: Annotated[Literal["pause", "live_migration"], msgspec.Meta(description="how a Freeze is done")] = "pause"
    duration_seconds: Annotated[
        Annotated[int, msgspec.Meta(ge=-1, le=86400)] | None,
        msgspec.Meta(
            description="how long VMs are away; without it 9 for a Freeze, 5 by live migration, else -1: unknown"
        ),
    ] = None
    notice_seconds: Annotated[
        _Seconds | None, msgspec.Meta(description="without it the least of the kind; less is refused")
    ] = None
    description: Annotated[
        Annotated[str, msgspec.Meta(max_length=1000, pattern=ONE_LINE)] | None,
        msgspec.Meta(description="what guests read, in one line; without it the usual sentence"),
    ] = None
    max_parallel: Annotated[_Number, msgspec.Meta(description="hosts that are at work at once")] = 10
    max_parallel_per_zone: Annotated[_Number | None, msgspec.Meta(description="the same, in one zone")] = None
    recovery_seconds: Annotated[
        _Seconds, msgspec.Meta(description="from the end in one update domain of a set to the start in another")
    ] = 1800
    soak_seconds: Annotated[
        _Seconds, msgspec.Meta(description="from the end of a wave until its health is asked for")
    ] = 0
    health_wait_seconds: Annotated[
        _Seconds, msgspec.Meta(description="how long an unhealthy wave is waited for before it counts")
    ] = 600
    max_failures: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=_LARGEST_NUMBER)],
        msgspec.Meta(description="hosts that may fail; one more pauses it"),
    ] = 0
    max_unhealthy_percent: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=100)],
        msgspec.Meta(description="of the last wave's VMs; more of them pause it"),
    ] = 0
    window: Annotated[WindowBody | None, msgspec.Meta(description="without it, at any hour")] = None
    force_by: Annotated[
        Instant | None, msgspec.Meta(description="from then on neither the window nor owners' limits hold it")
    ] = None


def read_wish(body: RolloutBody) -> RolloutWish | Refusal:
    """What the body asks for."""
    window = None if body.window is None else _window(body.window)
    if isinstance(window, Refusal):
        return window
    for name, given in (("hosts", body.hosts), ("zones", body.zones), ("tags", body.tags)):
        if given is not None and not given:
            return Refusal(
                Code.BAD_REQUEST, f"The rollout names no host: {name} is empty.", f"Leave {name} out to mean all."
            )
    return RolloutWish(
        kind=Kind(body.kind),
        selection=Selection(tuple(body.hosts or ()), tuple(body.zones or ()), body.tags or {}),
        by_live_migration=body.by == "live_migration",
        duration_seconds=body.duration_seconds,
        notice=None if body.notice_seconds is None else timedelta(seconds=body.notice_seconds),
        description=body.description or "",
        max_parallel=body.max_parallel,
        max_parallel_per_zone=body.max_parallel_per_zone,
        recovery=timedelta(seconds=body.recovery_seconds),
        soak=timedelta(seconds=body.soak_seconds),
        health_wait=timedelta(seconds=body.health_wait_seconds),
        max_failures=body.max_failures,
        max_unhealthy_percent=body.max_unhealthy_percent,
        window=window,
        force_by=None if body.force_by is None else body.force_by.astimezone(UTC),
    )


def _window(body: WindowBody) -> Window | Refusal:
    zone = _zone(body.timezone)
    if isinstance(zone, Refusal):
        return zone
    for name, text in (("from", body.from_), ("to", body.to)):
        if not _CLOCK.fullmatch(text):
            return Refusal(
                Code.BAD_REQUEST,
                f"window.{name} is {text!r}, which is no time of day.",
                "Write hours and minutes with two digits each, 00:00 to 23:59.",
            )
    opens, closes = time.fromisoformat(body.from_), time.fromisoformat(body.to)
    length = timedelta(hours=closes.hour - opens.hour, minutes=closes.minute - opens.minute) % _DAY
    return Window(opens, length or _DAY, tuple(body.days) or DAYS, zone, tuple(sorted(body.blackout)))


def _zone(name: str) -> tzinfo | Refusal:
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # not a name, a directory, or not found
        pass
    return Refusal(
        Code.BAD_REQUEST,
        f"window.timezone is {name!r}, which is no time zone.",
        "Use a name of the tz database, like Europe/Berlin, or UTC.",
    )


class PreviewRow(msgspec.Struct):
    """One host: when its VMs are announced, and touched at the latest."""

    host: str
    zone: str | None
    wave: int
    vms: list[str]
    announce_at: Instant
    latest_start: Instant
    latest_end: Instant
    usual_end: Instant


class PreviewView(msgspec.Struct):
    """A whole rollout before anything is scheduled."""

    kind: Kind
    hosts_total: int
    vms_total: int
    waves: int
    begins_at: Instant
    usual_end: Instant
    latest_end: Instant
    hosts: list[PreviewRow]


def preview_view(plan: Plan) -> PreviewView:
    """The plan, host by host."""
    rows = [
        PreviewRow(
            row.stop.host.name,
            row.stop.host.zone,
            row.stop.wave + 1,
            list(row.stop.vms),
            row.announce_at,
            row.latest_start,
            row.latest_end,
            row.usual_end,
        )
        for row in plan.rows
    ]
    return PreviewView(
        kind=plan.work.kind,
        hosts_total=len(rows),
        vms_total=sum(len(row.vms) for row in rows),
        waves=plan.waves,
        begins_at=min(row.announce_at for row in rows),
        usual_end=max(row.usual_end for row in rows),
        latest_end=max(row.latest_end for row in rows),
        hosts=rows,
    )


class RolloutView(msgspec.Struct):
    """A rollout, and how far it is."""

    id: str
    state: RolloutState
    kind: Kind
    hosts_done: int
    hosts_total: int
    hosts_failed: int
    hosts_skipped: int
    hosts_open: list[str]
    wave: int | None
    waves: int
    waiting_for: list[str]
    reason: str
    asked_by: str
    created_at: Instant
    ended_at: Instant | None
    max_parallel: int
    max_parallel_per_zone: int | None
    notice_seconds: int
    duration_seconds: int
    recovery_seconds: int
    soak_seconds: int
    health_wait_seconds: int
    max_failures: int
    max_unhealthy_percent: int
    window: str | None
    force_by: Instant | None


class TurnView(msgspec.Struct):
    """One host's turn."""

    rollout: str
    host: str
    zone: str | None
    wave: int
    state: TurnState
    operation: str | None
    announced_at: Instant | None
    ended_at: Instant | None
    reason: str


def turn_view(turn: Turn) -> TurnView:
    """A turn, waves counted from 1."""
    return TurnView(
        turn.rollout,
        turn.host,
        turn.zone,
        turn.wave + 1,
        turn.state,
        turn.operation,
        turn.announced_at,
        turn.ended_at,
        turn.reason,
    )


def rollout_view(
    rollout: Rollout,
    counts: Mapping[TurnState, int],
    *,
    wave: int | None = None,
    hosts_open: Sequence[str] = (),
    waiting_for: Sequence[str] = (),
) -> RolloutView:
    """A rollout, waves counted from 1."""
    work = rollout.work
    return RolloutView(
        id=rollout.id,
        state=rollout.state,
        kind=work.kind,
        hosts_done=sum(count for state, count in counts.items() if state.has_ended),
        hosts_total=rollout.hosts,
        hosts_failed=counts.get(TurnState.FAILED, 0),
        hosts_skipped=counts.get(TurnState.SKIPPED, 0),
        hosts_open=list(hosts_open),
        wave=None if wave is None else wave + 1,
        waves=rollout.waves,
        waiting_for=list(waiting_for),
        reason=rollout.reason,
        asked_by=rollout.asked_by,
        created_at=rollout.created_at,
        ended_at=rollout.ended_at,
        max_parallel=work.max_parallel,
        max_parallel_per_zone=work.max_parallel_per_zone,
        notice_seconds=_whole(work.notice),
        duration_seconds=work.duration_seconds,
        recovery_seconds=_whole(work.recovery),
        soak_seconds=_whole(work.soak),
        health_wait_seconds=_whole(work.health_wait),
        max_failures=work.max_failures,
        max_unhealthy_percent=work.max_unhealthy_percent,
        window=work.window.in_words() if work.window else None,
        force_by=work.force_by,
    )


def _whole(length: timedelta) -> int:
    return round(length.total_seconds())

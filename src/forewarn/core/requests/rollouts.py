"""Requests that concern a rollout: preview, start, pause, resume, abort.

What a preview refuses a start refuses too: both are made from the same plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from forewarn.core.draft import Draft
from forewarn.core.holds import clock_time
from forewarn.core.notice import Limits, planned_seconds
from forewarn.core.placement import in_one_zone
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.hosts import too_long, too_short
from forewarn.core.rollout import Rollout, RolloutState, Turn, Work
from forewarn.core.rollout_course import call_off_all, stop_for_now
from forewarn.core.rollout_plan import (
    Forecast,
    Selection,
    Stop,
    forecast,
    lay_out,
    select_hosts,
    usual_length,
)
from forewarn.core.terms import Condition, Kind
from forewarn.core.window import Window
from forewarn.core.world import World

_FARTHEST = timedelta(days=3660)  # a force-by date beyond it is a slip of the pen


@dataclass(frozen=True, slots=True)
class RolloutWish:
    """What somebody wants rolled out, before anybody has looked whether it can be."""

    kind: Kind
    selection: Selection = field(default_factory=Selection)
    by_live_migration: bool = False
    duration_seconds: int | None = None
    notice: timedelta | None = None
    description: str = ""
    max_parallel: int = 10
    max_parallel_per_zone: int | None = None
    recovery: timedelta = timedelta(minutes=30)
    soak: timedelta = timedelta(0)
    health_wait: timedelta = timedelta(minutes=10)
    max_failures: int = 0
    max_unhealthy_percent: int = 0
    window: Window | None = None
    force_by: datetime | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A rollout that can be: its work, its hosts in order, and what will be when."""

    work: Work
    stops: Sequence[Stop]
    rows: Sequence[Forecast]

    @property
    def waves(self) -> int:
        """How many waves there are."""
        return self.stops[-1].wave + 1


def plan_rollout(world: World, wish: RolloutWish, now: datetime, limits: Limits) -> Plan | Refusal:
    """The rollout from beginning to end, or why it cannot be."""
    if (
        refusal := _bad_limits(wish, now)
        or too_short(wish.kind, wish.notice, limits)
        or too_long(wish.duration_seconds, limits)
    ):
        return refusal
    hosts = select_hosts(world, wish.selection)
    if isinstance(hosts, Refusal):
        return hosts
    work = _work(wish, limits)
    stops = lay_out(world, hosts)
    if wish.force_by is None and (refusal := _breaks_a_minimum(stops)):
        return refusal
    if wish.by_live_migration and (refusal := _cannot_migrate(world, stops)):
        return refusal
    rows = forecast(stops, work, now, limits)
    return rows if isinstance(rows, Refusal) else Plan(work, stops, rows)


def _breaks_a_minimum(stops: Sequence[Stop]) -> Refusal | None:
    """A host that holds more of a set than its minimum can ever spare."""
    for stop in stops:
        for name, (here, spare) in stop.spare.items():
            if here > spare:
                return Refusal(
                    Code.NOT_ALLOWED,
                    f"{stop.host.name} holds {here} VMs of {name}, and its minimum lets {max(spare, 0)} be away "
                    "at once: the rollout would wait there for ever.",
                    f"Leave {stop.host.name} out, move VMs away, lower min_available of {name}, or set force_by.",
                )
    return None


def _cannot_migrate(world: World, stops: Sequence[Stop]) -> Refusal | None:
    """A VM that no other host could take, whatever is under way now: none that is well is in its zone."""
    well = [host for host in world.hosts.values() if host.condition is Condition.UP]
    names = {host.name for host in well}
    in_zone = Counter(host.zone for host in well)
    for stop in stops:
        for vm in map(world.vms.__getitem__, stop.vms):
            fitting = len(well) if vm.zone is None else in_zone[vm.zone] + in_zone[None]
            own = stop.host.name in names and in_one_zone(vm, stop.host)
            if fitting - own < 1:
                where = "" if vm.zone is None else f" in zone {vm.zone}"
                return Refusal(
                    Code.NOT_ALLOWED,
                    f"{vm.name} cannot be migrated off {stop.host.name}: no other host{where} is up.",
                    f'Ask for by "pause", leave {stop.host.name} out, or add a host.',
                )
    return None


def _work(wish: RolloutWish, limits: Limits) -> Work:
    default_seconds = planned_seconds(wish.kind, by_live_migration=wish.by_live_migration)
    seconds = default_seconds if wish.duration_seconds is None else wish.duration_seconds
    return Work(
        kind=wish.kind,
        by_live_migration=wish.by_live_migration,
        duration_seconds=seconds,
        notice=wish.notice or limits.least_notice[wish.kind],
        description=wish.description,
        max_parallel=wish.max_parallel,
        max_parallel_per_zone=wish.max_parallel_per_zone,
        recovery=wish.recovery,
        soak=wish.soak,
        health_wait=wish.health_wait,
        max_failures=wish.max_failures,
        max_unhealthy_percent=wish.max_unhealthy_percent,
        expected=usual_length(wish.kind, seconds, limits),
        window=wish.window,
        force_by=wish.force_by,
    )


def _bad_limits(wish: RolloutWish, now: datetime) -> Refusal | None:
    for name, limit in (
        ("max_parallel", wish.max_parallel),
        ("max_parallel_per_zone", wish.max_parallel_per_zone),
    ):
        if limit is not None and limit < 1:
            return Refusal(
                Code.BAD_REQUEST, f"{name} is {limit}: no host would ever get its turn.", "Ask for 1 or more."
            )
    if wish.by_live_migration and wish.kind is not Kind.FREEZE:
        return Refusal(
            Code.BAD_REQUEST,
            f"A live migration is felt as a Freeze, not as a {wish.kind}.",
            'Ask for kind "Freeze" with by "live_migration".',
        )
    if wish.force_by is not None and wish.force_by <= now:
        return Refusal(
            Code.BAD_REQUEST,
            f"force_by is {clock_time(wish.force_by, now)}, which has passed.",
            "Ask for a date that is still to come, or for none.",
        )
    if wish.force_by is not None and wish.force_by > now + _FARTHEST:
        return Refusal(
            Code.BAD_REQUEST,
            f"force_by is {wish.force_by:%Y-%m-%d}, which is more than {_FARTHEST.days} days ahead.",
            "Ask for a nearer date, or for none.",
        )
    return None


def start_rollout(draft: Draft, wish: RolloutWish, rollout: str, limits: Limits) -> Refusal | None:
    """Begin a rollout: its hosts get their turns; the first are announced by the next tick."""
    plan = plan_rollout(draft.world, wish, draft.now, limits)
    if isinstance(plan, Refusal):
        return plan
    if refusal := is_open_already(draft.world, plan):
        return refusal
    draft.put(Rollout(rollout, plan.work, draft.actor, draft.now, waves=plan.waves, hosts=len(plan.stops)))
    for position, stop in enumerate(plan.stops):
        draft.put(Turn(rollout, stop.host.name, stop.wave, position, stop.host.zone))
    draft.note("start rollout", subject=rollout, detail=f"{plan.work.kind} of {len(plan.stops)} hosts")
    return None


def is_open_already(world: World, plan: Plan) -> Refusal | None:
    """No, if an open rollout does the same work on the same hosts: somebody has sent the request twice."""
    wanted = {stop.host.name for stop in plan.stops}
    for other in world.rollouts.values():
        if other.state.is_open and other.work == plan.work and world.book_of(other.id).turns.keys() == wanted:
            verb = "resume" if other.state is RolloutState.PAUSED else "watch"
            return Refusal(
                Code.BUSY,
                f"The same rollout is already open: {other.title}, {other.state}, started by {other.asked_by}.",
                f"Go on with it: forewarn rollout {verb} {other.short_id}. Or abort it first: forewarn rollout "
                f"abort {other.short_id}.",
            )
    return None


def _find(world: World, rollout: str) -> Rollout | Refusal:
    found = world.rollouts.get(rollout)
    if found is None:
        return Refusal(
            Code.ILLEGAL_STEP, f"Rollout {rollout} is not open; nothing can be changed.", "forewarn rollout list"
        )
    return found


def has_ended(rollout: Rollout, participle: str) -> Refusal:
    """No: the rollout is over, and nothing of it comes again."""
    why = f" ({rollout.reason})" if rollout.reason else ""
    return Refusal(
        Code.ILLEGAL_STEP,
        f"The {rollout.title} is {rollout.state}{why}; it cannot be {participle}.",
        f"Start another, or see what it did: forewarn rollout show {rollout.short_id}",
    )


def pause(draft: Draft, rollout: str, reason: str) -> Refusal | None:
    """Call off what is announced, let what has started finish, and begin nothing more for now."""
    found = _find(draft.world, rollout)
    if isinstance(found, Refusal):
        return found
    if not found.state.is_open:
        return has_ended(found, "paused")
    if found.state is not RolloutState.RUNNING:
        return Refusal(
            Code.ILLEGAL_STEP,
            f"The {found.title} is {found.state}; it cannot be paused.",
            f"forewarn rollout show {found.short_id}",
        )
    stop_for_now(draft, found, reason or f"paused by {draft.actor}")
    return None


def resume(draft: Draft, rollout: str, *, anyway: bool) -> Refusal | None:
    """Go on: what was called off is announced anew. `anyway` lets the next wave begin beside unhealthy VMs."""
    found = _find(draft.world, rollout)
    if isinstance(found, Refusal):
        return found
    if not found.state.is_open:
        return has_ended(found, "resumed")
    if found.state is not RolloutState.PAUSED:
        return Refusal(
            Code.ILLEGAL_STEP,
            f"The {found.title} is {found.state}; only a paused one can be resumed.",
            f"forewarn rollout show {found.short_id}",
        )
    book = draft.world.book_of(rollout)
    waived = book.wave if anyway and book.wave is not None else found.waived_wave
    draft.put(
        replace(
            found,
            state=RolloutState.RUNNING,
            reason="",
            forgiven=len(book.failed),
            resumed_at=draft.now,
            waived_wave=waived,
        )
    )
    draft.note("resume rollout", subject=rollout, detail="anyway" if anyway else "")
    return None


def abort(draft: Draft, rollout: str, reason: str) -> Refusal | None:
    """End it for good: what is announced is called off, what has started finishes, nothing comes again."""
    found = _find(draft.world, rollout)
    if isinstance(found, Refusal):
        return found
    if not found.state.is_open:
        return has_ended(found, "aborted")
    why = reason or f"aborted by {draft.actor}"
    draft.put(replace(found, state=RolloutState.ABORTED, ended_at=draft.now, reason=why))
    draft.note("abort rollout", subject=rollout, detail=why)
    call_off_all(draft, found, f"the rollout is aborted: {why}")
    return None

"""Hosts that are expected to fail: their VMs are to leave in good time, sooner when the risk grows.

One sick host is one incident: who reports it again is answered with the move that is announced already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from forewarn.core.draft import Draft
from forewarn.core.fleet import Host
from forewarn.core.holds import clock_time
from forewarn.core.notice import DEGRADED_NOTICE, RISK_NOTICE, Limits, in_words, notice_ends
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.find import find_host
from forewarn.core.requests.hosts import too_short, vms_on, work_on
from forewarn.core.steps import announce, move
from forewarn.core.terms import Action, Cause, Condition, Kind, Risk
from forewarn.core.world import World

LEAST_SICK_HOSTS = 5  # may be called sick in a fleet of any size
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Degradation:
    """How soon a host is expected to fail: by a notice, by a risk, or by neither, which is a week."""

    notice: timedelta | None = None
    risk: Risk | None = None
    anyway: bool = False  # however many hosts are sick


def degrade(draft: Draft, name: str, asked: Degradation, operation: str, limits: Limits) -> Refusal | None:
    """Announce that a host's VMs are to be redeployed; pull nearer what is announced already.

    Nothing is written where the report says nothing new.
    """
    host = find_host(draft.world, name)
    if isinstance(host, Refusal):
        return host
    if host.condition is Condition.FAILED:
        return Refusal(Code.NOT_ALLOWED, f"{name} has failed already.", f"forewarn host recover {name}")
    notice = _notice_of(asked, limits)
    if isinstance(notice, Refusal):
        return notice
    if (incident := incident_on(draft.world, name)) is not None:
        _pull_nearer(draft, incident, notice, asked)
        return None
    if host.condition is Condition.DEGRADED and not vms_on(draft, host):
        return None
    if host.condition is Condition.UP and not asked.anyway and (refusal := _too_many(draft.world, host, limits)):
        return refusal
    announce_move(draft, host, notice, operation)
    return None


def announce_move(draft: Draft, host: Host, notice: timedelta, operation: str) -> None:
    """Call the host degraded, and say when its VMs leave it."""
    draft.put(replace(host, condition=Condition.DEGRADED))
    work = work_on(draft, host, Cause.DEGRADE, Action.REDEPLOY, Kind.REDEPLOY, operation)
    announce(draft, work, vms_on(draft, host), notice)


def announce_again(draft: Draft, name: str, operation: str) -> Refusal | None:
    """Announce the move off a host that is called degraded already, whatever was announced before."""
    host = find_host(draft.world, name)
    if isinstance(host, Refusal):
        return host
    announce_move(draft, host, DEGRADED_NOTICE, operation)
    return None


def incident_on(world: World, host: str) -> Operation | None:
    """The move off a degraded host that is open, if there is one."""
    return next((each for each in world.operations_on_host(host) if each.cause is Cause.DEGRADE), None)


def _notice_of(asked: Degradation, limits: Limits) -> timedelta | Refusal:
    """How long ahead the VMs are told, from now."""
    if asked.risk is not None and asked.notice is not None:
        return Refusal(Code.BAD_REQUEST, "A risk and a notice cannot both be given.", "Give one of them.")
    if asked.risk is not None:
        return max(RISK_NOTICE[asked.risk], limits.least_notice[Kind.REDEPLOY])
    notice = DEGRADED_NOTICE if asked.notice is None else asked.notice
    if refusal := too_short(Kind.REDEPLOY, notice, limits):
        return refusal
    if notice > DEGRADED_NOTICE:
        return Refusal(
            Code.NOT_ALLOWED,
            f"A degraded host gets at most {in_words(DEGRADED_NOTICE)} of notice; "
            f"{in_words(notice)} was asked for.",
            f"Ask for {in_words(DEGRADED_NOTICE)} or less.",
        )
    return notice


def _pull_nearer(draft: Draft, incident: Operation, notice: timedelta, asked: Degradation) -> None:
    """Let every event of a move that has not started end its notice sooner; none ever ends later by this."""
    not_before = notice_ends(draft.now, notice)
    late = [
        event
        for event in draft.events_of(incident.id)
        if event.phase is Phase.SCHEDULED and event.lapses_at > not_before
    ]
    if not late:
        return
    for event in late:
        draft.put(replace(move(draft, event, not_before), postponed_from=None))
    before = max(event.lapses_at for event in late)
    detail = _why(asked, notice, not_before, before, draft.now)
    draft.note("pull nearer", operation=incident.id, subject=incident.host or "", detail=detail)


def _why(asked: Degradation, notice: timedelta, not_before: datetime, before: datetime, now: datetime) -> str:
    said = f"the risk is {asked.risk}" if asked.risk else f"it was given {in_words(notice)}"
    return f"{said}: not before {clock_time(not_before, now)} instead of {clock_time(before, now)}"


def _too_many(world: World, host: Host, limits: Limits) -> Refusal | None:
    """The circuit breaker: when many hosts are called sick at once, it is more likely that who says so errs."""
    if not limits.sick_host_percent:
        return None
    declared = sum(each.is_declared for each in world.hosts.values())
    limit = max(LEAST_SICK_HOSTS, int(declared * limits.sick_host_percent / 100))
    sick = [each for each in world.hosts.values() if each.condition is not Condition.UP]
    if len(sick) < limit:
        return None
    names = ", ".join(f"{each.name} ({each.condition})" for each in sick[:_MOST_NAMED])
    more = f" and {len(sick) - _MOST_NAMED} more" if len(sick) > _MOST_NAMED else ""
    return Refusal(
        Code.LIMIT_REACHED,
        f"{host.name} is not called degraded: {len(sick)} hosts are sick already, {names}{more}, and the limit is "
        f"{limit} ({limits.sick_host_percent:g} % of {declared} hosts, and never fewer than {LEAST_SICK_HOSTS}).",
        "See whether they are: forewarn host list. Recover those that are well, or say it with --anyway.",
    )

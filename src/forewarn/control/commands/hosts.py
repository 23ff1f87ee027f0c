"""Commands on hosts."""

from __future__ import annotations

from functools import partial

from forewarn.control.commit import Accepted, CommandTarget, Committed
from forewarn.core.refusal import Refusal
from forewarn.core.requests import degraded, hosts, reclaim
from forewarn.core.requests.degraded import Degradation
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.terms import Cause, Kind
from forewarn.store import history


def maintain_host(plane: CommandTarget, host: str, asked: Maintenance, actor: str) -> Accepted | Refusal:
    """Announce planned work on a host."""
    operation = plane.new_id()
    outcome = plane.commit(actor, lambda draft: hosts.maintain(draft, host, asked, operation, plane.limits))
    return outcome if isinstance(outcome, Refusal) else outcome.accepted(operation)


def degrade_host(plane: CommandTarget, host: str, asked: Degradation, actor: str) -> Accepted | Refusal:
    """Announce that a host is expected to fail; a repeated report gets the operation that there is."""
    operation = plane.new_id()
    write = partial(degraded.degrade, name=host, asked=asked, operation=operation, limits=plane.limits)
    outcome = plane.commit(actor, write)
    if isinstance(outcome, Refusal):
        return outcome
    incident = degraded.incident_on(plane.world, host)
    if incident is None:
        return _past_incident(plane, host, operation, actor)
    return Accepted(incident, tuple(plane.world.events_of(incident.id)))


def _past_incident(plane: CommandTarget, host: str, operation: str, actor: str) -> Accepted | Refusal:
    """The move that has emptied a degraded host; where nobody remembers it, one that has nothing to do."""
    with plane.store.transaction() as transaction:
        past = history.last_on_host(transaction.connection, host, Cause.DEGRADE)
        events = history.events_of(transaction.connection, past.id) if past else []
    if past is not None:
        return Accepted(past, tuple(events))
    outcome = plane.commit(actor, lambda draft: degraded.announce_again(draft, host, operation))
    return outcome if isinstance(outcome, Refusal) else outcome.accepted(operation)


def fail_host(plane: CommandTarget, host: str, actor: str, kind: Kind | None = None) -> Accepted | Refusal:
    """Report that a host has failed."""
    operation = plane.new_id()
    outcome = plane.commit(actor, lambda draft: hosts.fail(draft, host, operation, plane.limits, kind))
    return outcome if isinstance(outcome, Refusal) else outcome.accepted(operation)


def recover_host(plane: CommandTarget, host: str, actor: str) -> Committed | Refusal:
    """Report that a host is well again."""
    return plane.commit(actor, lambda draft: hosts.recover(draft, host))


def reclaim_capacity(plane: CommandTarget, host: str, count: int, actor: str) -> list[Accepted] | Refusal:
    """Evict so many Spot VMs from a host: all of them, or none."""
    batch = plane.new_id()
    outcome = plane.commit(
        actor, lambda draft: reclaim.reclaim(draft, host, count, plane.new_id, plane.limits, batch)
    )
    if isinstance(outcome, Refusal):
        return outcome
    return [outcome.accepted(each.id) for each in outcome.operations if each.batch == batch]

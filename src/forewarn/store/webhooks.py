"""Webhooks, and what they have still to be told: the outbox.

A delivery is written in the commit that it tells of, and goes when it has arrived; one that was given up stays, as
a dead letter. A webhook's secret has to be readable, since it signs; it is in no value that is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from forewarn.core.bulletin import Owner
from forewarn.core.fleet import AvailabilitySet, CloudService, ScaleSet, Vm
from forewarn.core.scope import ScopeKind
from forewarn.core.world import AuditEntry
from forewarn.store.codec import Codec, micros
from forewarn.store.sql import Transaction
from forewarn.store.tables import TABLE_OF, deeds, deliveries, scopes, webhooks

DELIVERIES_PER_COMMIT = 1 << 20


class Format(StrEnum):
    """In which form a webhook is told."""

    CLOUDEVENTS = "cloudevents"
    EVENTGRID = "eventgrid"


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that is told of events."""

    id: str
    url: str
    format: Format
    secret: str
    kinds: tuple[str, ...]  # only events of these kinds; none: of all
    scopes: tuple[str, ...]  # only events of these scopes; none: of all
    created_at: datetime
    created_by: str

    def __repr__(self) -> str:
        return f"<Webhook {self.id}>"

    @property
    def shown_url(self) -> str:
        """The address without its query, which may hold a key."""
        address, mark, _ = self.url.partition("?")
        return f"{address}?..." if mark else address


@dataclass(frozen=True, slots=True)
class Delivery:
    """One thing that one webhook is to be told."""

    number: int  # in the order in which things happened, over restarts too
    webhook: str
    message: str  # the id of what is told, the same in every form and at every try
    event: str
    phase: str  # that is told
    body: str
    made_at: datetime
    tries: int = 0
    problem: str = ""  # why the last try failed
    dead_at: datetime | None = None  # when it was given up


_WEBHOOKS = Codec(Webhook)
_DELIVERIES = Codec(Delivery)
_DEEDS = Codec(AuditEntry)
_SET_OF = {
    ScopeKind.AVAILABILITY_SET: AvailabilitySet,
    ScopeKind.PLACEMENT_GROUP: ScaleSet,
    ScopeKind.CLOUD_SERVICE: CloudService,
}


def _row(codec: Codec[Any], value: object) -> dict[str, Any]:
    return dict(zip(codec.columns, codec.encode(value), strict=True))


def read(transaction: Transaction) -> list[Webhook]:
    """All there are, the oldest first."""
    rows = transaction.connection.execute(sa.select(webhooks))
    return sorted((_WEBHOOKS.decode(row) for row in rows), key=oldest_first)


def oldest_first(webhook: Webhook) -> tuple[datetime, str]:
    """By which webhooks are in order, the same in the store and out of it: of one instant, by their id."""
    return webhook.created_at, webhook.id


def add(transaction: Transaction, webhook: Webhook, deed: AuditEntry) -> None:
    """Keep a new one, and who added it."""
    transaction.connection.execute(webhooks.insert().values(_row(_WEBHOOKS, webhook)))
    _write_deed(transaction, deed)


def remove(transaction: Transaction, webhook: str, deed: AuditEntry) -> None:
    """Forget one with all that it has not been told, and keep who removed it."""
    transaction.connection.execute(webhooks.delete().where(webhooks.c.id == webhook))
    transaction.connection.execute(deliveries.delete().where(deliveries.c.webhook == webhook))
    _write_deed(transaction, deed)


def _write_deed(transaction: Transaction, deed: AuditEntry) -> None:
    transaction.connection.execute(deeds.insert().values(_row(_DEEDS, deed)))


# Deliveries.


def queue(transaction: Transaction, made: Sequence[Delivery]) -> None:
    """Keep what webhooks are to be told, with the commit that it tells of."""
    if made:
        transaction.connection.execute(deliveries.insert(), [_row(_DELIVERIES, each) for each in made])


def waiting(transaction: Transaction, since: int = 0) -> list[Delivery]:
    """What has not arrived and is not given up, from the one numbered `since` on, the oldest first."""
    query = sa.select(deliveries).where(deliveries.c.number > since, deliveries.c.dead_at.is_(None))
    rows = transaction.connection.execute(query.order_by(deliveries.c.number))
    return [_DELIVERIES.decode(row) for row in rows]


def forget(transaction: Transaction, arrived: Iterable[int]) -> None:
    """These have arrived."""
    rows = [{"of": number} for number in arrived]
    if rows:
        gone = deliveries.delete().where(deliveries.c.number == sa.bindparam("of"))
        transaction.connection.execute(gone, rows)


def keep_tries(transaction: Transaction, tried: Iterable[Delivery]) -> None:
    """Write down how often these were tried, why in vain, and which of them are given up."""
    rows = [
        {
            "of": each.number,
            "tries": each.tries,
            "problem": each.problem,
            "dead_at": None if each.dead_at is None else micros(each.dead_at),
        }
        for each in tried
    ]
    if rows:
        changed = deliveries.update().where(deliveries.c.number == sa.bindparam("of"))
        transaction.connection.execute(
            changed.values({name: sa.bindparam(name) for name in ("tries", "problem", "dead_at")}), rows
        )


def dead(
    connection: sa.Connection, webhook: str | None = None, after: int = 0, limit: int | None = None
) -> list[Delivery]:
    """Dead letters, of all webhooks or of one, the oldest first."""
    query = sa.select(deliveries).where(deliveries.c.dead_at.is_not(None), deliveries.c.number > after)
    if webhook is not None:
        query = query.where(deliveries.c.webhook == webhook)
    rows = connection.execute(query.order_by(deliveries.c.number).limit(limit))
    return [_DELIVERIES.decode(row) for row in rows]


def count_dead(transaction: Transaction) -> dict[str, int]:
    """How many dead letters each webhook has."""
    query = sa.select(deliveries.c.webhook, sa.func.count()).where(deliveries.c.dead_at.is_not(None))
    rows = transaction.connection.execute(query.group_by(deliveries.c.webhook))
    return {row[0]: row[1] for row in rows}


def drop_oldest_dead(transaction: Transaction, webhook: str, most: int) -> int:
    """Let only so many dead letters of a webhook lie; how many went."""
    is_dead = sa.and_(deliveries.c.webhook == webhook, deliveries.c.dead_at.is_not(None))
    kept = sa.select(deliveries.c.number).where(is_dead).order_by(deliveries.c.number.desc()).limit(1)
    oldest_kept = transaction.connection.execute(kept.offset(most - 1)).scalar()
    if oldest_kept is None:
        return 0
    gone = deliveries.delete().where(is_dead, deliveries.c.number < oldest_kept)
    return transaction.connection.execute(gone).rowcount


# Whose scope an event was of, when the world has forgotten it.


def find_owner(transaction: Transaction, scope: str) -> Owner | None:
    """The machine or the set that a scope is of, one that is gone included."""
    found = transaction.connection.execute(
        sa.select(scopes.c.kind, scopes.c.subject).where(scopes.c.id == scope)
    ).one_or_none()
    if found is None:
        return None
    kind = ScopeKind(found.kind)
    owner = Vm if kind is ScopeKind.VM else _SET_OF[kind]
    table = TABLE_OF[owner]
    row = transaction.connection.execute(sa.select(table).where(table.c.name == found.subject)).one_or_none()
    return None if row is None else Codec(owner).decode(row)

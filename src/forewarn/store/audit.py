"""The audit: who did what, when, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from forewarn.core.world import AuditEntry
from forewarn.store.codec import Codec, micros
from forewarn.store.credentials import CredentialKind
from forewarn.store.tables import deeds

_DEEDS = Codec(AuditEntry)
_ABOUT_CREDENTIALS = [f"{verb} {kind}" for verb in ("create", "revoke") for kind in CredentialKind]


@dataclass(frozen=True, slots=True)
class DeedFilter:
    """Which deeds are wanted: those for which all of this is so."""

    actor: str | None = None
    operation: str | None = None
    event: str | None = None  # of its operation, all but what was done for its other events alone
    since: datetime | None = None
    until: datetime | None = None
    with_credentials: bool = True  # whether it is told who may sign in


class NumberedDeed(NamedTuple):
    """A deed, and the number by which the next page is asked for."""

    number: int
    deed: AuditEntry


def list_deeds(
    connection: sa.Connection, wanted: DeedFilter, *, before: int | None = None, limit: int
) -> list[NumberedDeed]:
    """Deeds, newest first, from the one numbered `before` on."""
    query = sa.select(deeds.c.id, *(deeds.c[name] for name in _DEEDS.columns)).where(*_conditions(wanted))
    if before is not None:
        query = query.where(deeds.c.id < before)
    rows = connection.execute(query.order_by(deeds.c.id.desc()).limit(limit))
    return [NumberedDeed(row[0], _DEEDS.decode(row[1:])) for row in rows]


def _conditions(wanted: DeedFilter) -> list[sa.ColumnElement[bool]]:
    found: list[sa.ColumnElement[bool]] = []
    if wanted.actor is not None:
        found.append(deeds.c.actor == wanted.actor)
    if wanted.operation is not None:
        found.append(deeds.c.operation == wanted.operation)
    if wanted.event is not None:
        found.append(sa.or_(deeds.c.event.is_(None), deeds.c.event == wanted.event))
    if wanted.since is not None:
        found.append(deeds.c.at >= micros(wanted.since))
    if wanted.until is not None:
        found.append(deeds.c.at < micros(wanted.until))
    if not wanted.with_credentials:
        found.append(deeds.c.verb.not_in(_ABOUT_CREDENTIALS))
    return found

"""The store as somebody else would read it. The plane is not asked: what is not in here does not survive it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from forewarn.core.phase import Phase
from forewarn.core.rollout import RolloutState
from forewarn.core.terms import Condition
from forewarn.store.sql import SqlStore


class Outside:
    """Single rows of the store, read in a transaction of their own."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._connection: sa.Connection | None = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read all that is asked inside in one transaction."""
        with self._store.transaction() as transaction:
            self._connection = transaction.connection
            try:
                yield
            finally:
                self._connection = None

    def _row(self, query: str, key: str) -> Any:
        if self._connection is None:
            with self.reading():
                return self._row(query, key)
        return self._connection.exec_driver_sql(query, (key,)).one_or_none()

    def number(self) -> int:
        """The last commit."""
        with self._store.transaction() as transaction:
            return transaction.number

    def phase_of_operation(self, operation: str) -> Phase | None:
        row = self._row("SELECT phase FROM operations WHERE id = ?", operation)
        return Phase(row.phase) if row else None

    def state_of_rollout(self, rollout: str) -> RolloutState | None:
        row = self._row("SELECT state FROM rollouts WHERE id = ?", rollout)
        return RolloutState(row.state) if row else None

    def phase_of_event(self, event: str) -> Phase | None:
        row = self._row("SELECT phase FROM events WHERE id = ?", event)
        return Phase(row.phase) if row else None

    def approvers(self, event: str) -> set[str]:
        row = self._row("SELECT approvals FROM events WHERE id = ?", event)
        return {by for by, _ in json.loads(row.approvals)} if row else set()

    def postponed_by(self, event: str) -> str | None:
        row = self._row("SELECT postponed_by FROM events WHERE id = ?", event)
        return row.postponed_by if row else None

    def generation(self, scope: str) -> int | None:
        row = self._row("SELECT generation FROM scopes WHERE id = ? AND NOT is_gone", scope)
        return row.generation if row else None

    def is_on(self, scope: str) -> bool:
        row = self._row("SELECT is_on FROM scopes WHERE id = ? AND NOT is_gone", scope)
        return row is not None and bool(row.is_on)

    def condition(self, host: str) -> Condition | None:
        row = self._row("SELECT condition FROM hosts WHERE name = ?", host)
        return Condition(row.condition) if row else None

    def zone_of(self, host: str) -> str | None:
        row = self._row("SELECT zone FROM hosts WHERE name = ?", host)
        return row.zone if row else None

    def is_made_for_one(self, host: str) -> bool:
        """Whether it was made for a VM that has no other: then it is made anew with it."""
        row = self._row("SELECT is_declared FROM hosts WHERE name = ?", host)
        return row is None or not row.is_declared

    def place(self, vm: str) -> tuple[str, int] | None:
        """The host that the fleet gave it, and its update domain."""
        row = self._row("SELECT home, update_domain FROM vms WHERE name = ?", vm)
        return tuple(row) if row else None

    def group_size(self, scale_set: str) -> int | None:
        row = self._row("SELECT placement_group_size FROM scale_sets WHERE name = ?", scale_set)
        return row.placement_group_size if row else None

    def completed(self) -> list[tuple[str, list[str]]]:
        """The operations that are said to have been done, and to which machines."""
        with self._store.transaction() as transaction:
            rows = transaction.connection.exec_driver_sql(
                "SELECT id, targets FROM operations WHERE phase = 'Completed'"
            ).all()
        return [(row.id, json.loads(row.targets)) for row in rows]

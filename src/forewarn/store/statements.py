"""The SQL that writes rows, made once for each kind of database.

Written out because a commit's rows go to the driver as they are, many at a time; reading is left to SQLAlchemy.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from forewarn.core.event import Event
from forewarn.core.fleet import Vm
from forewarn.core.operation import Attempt, Operation
from forewarn.core.rollout import Rollout, Turn
from forewarn.core.scope import Scope
from forewarn.core.world import AuditEntry, Entity
from forewarn.store.codec import Codec
from forewarn.store.tables import TABLE_OF

_KEYS: dict[type, tuple[str, ...]] = {
    Attempt: ("operation", "vm"),
    Turn: ("rollout", "host"),
    Rollout: ("id",),
    Operation: ("id",),
    Event: ("id",),
    Scope: ("id",),
}
_NEVER_GONE = frozenset({Rollout, Turn, Operation, Event, Attempt})


def key_columns(kind: type) -> tuple[str, ...]:
    """The columns that make a row the same one in its next version."""
    return _KEYS.get(kind, ("name",))


@cache
def statements_with(mark: str) -> Statements:
    """The statements for all databases whose parameters are marked so."""
    return Statements(mark)


class Statements:
    """Statements and row codecs for one kind of database."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._codecs: dict[type, Codec[Any]] = {kind: Codec(kind) for kind in TABLE_OF}
        self.insert = cache(self._insert)
        self.update = cache(self._update)
        columns = ("number", "shown", "clock_epoch", "clock_elapsed", "clock_now")
        sets = ", ".join(f"{column} = {mark}" for column in columns)
        self.update_mark = f"UPDATE marks SET {sets}"  # noqa: S608 - names are ours
        self.upsert_polls = (
            f"INSERT INTO polls (scope, at) VALUES ({self._mark}, {self._mark}) "  # noqa: S608 - marks only
            "ON CONFLICT (scope) DO UPDATE SET at = excluded.at"
        )

    def codec(self, kind: type) -> Codec[Any]:
        """How values of this class are written."""
        return self._codecs[kind]

    def key(self, entity: Entity) -> list[str]:
        """The values of the entity's key columns."""
        return [getattr(entity, column) for column in key_columns(type(entity))]

    def _insert(self, kind: type) -> str:
        table, columns = TABLE_OF[kind].name, self._codecs[kind].columns
        marks = ", ".join([self._mark] * len(columns))
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - names are ours
        if kind is AuditEntry or kind in _NEVER_GONE:
            return insert
        # What was deleted may be made again under its old name.
        gone = f"{table}.state = 'deleted'" if kind is Vm else f"{table}.is_gone"
        takes_over = ", ".join(f"{column} = excluded.{column}" for column in columns)
        return f"{insert} ON CONFLICT ({', '.join(key_columns(kind))}) DO UPDATE SET {takes_over} WHERE {gone}"

    def _update(self, kind: type) -> str:
        table, columns = TABLE_OF[kind].name, self._codecs[kind].columns
        sets = ", ".join(f"{column} = {self._mark}" for column in columns)
        where = " AND ".join(f"{column} = {self._mark}" for column in (*key_columns(kind), "version"))
        return f"UPDATE {table} SET {sets} WHERE {where}"  # noqa: S608 - names are ours

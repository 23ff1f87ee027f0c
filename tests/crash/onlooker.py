"""Somebody who reads the store and the machines' ledger from outside, without taking the store's lock."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

import sqlalchemy as sa

from forewarn.core.phase import Phase
from forewarn.drivers.machines import Machines
from tests.crash.crowd import Answered

PHASES = ("Scheduled", "approved and held", "Started, in the lead", "attempt recorded", "machine at work", "ended")

_OPERATIONS = (
    "SELECT o.id, o.phase, e.approvals, a.vm, a.outcome FROM operations o "
    "LEFT JOIN events e ON e.operation = o.id LEFT JOIN attempts a ON a.operation = o.id"
)
_OPEN = "SELECT count(*) AS count FROM operations WHERE phase IN ('Scheduled', 'Started')"
_UNDER_WAY = "SELECT operation, vm FROM attempts WHERE outcome IS NULL"
_EVENTS = "SELECT id, phase, approvals FROM events"
_IDS = "SELECT id FROM operations"
_SCOPES = "SELECT vms.name, scopes.is_on FROM vms JOIN scopes ON vms.scope = scopes.id"


@dataclass
class _Standing:
    """What is known of one operation, from all the rows that tell of it."""

    phase: str
    is_approved: bool = False
    is_attempted: bool = False
    under_way: set[str] = field(default_factory=set)  # the VMs whose attempt has no outcome


class Onlooker:
    """What an observer finds while the service runs, and when it has been killed."""

    def __init__(self, address: str, machines: Machines) -> None:
        url = sa.make_url(address)
        driver = "postgresql+psycopg" if url.drivername == "postgresql" else "sqlite"
        self._engine = sa.create_engine(url.set(drivername=driver))
        self._machines = machines

    def close(self) -> None:
        self._engine.dispose()

    def _rows(self, query: str) -> list[sa.Row]:
        with self._engine.connect() as connection:
            return list(connection.execute(sa.text(query)).all())

    def _acted(self) -> set[tuple[str, str]]:
        return {(effect.operation, effect.vm) for effect in self._machines.ledger()}

    def is_about_to_act(self) -> bool:
        """Whether attempts are recorded of which the machines know nothing yet."""
        under_way = self._rows(_UNDER_WAY)
        acted = self._acted()
        return any((row.operation, row.vm) not in acted for row in under_way)

    def knows_what_was_shown(self) -> bool:
        """Whether the store knows that guests were able to read all that it holds."""
        (mark,) = self._rows("SELECT number, shown FROM marks")
        return mark.number == mark.shown

    def is_amid(self, operations: int) -> bool:
        """Whether so many operations are under way, each somewhere between its acceptance and its end."""
        return self._rows(_OPEN)[0].count >= operations

    def where_it_stands(self) -> Counter[str]:
        """How many operations are in each phase of their life."""
        operations: dict[str, _Standing] = {}
        for operation, phase, approvals, vm, outcome in self._rows(_OPERATIONS):
            standing = operations.setdefault(operation, _Standing(phase))
            standing.is_approved |= approvals not in {None, "[]"}
            standing.is_attempted |= vm is not None
            if vm is not None and outcome is None:
                standing.under_way.add(vm)
        acted = self._acted()
        return Counter(_in_words(standing, operation, acted) for operation, standing in operations.items())

    # What was answered is there, whatever was cut off.

    def judge(self, answered: Answered) -> Counter[str]:
        """Nothing that was answered is missing; how much there was to be missed."""
        operations = {row.id for row in self._rows(_IDS)}
        lost = [operation for operation in answered.operations.copy() if operation not in operations]
        assert not lost, f"accepted and lost: {lost}"
        polled = answered.polls.copy()
        is_on = {row.name: bool(row.is_on) for row in self._rows(_SCOPES)}
        off = [vm for vm in sorted(polled) if not is_on[vm]]
        assert not off, f"polls were answered, and the scopes are off: {off}"
        return Counter({"polls": len(polled), "approvals": self._judge_approvals(answered)})

    def _judge_approvals(self, answered: Answered) -> int:
        """How many answered approvals there are of what is still Scheduled; all of them are kept.

        Nothing starts without one: the notices are longer than the test.
        """
        events = {row.id: row for row in self._rows(_EVENTS)}
        held = 0
        for event, by in set(answered.approvals.copy()):
            assert event in events, f"{by} approved {event}, which is lost"
            approvers = {name for name, _ in json.loads(events[event].approvals)}
            is_scheduled = events[event].phase == Phase.SCHEDULED
            held += is_scheduled
            # An approval of what has started already is answered with success, and changes nothing.
            assert by in approvers or (approvers and not is_scheduled), f"the approval of {event} by {by} is lost"
        return held


def _in_words(standing: _Standing, operation: str, acted: set[tuple[str, str]]) -> str:
    if standing.phase == Phase.SCHEDULED:
        return "approved and held" if standing.is_approved else "Scheduled"
    if standing.phase != Phase.STARTED:
        return "ended"
    if not standing.is_attempted:
        return "Started, in the lead"
    if any((operation, vm) not in acted for vm in standing.under_way):
        return "attempt recorded"
    return "machine at work"

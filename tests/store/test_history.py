"""What has ended can be found again: by id, by its beginning, by VM."""

from __future__ import annotations

from dataclasses import replace

from forewarn.core.event import EVENTS_PER_COMMIT, Event
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.store import history
from forewarn.store.sql import SqlStore
from tests.store.samples import EVENT, MARK, NOW, OPERATION, commit


def operation(number: int, phase: Phase, *vms: str) -> Operation:
    return replace(OPERATION, id=f"0b7e8c1a-0000-4000-8000-{number:012d}", phase=phase, targets=vms, ended_at=NOW)


def event(number: int, of: Operation, phase: Phase, *vms: str, scope: str = "web") -> Event:
    made = f"{number:08X}-DDE1-550B-8297-BDF189DF2712"
    number = number * EVENTS_PER_COMMIT
    return replace(EVENT, id=made, number=number, operation=of.id, phase=phase, resources=vms, scope=scope)


def keep(store: SqlStore, *commits) -> None:
    for number, entities in enumerate(commits, 1):
        with store.transaction() as transaction:
            transaction.write(commit(number, *entities), MARK, 0)


def test_an_event_is_found_by_its_beginning_in_any_case_and_an_ambiguous_one_gives_several(store: SqlStore):
    of = operation(1, Phase.COMPLETED, "web-0")
    keep(store, (of, event(0xAB1, of, Phase.COMPLETED, "web-0"), event(0xAB2, of, Phase.COMPLETED, "web-1")))

    with store.transaction() as transaction:
        one = history.find_events(transaction.connection, "00000ab1")
        both = history.find_events(transaction.connection, "00000AB")
        none = history.find_events(transaction.connection, "%")

    assert [found.id[:8] for found in one] == ["00000AB1"]
    assert len(both) == 2
    assert none == []


def test_events_are_listed_by_phase_scope_and_vm_page_by_page(store: SqlStore):
    of = operation(1, Phase.STARTED, "web-0", "web-1")
    events = [
        event(1, of, Phase.SCHEDULED, "web-0"),
        event(2, of, Phase.STARTED, "web-1"),
        event(3, of, Phase.SCHEDULED, "web-0", scope="other"),
        event(4, of, Phase.CANCELLED, "web-0", "web-10"),
    ]
    keep(store, (of, *events))

    def listed(**wanted) -> list[str]:
        given = {"phases": list(Phase), "scope": None, "vm": None, "after": 0, "limit": 10} | wanted
        with store.transaction() as transaction:
            return [found.id[:8] for found in history.list_events(transaction.connection, **given)]

    assert listed(phases=[Phase.SCHEDULED]) == ["00000001", "00000003"]
    assert listed(scope="web") == ["00000001", "00000002", "00000004"]
    assert listed(vm="web-1") == ["00000002"]
    assert listed(vm="web-_") == []
    assert listed(limit=2) == ["00000001", "00000002"]
    assert listed(after=2 * EVENTS_PER_COMMIT, limit=2) == ["00000003", "00000004"]


def test_operations_are_found_whether_open_or_ended(store: SqlStore):
    ended = operation(1, Phase.COMPLETED, "web-0")
    keep(store, (ended, event(2, ended, Phase.COMPLETED, "web-0")))

    with store.transaction() as transaction:
        found = history.find_operation(transaction.connection, ended.id)
        events = history.events_of(transaction.connection, ended.id)
        nothing = history.find_operation(transaction.connection, "no-such-operation")

    assert found == replace(ended, version=1)
    assert [each.id[:8] for each in events] == ["00000002"]
    assert nothing is None

"""The audit: who did what, newest first, by actor, time and what it was about."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.core.world import AuditEntry
from forewarn.store.audit import DeedFilter, list_deeds
from forewarn.store.sql import SqlStore
from tests.store.samples import HOST, MARK, NOW, commit

HOUR = timedelta(hours=1)
DEEDS = (
    AuditEntry(NOW, "alice", "restart", "op-1", None, "web-0", "one"),
    AuditEntry(NOW + HOUR, "web-0", "approve", "op-1", "EVENT-1", "web-0"),
    AuditEntry(NOW + HOUR, "web-1", "approve", "op-1", "EVENT-2", "web-1"),
    AuditEntry(NOW + 2 * HOUR, "alice", "create token", subject="ci"),
    AuditEntry(NOW + 3 * HOUR, "bob", "recover", subject="host-0"),
)


@pytest.fixture
def store(store: SqlStore) -> SqlStore:
    """The store, with the deeds."""
    with store.transaction() as transaction:
        transaction.write(commit(1, HOST, deeds=DEEDS), MARK, 0)
    return store


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [4, 3, 2, 1, 0]),
        ({"actor": "alice"}, [3, 0]),
        ({"actor": "ALICE"}, []),
        ({"operation": "op-1"}, [2, 1, 0]),
        ({"operation": "op-1", "event": "EVENT-1"}, [1, 0]),
        ({"since": NOW + HOUR, "until": NOW + 3 * HOUR}, [3, 2, 1]),
        ({"with_credentials": False}, [4, 2, 1, 0]),
        ({"actor": "alice", "with_credentials": False}, [0]),
    ],
    ids=str,
)
def test_a_filter_finds_the_deeds_that_fit_and_nothing_else(store: SqlStore, wanted, found: list[int]):
    with store.reading() as connection:
        listed = list_deeds(connection, DeedFilter(**wanted), limit=100)

    assert [each.deed for each in listed] == [DEEDS[index] for index in found]


def test_pages_of_deeds_meet_without_gap_or_overlap(store: SqlStore):
    told, before = [], None
    with store.reading() as connection:
        while found := list_deeds(connection, DeedFilter(), before=before, limit=2):
            told += [each.deed for each in found]
            before = found[-1].number

    assert told == list(reversed(DEEDS))

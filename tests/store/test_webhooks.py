"""Webhooks and the outbox in the store, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from forewarn.core.scope import ScopeKind
from forewarn.core.terms import VmState
from forewarn.core.world import AuditEntry
from forewarn.errors import StoreUnavailable
from forewarn.store import webhooks
from forewarn.store.sql import SqlStore
from forewarn.store.tables import deeds
from forewarn.store.webhooks import Delivery, Format, Webhook
from tests.store.samples import MARK, SCALE_SET, SCOPE, VM, commit

NOW = datetime(2026, 3, 2, 12, 0, 0, 123456, tzinfo=UTC)
HOOK = Webhook("a1", "https://a.example/?x=1", Format.EVENTGRID, "s3cret", ("Reboot",), ("web",), NOW, "root")
OTHER = Webhook("b2", "http://b.example/", Format.CLOUDEVENTS, "other", (), (), NOW, "root")
LARGE = 2**53 + 1  # what a commit of some years would have


def letter(number: int, webhook: str = "a1", **more: object) -> Delivery:
    made = Delivery(number, webhook, f"m{number}", "E1", "Started", '{"a":"ü"}', NOW)
    return replace(made, **more)


@pytest.fixture
def store(store: SqlStore) -> SqlStore:
    """The store, with two webhooks."""
    with store.transaction() as transaction:
        for hook in (HOOK, OTHER):
            webhooks.add(transaction, hook, AuditEntry(NOW, "root", "add webhook", subject=hook.id))
    return store


def queue(store: SqlStore, *made: Delivery) -> None:
    with store.transaction() as transaction:
        webhooks.queue(transaction, made)


def waiting(store: SqlStore, since: int = 0) -> list[Delivery]:
    with store.transaction() as transaction:
        return webhooks.waiting(transaction, since)


def dead(store: SqlStore, *which: object, **more: int) -> list[int]:
    with store.transaction() as transaction:
        return [each.number for each in webhooks.dead(transaction.connection, *which, **more)]


def test_webhooks_and_what_they_are_to_be_told_survive_being_opened_again(address: str, store: SqlStore):
    queue(store, letter(LARGE), letter(LARGE + 1, "b2"))
    store.close()

    again = SqlStore(address)
    with again.transaction() as transaction:
        found = webhooks.read(transaction)
    kept = waiting(again)
    again.close()

    assert found == [HOOK, OTHER]
    assert kept == [letter(LARGE), letter(LARGE + 1, "b2")]


def test_what_waits_is_read_from_a_number_on_the_oldest_first(store: SqlStore):
    queue(store, letter(3), letter(1), letter(2))

    assert [each.number for each in waiting(store)] == [1, 2, 3]
    assert [each.number for each in waiting(store, 2)] == [3]


def test_what_has_arrived_is_forgotten(store: SqlStore):
    queue(store, letter(1), letter(2), letter(3))

    with store.transaction() as transaction:
        webhooks.forget(transaction, [1, 3, 99])
        webhooks.forget(transaction, [])

    assert [each.number for each in waiting(store)] == [2]


def test_tries_are_kept_and_what_is_given_up_waits_no_more_until_it_is_sent_again(store: SqlStore):
    queue(store, letter(1), letter(2))
    tried, gone = letter(1, tries=2, problem="answered 500"), letter(2, tries=9, problem="x", dead_at=NOW)

    with store.transaction() as transaction:
        webhooks.keep_tries(transaction, [tried, gone])
    between = waiting(store), dead(store)
    with store.transaction() as transaction:
        webhooks.keep_tries(transaction, [replace(gone, tries=0, dead_at=None)])

    assert between == ([tried], [2])
    assert [each.number for each in waiting(store)] == [1, 2]
    assert dead(store) == []


def test_dead_letters_are_listed_in_pages_for_all_or_for_one(store: SqlStore):
    queue(store, *(letter(number, "a1" if number % 2 else "b2", dead_at=NOW) for number in range(1, 7)))
    queue(store, letter(7))

    assert dead(store) == [1, 2, 3, 4, 5, 6]
    assert dead(store, "b2") == [2, 4, 6]
    assert dead(store, None, after=2, limit=2) == [3, 4]
    with store.transaction() as transaction:
        assert webhooks.count_dead(transaction) == {"a1": 3, "b2": 3}


def test_only_so_many_dead_letters_of_a_webhook_lie(store: SqlStore):
    queue(store, *(letter(number, dead_at=NOW) for number in range(1, 6)), letter(6), letter(7, "b2", dead_at=NOW))

    with store.transaction() as transaction:
        first = webhooks.drop_oldest_dead(transaction, "a1", 3)
        second = webhooks.drop_oldest_dead(transaction, "a1", 3)

    assert (first, second) == (2, 0)
    assert dead(store) == [3, 4, 5, 7]
    assert [each.number for each in waiting(store)] == [6]


def test_a_webhook_goes_with_all_that_it_was_not_told_and_who_did_it_is_kept(store: SqlStore):
    queue(store, letter(1), letter(2, dead_at=NOW), letter(3, "b2"))

    with store.transaction() as transaction:
        webhooks.remove(transaction, "a1", AuditEntry(NOW, "eve", "remove webhook", subject="a1"))

    with store.transaction() as transaction:
        assert webhooks.read(transaction) == [OTHER]
        noted = transaction.connection.execute(sa.select(deeds.c.actor, deeds.c.verb, deeds.c.subject)).all()
        assert transaction.number == 0
    assert tuple(noted[-1]) == ("eve", "remove webhook", "a1")
    assert [each.number for each in waiting(store)] == [3]
    assert dead(store) == []


def test_a_commit_that_is_not_kept_leaves_nothing_in_the_outbox(store: SqlStore):
    def queue_and_fail() -> None:
        with store.transaction() as transaction:
            transaction.write(commit(1, VM), MARK, 0)
            webhooks.queue(transaction, [letter(1)])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        queue_and_fail()

    assert waiting(store) == []


def test_whose_scope_it_was_is_known_after_it_has_gone(store: SqlStore):
    single = replace(SCOPE, id="pool_0", kind=ScopeKind.VM, subject="pool_0", is_gone=True)
    gone = (
        replace(SCALE_SET, is_gone=True),
        replace(SCOPE, is_gone=True),
        single,
        replace(VM, state=VmState.DELETED),
    )
    with store.transaction() as transaction:
        transaction.write(commit(1, *gone), MARK, 0)
        found = [webhooks.find_owner(transaction, scope) for scope in (SCOPE.id, single.id, "nowhere")]

    assert found == [replace(gone[0], version=1), replace(gone[3], version=1), None]


def test_no_secret_is_in_an_error_or_in_a_text_of_a_webhook(store: SqlStore):
    with pytest.raises(StoreUnavailable) as failed, store.transaction() as transaction:
        webhooks.add(transaction, HOOK, AuditEntry(NOW, "root", "add webhook"))

    assert "s3cret" not in f"{failed.value} {failed.value.__cause__} {HOOK} {HOOK!r}"
    assert HOOK.shown_url == "https://a.example/?..."
    assert OTHER.shown_url == "http://b.example/"


def test_a_later_time_is_kept_to_the_microsecond(store: SqlStore):
    later = NOW + timedelta(days=400, microseconds=1)

    queue(store, letter(1, made_at=later))

    assert waiting(store)[0].made_at == later

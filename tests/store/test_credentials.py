"""Credentials in the store, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from forewarn.core.world import AuditEntry
from forewarn.errors import StoreUnavailable
from forewarn.store import credentials
from forewarn.store.credentials import Credential, CredentialKind
from forewarn.store.sql import SqlStore
from forewarn.store.tables import credentials as table
from forewarn.store.tables import deeds
from tests.store.databases import fresh_database

NOW = datetime(2026, 3, 2, 12, 0, 0, 123456, tzinfo=UTC)
TOKEN = Credential("a1", CredentialKind.TOKEN, "ci", "viewer", "00ff", NOW, "root", NOW + timedelta(days=1))
PRINCIPAL = Credential("b2", CredentialKind.PRINCIPAL, "az", "admin", "11ee", NOW, "root")


def deed(verb: str, subject: str) -> AuditEntry:
    return AuditEntry(NOW, "root", verb, subject=subject)


def add(store: SqlStore, *made: Credential) -> None:
    with store.transaction() as transaction:
        for each in made:
            credentials.add(transaction, each, deed(f"create {each.kind}", each.name))


def everyone(store: SqlStore) -> list[Credential]:
    with store.transaction() as transaction:
        return credentials.read(transaction)


def test_a_fresh_store_lets_nobody_sign_in(store: SqlStore):
    with store.transaction() as transaction:
        assert credentials.read(transaction) == []
        assert credentials.signing_key(transaction) is None


def test_credentials_are_read_back_the_same_by_name(store: SqlStore):
    again = replace(TOKEN, id="a2", created_at=NOW + timedelta(seconds=1))

    add(store, again, TOKEN, PRINCIPAL)

    assert everyone(store) == [PRINCIPAL, TOKEN, again]


def test_credentials_and_the_key_that_signs_survive_being_opened_again(address: str):
    first = SqlStore(address)
    add(first, TOKEN, PRINCIPAL)
    with first.transaction() as transaction:
        credentials.make_signing_key(transaction)
        key = credentials.signing_key(transaction)
    first.close()

    second = SqlStore(address)
    with second.transaction() as transaction:
        credentials.make_signing_key(transaction)
        kept = credentials.signing_key(transaction)
    found = everyone(second)
    second.close()

    assert found == [PRINCIPAL, TOKEN]
    assert kept == key
    assert len(kept or b"") == 64


def test_two_stores_sign_with_different_keys(tmp_path: Path):
    keys = set()
    for _ in range(2):
        store = SqlStore(fresh_database("sqlite", tmp_path))
        with store.transaction() as transaction:
            credentials.make_signing_key(transaction)
            keys.add(credentials.signing_key(transaction))
        store.close()

    assert len(keys) == 2


def test_one_that_is_revoked_stays_with_who_revoked_it(store: SqlStore):
    add(store, TOKEN, PRINCIPAL)
    later = NOW + timedelta(hours=1)

    with store.transaction() as transaction:
        credentials.revoke(transaction, "a1", later, deed("revoke token", "ci"))

    assert everyone(store) == [PRINCIPAL, replace(TOKEN, revoked_at=later, revoked_by="root")]


def test_uses_are_noted(store: SqlStore):
    add(store, TOKEN, PRINCIPAL)
    later = NOW + timedelta(hours=1)

    with store.transaction() as transaction:
        credentials.note_uses(transaction, {"b2": later, "gone": later})

    assert everyone(store) == [replace(PRINCIPAL, last_used_at=later), TOKEN]


def test_what_is_done_is_in_the_audit_and_is_no_commit_of_the_plane(store: SqlStore):
    add(store, TOKEN)
    with store.transaction() as transaction:
        credentials.revoke(transaction, "a1", NOW, deed("revoke token", "ci"))

    with store.transaction() as transaction:
        noted = transaction.connection.execute(sa.select(deeds.c.actor, deeds.c.verb, deeds.c.subject)).all()
        assert transaction.number == 0

    assert [tuple(row) for row in noted] == [("root", "create token", "ci"), ("root", "revoke token", "ci")]


def test_a_block_that_raises_keeps_no_credential_and_no_deed(store: SqlStore):
    def add_and_fail() -> None:
        with store.transaction() as transaction:
            credentials.add(transaction, TOKEN, deed("create token", "ci"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        add_and_fail()

    assert everyone(store) == []
    with store.transaction() as transaction:
        assert transaction.connection.execute(sa.select(sa.func.count()).select_from(deeds)).scalar() == 0


def test_a_credential_is_in_force_until_it_expires_or_is_revoked():
    assert TOKEN.is_in_force(NOW)
    assert not TOKEN.is_in_force(NOW + timedelta(days=1))
    assert not replace(TOKEN, revoked_at=NOW).is_in_force(NOW)
    assert PRINCIPAL.is_in_force(NOW + timedelta(days=10_000))


def test_what_was_to_be_written_is_in_no_error(store: SqlStore):
    add(store, TOKEN)

    with pytest.raises(StoreUnavailable) as failed:
        add(store, TOKEN)

    whole = f"{failed.value} {failed.value.__cause__}"
    assert TOKEN.digest not in whole
    assert table.name in whole

"""Credentials in a store whose service is stopped: the same book that a service keeps, and told in the same words.

Imported only for `--store`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from forewarn.cli.client import Refused
from forewarn.clock import SystemClock, VirtualClock
from forewarn.config import Settings
from forewarn.core.refusal import Refusal
from forewarn.errors import ConfigError
from forewarn.operator.credentials import fields_of
from forewarn.operator.roles import Role
from forewarn.operator.sign_in.keyring import Keyring
from forewarn.operator.sign_in.register import CredentialWish, Register
from forewarn.store.credentials import Credential, CredentialKind
from forewarn.store.sql import SqlStore
from forewarn.wire.times import iso

_ACTOR = "command line"
_IN_MEMORY = {"sqlite://", "sqlite:///", "sqlite:///:memory:"}


class Book:
    """Tokens or principals in a store that nobody else has open."""

    def __init__(self, kind: str, address: str) -> None:
        if address in _IN_MEMORY:
            raise ConfigError(
                "A store in memory ends with this command.", "Name one that is kept: sqlite:///PATH."
            )
        self._kind = CredentialKind(kind)
        self._address = address
        self._now = SystemClock().now
        self._keyring = Keyring()

    @contextmanager
    def _opened(self) -> Iterator[Register]:
        store = SqlStore(self._address)
        try:
            with store.loading(), store.transaction() as transaction:
                mark = transaction.mark()
            is_virtual = mark is not None and mark.epoch == VirtualClock.epoch
            audit_now = (lambda: mark.now) if mark is not None and is_virtual else self._now
            register = Register(store, self._keyring, self._now, audit_now)
            with store.loading():
                register.load()
            yield register
        finally:
            store.close()

    def create(self, name: str, role: str, expires: timedelta | None) -> dict[str, Any]:
        """A new one, with its secret."""
        with self._opened() as register:
            issued = register.create(CredentialWish(self._kind, name, Role(role), expires), _ACTOR)
        if isinstance(issued, Refusal):
            raise Refused(issued.message, issued.hint)
        secret = "token" if self._kind is CredentialKind.TOKEN else "client_secret"
        return {**self._tell(issued.credential), secret: issued.secret}

    def list(self) -> list[dict[str, Any]]:
        """All there are and were."""
        with self._opened():
            return [self._tell(each) for each in self._keyring.everyone if each.kind is self._kind]

    def revoke(self, name: str) -> dict[str, Any]:
        """One out of force."""
        with self._opened() as register:
            revoked = register.revoke(self._kind, name, _ACTOR)
        if isinstance(revoked, Refusal):
            raise Refused(revoked.message, revoked.hint)
        return self._tell(revoked)

    def _tell(self, credential: Credential) -> dict[str, Any]:
        told = fields_of(credential, self._now(), os.environ.get("FOREWARN_TENANT") or Settings().tenant)
        return {key: iso(value) if isinstance(value, datetime) else value for key, value in told.items()}

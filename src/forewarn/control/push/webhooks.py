"""The book of webhooks: who is told of events, what has not arrived, and what was given up.

Everything here that touches the store runs on the plane's thread. What the courier's workers have done is written
down in batches, so that no delivery costs a commit: after a crash some arrive again, under the same id.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from forewarn.control.plane import ControlPlane
from forewarn.control.push.asking import WebhookWish, judge
from forewarn.control.push.courier import Courier, Settled, Standing, WebhookTestReply
from forewarn.control.push.outbox import Outbox
from forewarn.core.bulletin import WebhookTestMessage
from forewarn.core.event import Event
from forewarn.core.refusal import Code, Refusal
from forewarn.core.world import AuditEntry, Changes
from forewarn.errors import ForewarnError, StoreError
from forewarn.ids import random_id
from forewarn.logs import get_logger
from forewarn.store import webhooks
from forewarn.store.sql import SqlStore
from forewarn.store.webhooks import Delivery, Webhook

log = get_logger()

MOST_WEBHOOKS = 50
MOST_DEAD = 10_000  # letters of one webhook; the oldest go first
SECRET_PREFIX = "fwh_"  # noqa: S105 - by which one is known when it turns up where it should not be
_SECRET_BYTES = 32
_ID_BYTES = 4
_BOOKS_SECONDS = 0.25  # between two batches
_LAST_SECONDS = 2.0  # for the last one

Submit = Callable[[Callable[[], None]], Future[None]]


@dataclass(frozen=True, slots=True)
class Account:
    """A webhook and how things stand with it."""

    webhook: Webhook
    standing: Standing
    waiting: int
    dead: int


@dataclass(frozen=True, slots=True)
class WebhookTest:
    """A test message that is on its way."""

    webhook: Webhook
    message: str
    outcome: Future[WebhookTestReply]


class Webhooks:
    """Adds and removes webhooks, and keeps the books of their deliveries."""

    def __init__(self, plane: ControlPlane, outbox: Outbox, courier: Courier) -> None:
        self._plane = plane
        self._store = plane.store
        self._outbox = outbox
        self._courier = courier
        self._is_behind = False  # the store could not be asked what is new
        self._seen = 0  # the last delivery that was handed to the courier
        self._dead: dict[str, int] = {}
        self._is_overdue = False  # the books could not be written
        self._is_stopping = threading.Event()
        self._keeper: threading.Thread | None = None

    # Beginning and end.

    def start(self, submit: Submit) -> None:
        """Deliver what waits; `submit` lets the plane's thread do something."""
        submit(self._open).result()
        self._submit = submit
        self._keeper = threading.Thread(target=self._keep_books, name="webhooks' books", daemon=True)
        self._keeper.start()

    def _open(self) -> None:
        with self._store.transaction() as transaction:
            self._dead = webhooks.count_dead(transaction)
        for webhook in self._outbox.webhooks:
            self._courier.serve(webhook)
        self._collect()
        self._plane.committed.subscribe(self._observe)

    def stop(self) -> None:
        """Deliver nothing more, and write down what was."""
        if self._keeper is None:
            return
        self._courier.stop()
        self._is_stopping.set()
        self._courier.wants_books.set()
        self._keeper.join(_LAST_SECONDS)
        if not self._keeper.is_alive():  # else it waits for the store, as this would
            self._write_down_somehow(_LAST_SECONDS)

    # What the plane has committed.

    def _observe(self, changes: Changes) -> None:
        """Called after each commit: what it gave to tell is handed to the courier."""
        if self._outbox.webhooks and any(isinstance(entity, Event) for entity in changes.entities):
            self._collect()

    def _collect(self) -> None:
        try:
            with self._store.transaction() as transaction:
                fresh = webhooks.waiting(transaction, self._seen)
        except StoreError:
            self._is_behind = True
            self._courier.wants_books.set()  # which are closed with another look
            return
        self._is_behind = False
        if fresh:
            self._seen = fresh[-1].number
            self._courier.take(fresh)

    # The books.

    def _keep_books(self) -> None:
        while self._courier.wants_books.wait() and not self._is_stopping.is_set():
            self._courier.wants_books.clear()
            self._write_down_somehow(None)
            self._is_stopping.wait(_BOOKS_SECONDS)

    def _write_down_somehow(self, timeout: float | None) -> None:
        try:
            self._submit(self._write_down).result(timeout)
        except (ForewarnError, TimeoutError) as problem:
            if not self._is_overdue:
                why = str(problem) or "the store did not answer in time"
                log.warning("deliveries not written down", problem=why, hint="they may be sent again")
            self._is_overdue = True
        else:
            self._is_overdue = False

    def _write_down(self) -> None:
        settled = self._courier.take_settled()
        try:
            if settled:
                self._write(settled)
        except BaseException:
            self._courier.put_back(settled)
            raise
        if self._is_behind:
            self._collect()

    def _write(self, settled: Settled) -> None:
        died = {each.webhook for each in settled.tried.values() if each.dead_at is not None}
        with self._store.transaction() as transaction:
            webhooks.forget(transaction, settled.arrived)
            webhooks.keep_tries(transaction, settled.tried.values())
            for webhook in sorted(died):
                if gone := webhooks.drop_oldest_dead(transaction, webhook, MOST_DEAD):
                    log.warning("dead letters dropped", webhook=webhook, count=gone)
            if died:
                self._dead = webhooks.count_dead(transaction)

    # What operators ask.

    def all(self) -> list[Account]:
        """Every webhook, the oldest first."""
        return [self._account(webhook) for webhook in self._outbox.webhooks]

    def find(self, webhook: str) -> Account | Refusal:
        """One webhook."""
        found = next((each for each in self._outbox.webhooks if each.id == webhook), None)
        return self._account(found) if found else _unknown(webhook)

    def _account(self, webhook: Webhook) -> Account:
        return Account(webhook, *self._courier.standing(webhook.id), self._dead.get(webhook.id, 0))

    def add(self, wanted: WebhookWish, actor: str) -> Webhook | Refusal:
        """A new webhook, which is told of all that is committed after this returns."""
        if refusal := judge(wanted, self._plane.world.scopes):
            return refusal
        known = self._outbox.webhooks
        if len(known) >= MOST_WEBHOOKS:
            return Refusal(
                Code.LIMIT_REACHED,
                f"There are {len(known)} webhooks, and no more may be.",
                "First: forewarn webhook remove ID",
            )
        webhook = self._make(wanted, actor)
        deed = self._deed("add", webhook, actor, f"{webhook.format} to {webhook.shown_url}")
        self._store.make_private()  # before the secret is in it
        with self._store.transaction() as transaction:
            webhooks.add(transaction, webhook, deed)
        self._courier.serve(webhook)
        self._outbox.webhooks = tuple(sorted((*known, webhook), key=webhooks.oldest_first))
        return webhook

    def _make(self, wanted: WebhookWish, actor: str) -> Webhook:
        secret = wanted.secret or SECRET_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        kinds = tuple(str(kind) for kind in wanted.kinds)
        made, now = secrets.token_hex(_ID_BYTES), self._plane.clock.now()
        return Webhook(made, wanted.url, wanted.format, secret, kinds, wanted.scopes, now, actor)

    def _deed(self, verb: str, webhook: Webhook, actor: str, detail: str) -> AuditEntry:
        return AuditEntry(self._plane.clock.now(), actor, f"{verb} webhook", subject=webhook.id, detail=detail)

    def remove(self, webhook: str, actor: str) -> Account | Refusal:
        """A webhook is told nothing more, and what it was not told is forgotten."""
        found = self.find(webhook)
        if isinstance(found, Refusal):
            return found
        deed = self._deed("remove", found.webhook, actor, f"{found.waiting} waiting, {found.dead} dead")
        with self._store.transaction() as transaction:
            webhooks.remove(transaction, webhook, deed)
        self._outbox.webhooks = tuple(each for each in self._outbox.webhooks if each.id != webhook)
        self._courier.dismiss(webhook)
        self._dead.pop(webhook, None)
        return found

    def resend(self, webhook: str, letters: Sequence[int] | None) -> int | Refusal:
        """Try dead letters once more from the first try on: those named, or all; how many they are."""
        if isinstance(found := self.find(webhook), Refusal):
            return found
        with self._store.transaction() as transaction:
            there = {each.number: each for each in webhooks.dead(transaction.connection, webhook)}
            missing = [number for number in letters or () if number not in there]
            if missing:
                return Refusal(
                    Code.NOT_FOUND,
                    f"Webhook {webhook} has no dead letter {missing[0]}.",
                    f"forewarn webhook dead {webhook}",
                )
            again = [_alive(there[number]) for number in (there if letters is None else dict.fromkeys(letters))]
            webhooks.keep_tries(transaction, again)
            self._dead = webhooks.count_dead(transaction)
        self._courier.take(again)
        return len(again)

    def test(self, webhook: str, actor: str) -> WebhookTest | Refusal:
        """Send one test message now. Nothing of it is kept: it is no delivery, and becomes no dead letter."""
        found = self.find(webhook)
        if isinstance(found, Refusal):
            return found
        notice = WebhookTestMessage(random_id(), webhook, actor, self._plane.clock.now())
        outcome = self._courier.test(found.webhook, notice.id, self._outbox.render_test(notice, found.webhook))
        if outcome is None:
            return Refusal(
                Code.BUSY, f"A test of webhook {webhook} is already running.", "Wait until it has ended."
            )
        return WebhookTest(found.webhook, notice.id, outcome)

    def figures(self, read: Callable[[Account], float]) -> dict[tuple[str, ...], float]:
        """A figure of each webhook, by its id."""
        return {(account.webhook.id,): read(account) for account in self.all()}


def load(store: SqlStore, outbox: Outbox) -> None:
    """Let the outbox know the webhooks that the store holds, before anything is committed."""
    with store.transaction() as transaction:
        outbox.webhooks = tuple(webhooks.read(transaction))


def _alive(delivery: Delivery) -> Delivery:
    return replace(delivery, tries=0, dead_at=None)


def _unknown(webhook: str) -> Refusal:
    return Refusal(Code.NOT_FOUND, f"There is no webhook {webhook}.", "forewarn webhook list")

"""Webhooks, deliveries and planes with an outbox, for tests."""

from __future__ import annotations

import json
from typing import Any

from forewarn.control.commit import Accepted
from forewarn.control.push.outbox import Outbox
from forewarn.core.refusal import Refusal
from forewarn.store import webhooks
from forewarn.store.webhooks import Delivery, Format, Webhook
from forewarn.wire.imds.instance import Site
from tests.control.bench import NOON, Bench

SECRET = "a secret that nobody else knows"


def hook(
    name: str = "hook", url: str = "http://127.0.0.1:1/", form: Format = Format.CLOUDEVENTS, **more: Any
) -> Webhook:
    fields = {"kinds": (), "scopes": ()} | more
    return Webhook(name, url, form, SECRET, fields["kinds"], fields["scopes"], NOON, "root")


def delivery(number: int, event: str = "E", webhook: str = "hook", **more: Any) -> Delivery:
    body = json.dumps({"id": f"message-{number}", "subject": event})
    return Delivery(number, webhook, f"message-{number}", event, "Started", body, NOON, **more)


def bench(fleet: dict[str, Any], *hooks: Webhook) -> Bench:
    """A plane that these webhooks are told of."""
    outbox = Outbox(Site())
    outbox.webhooks = hooks
    return Bench(fleet, outbox=outbox)


def outbox_of(made: Bench) -> list[Delivery]:
    """What waits, the oldest first."""
    with made.store.transaction() as transaction:
        return webhooks.waiting(transaction)


def event_id(accepted: Accepted | Refusal) -> str:
    assert isinstance(accepted, Accepted), accepted
    (event,) = accepted.events
    return event.id

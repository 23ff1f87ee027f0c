"""The outbox: what webhooks are to be told is written in the commit that it tells of, so no crash loses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

from forewarn.core.bulletin import Bulletin, Owner, WebhookTestMessage, bulletins, owners_that_go
from forewarn.core.draft import Draft
from forewarn.store import webhooks
from forewarn.store.sql import Transaction
from forewarn.store.webhooks import DELIVERIES_PER_COMMIT, Delivery, Format, Webhook
from forewarn.wire.imds.instance import Site
from forewarn.wire.push import cloudevents, eventgrid

Render = Callable[[Bulletin], bytes]
RenderTestMessage = Callable[[WebhookTestMessage], bytes]


class Outbox:
    """Knows who is told of what, and in which form."""

    def __init__(self, site: Site) -> None:
        self.webhooks: tuple[Webhook, ...] = ()
        self._gone: dict[str, Owner] = {}  # of scopes that went, for the last that is to be told of them
        self._render: dict[Format, Render] = {
            Format.CLOUDEVENTS: cloudevents.render,
            Format.EVENTGRID: lambda bulletin: eventgrid.render(bulletin, site),
        }
        self._render_test: dict[Format, RenderTestMessage] = {
            Format.CLOUDEVENTS: cloudevents.render_test,
            Format.EVENTGRID: lambda notice: eventgrid.render_test(notice, site),
        }

    def write(self, transaction: Transaction, draft: Draft) -> None:
        """Keep with a commit what is to be told of it."""
        if self.webhooks:
            webhooks.queue(transaction, list(self._deliveries(transaction, draft)))
            self._gone |= owners_that_go(draft)

    def render_test(self, notice: WebhookTestMessage, webhook: Webhook) -> bytes:
        """A test message in the form of the webhook."""
        return self._render_test[webhook.format](notice)

    def _deliveries(self, transaction: Transaction, draft: Draft) -> Iterator[Delivery]:
        number = draft.number * DELIVERIES_PER_COMMIT
        for bulletin in bulletins(draft):
            told = self._with_owner(transaction, bulletin)
            event = told.event
            body_in = cache(lambda form, told=told: self._render[form](told).decode())
            for webhook in filter(lambda each: is_for(each, told), self.webhooks):
                number += 1
                body = body_in(webhook.format)
                yield Delivery(number, webhook.id, told.id, event.id, event.phase, body, told.at)

    def _with_owner(self, transaction: Transaction, bulletin: Bulletin) -> Bulletin:
        """Who deletes a machine is told of it after the world has forgotten the machine.

        The store is asked only for one that went before this service was started.
        """
        if bulletin.owner is not None:
            return bulletin
        scope = bulletin.event.scope
        return replace(bulletin, owner=self._gone.pop(scope, None) or webhooks.find_owner(transaction, scope))


def is_for(webhook: Webhook, bulletin: Bulletin) -> bool:
    """Whether the webhook wants to be told of it."""
    event = bulletin.event
    wants_kind = not webhook.kinds or event.kind in webhook.kinds
    return wants_kind and (not webhook.scopes or event.scope in webhook.scopes)

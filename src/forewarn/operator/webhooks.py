"""Webhooks: who is told of events, and what did not arrive. A secret is told in one answer only."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec

from forewarn.control.push.asking import WebhookWish
from forewarn.control.push.webhooks import Account
from forewarn.core.refusal import Refusal
from forewarn.core.terms import Kind
from forewarn.operator.endpoint import Call, Endpoint, Nothing, bad_cursor, bad_request, whole_number
from forewarn.operator.fleet import PAGE
from forewarn.operator.roles import Role
from forewarn.store import webhooks
from forewarn.store.webhooks import Delivery, Format
from forewarn.wire.rest import Instant


class WebhookBody(msgspec.Struct, forbid_unknown_fields=True):
    """A webhook that is asked for."""

    url: Annotated[str, msgspec.Meta(description="http or https, without a user's name")]
    format: Annotated[Format, msgspec.Meta(description="in which form it is told")] = Format.CLOUDEVENTS
    secret: Annotated[
        str | None, msgspec.Meta(description="signs every request; without it, one is made and told once")
    ] = None
    kinds: Annotated[list[Kind], msgspec.Meta(description="only events of these kinds; none: of all")] = []
    scopes: Annotated[list[str], msgspec.Meta(description="only events of these scopes; none: of all")] = []


class ResendBody(msgspec.Struct, forbid_unknown_fields=True):
    """Which dead letters are to be sent again."""

    letters: Annotated[list[str] | None, msgspec.Meta(description="their ids; without it, all")] = None


class WebhookView(msgspec.Struct, kw_only=True):
    """A webhook, without its secret."""

    id: str
    url: Annotated[str, msgspec.Meta(description="without its query, which may hold a key")]
    format: Format
    kinds: list[str]
    scopes: list[str]
    created_at: Instant
    created_by: str
    delivered_since_start: Annotated[int, msgspec.Meta(description="of the service; it is not kept")]
    waiting: int
    dead: int
    problem: Annotated[str, msgspec.Meta(description="why the last try failed; empty where it did not")]


class WebhookAdded(WebhookView, kw_only=True):
    """A webhook that was just added."""

    secret: Annotated[str | None, msgspec.Meta(description="told once; null where it was given")]


class WebhookList(msgspec.Struct):
    """All webhooks, the oldest first."""

    webhooks: list[WebhookView]
    next: str | None = None


class DeadLetter(msgspec.Struct):
    """What was given up."""

    id: str
    webhook: str
    message: Annotated[str, msgspec.Meta(description="the id that the receiver would have read")]
    event: str
    phase: Annotated[str, msgspec.Meta(description="that would have been told")]
    made_at: Instant
    tries: int
    problem: str
    dead_at: Annotated[Instant | None, msgspec.Meta(description="by the real clock")]


class DeadLetters(msgspec.Struct):
    """A page of dead letters, the oldest first."""

    dead: list[DeadLetter]
    next: str | None = None


class Resent(msgspec.Struct):
    """How many dead letters are on their way again."""

    resent: int


class WebhookTested(msgspec.Struct):
    """How the test of a webhook went."""

    webhook: str
    url: Annotated[str, msgspec.Meta(description="without its query, which may hold a key")]
    message: Annotated[str, msgspec.Meta(description="the id that the receiver read")]
    has_arrived: Annotated[bool, msgspec.Meta(description="whether the receiver answered with 2xx")]
    status: Annotated[int | None, msgspec.Meta(description="of the answer; null where there was none")]
    latency_ms: Annotated[float, msgspec.Meta(description="from connecting to the answer, or to giving up")]
    problem: Annotated[str, msgspec.Meta(description="why it failed; empty where it did not")]


def _told(account: Account) -> dict[str, Any]:
    webhook = account.webhook
    return {
        "id": webhook.id,
        "url": webhook.shown_url,
        "format": webhook.format,
        "kinds": list(webhook.kinds),
        "scopes": list(webhook.scopes),
        "created_at": webhook.created_at,
        "created_by": webhook.created_by,
        "delivered_since_start": account.standing.delivered,
        "waiting": account.waiting,
        "dead": account.dead,
        "problem": account.standing.problem,
    }


async def list_webhooks(call: Call, _: Nothing) -> WebhookList:
    """All of them; they are few."""
    accounts = await call.on_plane(call.context.webhooks.all)
    return WebhookList([WebhookView(**_told(account)) for account in accounts])


async def show_webhook(call: Call, _: Nothing) -> WebhookView | Refusal:
    """One webhook."""
    found = await call.on_plane(call.context.webhooks.find, call.path("id"))
    return found if isinstance(found, Refusal) else WebhookView(**_told(found))


async def add_webhook(call: Call, body: WebhookBody) -> WebhookAdded | Refusal:
    """Add one; its secret is told unless it was given."""
    book = call.context.webhooks
    wanted = WebhookWish(body.url, body.format, body.secret, tuple(body.kinds), tuple(body.scopes))

    def add() -> WebhookAdded | Refusal:
        made = book.add(wanted, call.actor)
        if isinstance(made, Refusal):
            return made
        found = book.find(made.id)
        if isinstance(found, Refusal):
            return found
        return WebhookAdded(**_told(found), secret=made.secret if body.secret is None else None)

    return await call.on_plane(add)


async def remove_webhook(call: Call, _: Nothing) -> WebhookView | Refusal:
    """Remove one, with all that it was not told."""
    gone = await call.on_plane(call.context.webhooks.remove, call.path("id"), call.actor)
    return gone if isinstance(gone, Refusal) else WebhookView(**_told(gone))


async def list_dead(call: Call, _: Nothing) -> DeadLetters | Refusal:
    """What was given up, of all webhooks or of one."""
    page, webhook = call.page(), call.query("webhook")
    if isinstance(page, Refusal):
        return page
    after = 0 if page.after is None else whole_number(page.after)
    if after is None:
        return bad_cursor(page.after)
    if webhook is not None:
        known = await call.on_plane(call.context.webhooks.find, webhook)
        if isinstance(known, Refusal):
            return known
    found = await call.in_store(lambda connection: webhooks.dead(connection, webhook, after, limit=page.limit + 1))
    following = str(found[page.limit - 1].number) if len(found) > page.limit else None
    return DeadLetters([_letter(each) for each in found[: page.limit]], following)


def _letter(delivery: Delivery) -> DeadLetter:
    return DeadLetter(
        id=str(delivery.number),
        webhook=delivery.webhook,
        message=delivery.message,
        event=delivery.event,
        phase=delivery.phase,
        made_at=delivery.made_at,
        tries=delivery.tries,
        problem=delivery.problem,
        dead_at=delivery.dead_at,
    )


async def resend(call: Call, body: ResendBody) -> Resent | Refusal:
    """Try dead letters of a webhook once more."""
    letters: list[int] | None = None
    if body.letters is not None:
        numbers = [whole_number(each) for each in body.letters]
        letters = [number for number in numbers if number is not None]
        if len(letters) != len(numbers):
            return bad_request("An id of a dead letter is a number.", "forewarn webhook dead")
    outcome = await call.on_plane(call.context.webhooks.resend, call.path("id"), letters)
    return outcome if isinstance(outcome, Refusal) else Resent(outcome)


async def send_test(call: Call, _: Nothing) -> WebhookTested | Refusal:
    """Send one test message now, and wait for the answer."""
    sent = await call.on_plane(call.context.webhooks.test, call.path("id"), call.actor)
    if isinstance(sent, Refusal):
        return sent
    tested = await asyncio.wrap_future(sent.outcome)
    return WebhookTested(
        webhook=sent.webhook.id,
        url=sent.webhook.shown_url,
        message=sent.message,
        has_arrived=not tested.reply.problem,
        status=tested.reply.status,
        latency_ms=round(tested.seconds * 1000, 1),
        problem=tested.reply.problem,
    )


_DEAD = {"webhook": "only this webhook's"} | PAGE

ENDPOINTS = [
    Endpoint("GET", "/v1/webhooks", list_webhooks, "All webhooks, the oldest first", WebhookList),
    Endpoint(
        "POST",
        "/v1/webhooks",
        add_webhook,
        "Add a webhook; its secret is told once",
        WebhookAdded,
        201,
        WebhookBody,
        role=Role.ADMIN,
    ),
    Endpoint("GET", "/v1/webhooks/dead", list_dead, "What was given up", DeadLetters, query=_DEAD),
    Endpoint("GET", "/v1/webhooks/{id}", show_webhook, "One webhook", WebhookView),
    Endpoint(
        "DELETE",
        "/v1/webhooks/{id}",
        remove_webhook,
        "Remove a webhook, with all that it was not told",
        WebhookView,
        role=Role.ADMIN,
    ),
    Endpoint(
        "POST",
        "/v1/webhooks/{id}/resend",
        resend,
        "Send dead letters of a webhook again",
        Resent,
        body=ResendBody,
    ),
    Endpoint("POST", "/v1/webhooks/{id}/test", send_test, "Send a test message to a webhook now", WebhookTested),
]

"""The audit: who did what, and when."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Annotated

import msgspec
from starlette.responses import Response

from forewarn.control.plane import ControlPlane
from forewarn.core.refusal import Refusal
from forewarn.operator.endpoint import LARGEST_PAGE, Call, Endpoint, Nothing, PageQuery, bad_request, whole_number
from forewarn.operator.events import find_event, not_there
from forewarn.operator.filters import (
    FORM,
    SPAN,
    Kept,
    Malformed,
    as_csv,
    kept_by,
    no_cursor,
    page_of,
    span_of,
    text_of,
    wants_csv,
)
from forewarn.operator.fleet import PAGE
from forewarn.operator.roles import Role
from forewarn.store import audit, history
from forewarn.store.audit import DeedFilter, NumberedDeed
from forewarn.wire.csv_rows import rows_of
from forewarn.wire.history import DeedView, deed_view


class Audit(msgspec.Struct):
    """A page of who did what, newest first."""

    audit: list[DeedView]
    next: str | None = None
    kept: Annotated[Kept | None, msgspec.Meta(description="how far back it goes; null: all the way")] = None


async def show_audit(call: Call, _: Nothing) -> Audit | Response | Refusal:
    """Who did what, newest first."""
    try:
        page, in_csv, asked = page_of(call), wants_csv(call), _parsed(call)
        before = _cursor(page)
    except Malformed as problem:
        return problem.refusal
    wanted = await call.on_plane(_checked, call.context.plane, asked)
    if isinstance(wanted, Refusal):
        return wanted
    if in_csv:
        limit = page.limit if call.query("limit") else None
        return await as_csv(DeedView, "audit", _in_csv(call, wanted, before, limit))
    found = await _read(call, wanted, before, page.limit + 1)
    views = [deed_view(each.deed) for each in found[: page.limit]]
    following = str(found[page.limit - 1].number) if len(found) > page.limit else None
    return Audit(views, following, kept_by(call.context.plane.retention))


def _cursor(page: PageQuery) -> int | None:
    if page.after is None:
        return None
    before = whole_number(page.after)
    if before is None:
        raise no_cursor(page.after)
    return before


async def _read(
    call: Call, wanted: DeedFilter, before: int | None, limit: int, *, is_first: bool = True
) -> list[NumberedDeed]:
    read = partial(audit.list_deeds, wanted=wanted, before=before, limit=limit)
    return await call.in_store(read, is_first=is_first)


async def _in_csv(call: Call, wanted: DeedFilter, before: int | None, limit: int | None) -> AsyncIterator[bytes]:
    is_first = True
    while True:
        found = await _read(call, wanted, before, limit or LARGEST_PAGE, is_first=is_first)
        yield rows_of(deed_view(each.deed) for each in found)
        if limit is not None or len(found) < LARGEST_PAGE:
            return
        before, is_first = found[-1].number, False


def _parsed(call: Call) -> DeedFilter:
    """The filter that is asked for; only an admin is told who may sign in."""
    span, operation = span_of(call), text_of(call, "operation")
    return DeedFilter(
        actor=text_of(call, "actor"),
        operation=operation.lower() if operation else None,
        event=text_of(call, "event"),
        since=span.since,
        until=span.until,
        with_credentials=call.caller.role.allows(Role.ADMIN),
    )


def _checked(plane: ControlPlane, wanted: DeedFilter) -> DeedFilter | Refusal:
    """The filter, once it is known that there are such an event and such an operation."""
    if wanted.event is not None:
        return _of_event(plane, wanted, wanted.event)
    if wanted.operation is None:
        return wanted
    with plane.store.transaction() as transaction:
        is_known = history.find_operation(transaction.connection, wanted.operation) is not None
    return wanted if is_known else not_there(plane, "operation", wanted.operation)


def _of_event(plane: ControlPlane, wanted: DeedFilter, name: str) -> DeedFilter | Refusal:
    found = find_event(plane, name)
    if isinstance(found, Refusal):
        return found
    if wanted.operation not in {None, found.operation}:
        return bad_request(
            f"Event {found.short_id} belongs to operation {found.operation}, not to {wanted.operation}.",
            "Name one of the two.",
        )
    return replace(wanted, operation=found.operation, event=found.id)


ENDPOINTS = [
    Endpoint(
        "GET",
        "/v1/audit",
        show_audit,
        "Who did what, newest first; who may sign in, for admins only",
        Audit,
        query={
            "actor": "only what was done in this name",
            "event": "only what was done about this event, by its id or a beginning of it",
            "operation": "only what was done about this operation",
        }
        | SPAN
        | FORM
        | PAGE,
        also_csv=True,
    ),
]

"""The history: what has ended, by filters, in pages or as a table; and what it comes to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Annotated, TypeVar

import msgspec
import sqlalchemy as sa
from starlette.responses import Response

from forewarn.core.history import HistoryEntry, Summing
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.terms import Kind
from forewarn.operator.endpoint import LARGEST_PAGE, Call, Endpoint, Nothing, PageQuery
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
    word_of,
)
from forewarn.operator.fleet import PAGE
from forewarn.store import lines
from forewarn.store.figures import list_figures
from forewarn.store.lines import Cursor, Filter
from forewarn.wire.csv_rows import rows_of
from forewarn.wire.history import HistoryRow, SummaryView, history_row, summary_view

T = TypeVar("T")

_OUTCOMES = [phase for phase in Phase if not phase.is_open]
_LISTS = {
    "VM": "forewarn vm list",
    "set": "forewarn fleet show",
    "scope": "forewarn scope list",
    "rollout": "forewarn rollout list",
}


class History(msgspec.Struct):
    """A page of what has happened, newest first."""

    history: list[HistoryRow]
    next: str | None = None
    kept: Annotated[Kept | None, msgspec.Meta(description="how far back it goes; null: all the way")] = None


async def show_history(call: Call, _: Nothing) -> History | Response | Refusal:
    """What has happened, newest first."""
    try:
        page, wanted, in_csv = page_of(call), _parsed(call), wants_csv(call)
        after = _cursor(page)
    except Malformed as problem:
        return problem.refusal
    if refusal := await _unknown(call, wanted):
        return refusal
    if in_csv:
        limit = page.limit if call.query("limit") else None
        return await as_csv(HistoryRow, "history", _in_csv(call, wanted, after, limit))
    kept = kept_by(call.context.plane.retention)
    return History(*await _read(call, wanted, after, page.limit, _rows), kept)


async def summarise(call: Call, _: Nothing) -> SummaryView | Refusal:
    """What the lines that fit come to."""
    try:
        wanted = _parsed(call)
    except Malformed as problem:
        return problem.refusal
    if refusal := await _unknown(call, wanted):
        return refusal
    summing, after = Summing(), None
    while True:
        read = partial(list_figures, wanted=wanted, after=after, limit=LARGEST_PAGE)
        figures, after = await call.in_store(read, is_first=after is None)
        summing.add(figures)
        if after is None:
            return summary_view(summing.summary())


def _rows(found: list[HistoryEntry]) -> list[HistoryRow]:
    return [history_row(line) for line in found]


async def _read(
    call: Call,
    wanted: Filter,
    after: Cursor | None,
    limit: int,
    make: Callable[[list[HistoryEntry]], T],
    *,
    is_first: bool = True,
) -> tuple[T, str | None]:
    """What is made of a page, on the thread that reads it; and where the next one begins."""

    def read(connection: sa.Connection) -> tuple[T, str | None]:
        found = lines.list_history(connection, wanted, after=after, limit=limit + 1)
        is_more = len(found) > limit
        return make([line for _, line in found[:limit]]), str(found[limit - 1][0]) if is_more else None

    return await call.in_store(read, is_first=is_first)


async def _pages(
    call: Call, wanted: Filter, after: Cursor | None, make: Callable[[list[HistoryEntry]], T]
) -> AsyncIterator[T]:
    """What is made of each page, to the end; nothing is held in between."""
    is_first = True
    while True:
        made, then = await _read(call, wanted, after, LARGEST_PAGE, make, is_first=is_first)
        yield made
        if then is None:
            return
        after, is_first = Cursor.parse(then), False


async def _in_csv(call: Call, wanted: Filter, after: Cursor | None, limit: int | None) -> AsyncIterator[bytes]:
    def make(found: list[HistoryEntry]) -> bytes:
        return rows_of(_rows(found))

    if limit is not None:
        made, _ = await _read(call, wanted, after, limit, make)
        yield made
        return
    async for each in _pages(call, wanted, after, make):
        yield each


async def _unknown(call: Call, wanted: Filter) -> Refusal | None:
    """What the filter names has to be, or to have been: else it is a slip of the pen, and no empty list."""
    if (wanted.vm, wanted.set_name, wanted.scope, wanted.rollout) == (None, None, None, None):
        return None
    unknown = await call.in_store(partial(lines.find_unknown, wanted=wanted))
    if unknown is None:
        return None
    what, name = unknown
    keep = call.context.plane.retention.keep
    if what == "rollout" and keep is not None:  # it goes with what it did
        hint = f"What ended more than {keep.days} days ago is not kept (--history-days). {_LISTS[what]}"
        return Refusal(Code.NOT_FOUND, f"There is no rollout {name}.", hint)
    return Refusal(Code.NOT_FOUND, f"There is no {what} {name}, and there never was.", _LISTS.get(what, ""))


def _parsed(call: Call) -> Filter:
    """The filter that is asked for."""
    span = span_of(call)
    return Filter(
        vm=text_of(call, "vm"),
        set_name=text_of(call, "set"),
        tag=_tag(text_of(call, "tag")),
        kind=word_of(call, "kind", Kind),
        scope=text_of(call, "scope"),
        outcome=word_of(call, "outcome", _OUTCOMES),
        asked_by=text_of(call, "asked_by"),
        rollout=text_of(call, "rollout"),
        since=span.since,
        until=span.until,
    )


def _tag(text: str | None) -> tuple[str, str | None] | None:
    if text is None:
        return None
    key, equals, value = text.partition("=")
    if not key:
        raise Malformed(f"tag is {text!r}, which has no key.", "Write it like team, or team=blue.")
    return key, value if equals else None


def _cursor(page: PageQuery) -> Cursor | None:
    if page.after is None:
        return None
    try:
        return Cursor.parse(page.after)
    except ValueError:
        raise no_cursor(page.after) from None


_FILTER = {
    "vm": "only what concerned this VM, deleted ones too",
    "set": "only what concerned VMs of this availability set, scale set or cloud service",
    "tag": "only what concerned VMs with this tag: `team` or `team=blue`",
    "kind": "Freeze, Reboot, Redeploy, Preempt or Terminate",
    "scope": "only this scope's events",
    "outcome": "Completed, Cancelled or Failed",
    "asked_by": "only what this name asked for",
    "rollout": "only what this rollout did: its id, or the beginning of it",
} | SPAN

ENDPOINTS = [
    Endpoint(
        "GET",
        "/v1/history",
        show_history,
        "What has ended, newest first",
        History,
        query=_FILTER | FORM | PAGE,
        also_csv=True,
    ),
    Endpoint(
        "GET",
        "/v1/history/summary",
        summarise,
        "What the history comes to: outcomes, notice, interruptions, who let events start",
        SummaryView,
        query=_FILTER,
    ),
]

"""What a list of what has been may be asked for: filters, spans of time, and the form of the answer.

Each function reads one parameter, and raises `Malformed` with the refusal where it makes no sense.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Annotated, NamedTuple, TypeVar

import msgspec
from starlette.responses import Response, StreamingResponse

from forewarn.control.retention import Retention
from forewarn.core.refusal import Refusal
from forewarn.operator.endpoint import CSV, Call, PageQuery, bad_cursor, bad_request
from forewarn.operator.readers import ClientGone
from forewarn.wire.choices import either
from forewarn.wire.csv_rows import header_of
from forewarn.wire.rest import Instant
from forewarn.wire.times import iso, parse_instant

E = TypeVar("E", bound=StrEnum)

SPAN = {
    "since": "only what was then or later, ISO 8601 (`2026-03-02`, `2026-03-02T12:00:00Z`)",
    "until": "only what was before then",
}
FORM = {"format": "`json` or `csv`; else what `Accept` says. CSV without `limit` is everything there is"}


class Kept(msgspec.Struct):
    """How far back a list goes."""

    since: Annotated[Instant, msgspec.Meta(description="what ended before is let go of")]
    days: Annotated[int, msgspec.Meta(description="what `--history-days` says")]


def kept_by(retention: Retention) -> Kept | None:
    """How far back a list goes; None: all the way."""
    since = retention.kept_since
    return None if since is None or retention.keep is None else Kept(since, retention.keep.days)


class Malformed(ValueError):
    """A parameter makes no sense; why, as it is told."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.refusal = bad_request(message, hint)


class Span(NamedTuple):
    """From when to when."""

    since: datetime | None
    until: datetime | None


def page_of(call: Call) -> PageQuery:
    """Which part of the list is wanted."""
    page = call.page()
    if isinstance(page, Refusal):
        raise Malformed(page.message, page.hint)
    return page


def no_cursor(text: str) -> Malformed:
    """What was sent as `after` is none that was ever given out."""
    refusal = bad_cursor(text)
    return Malformed(refusal.message, refusal.hint)


def text_of(call: Call, name: str) -> str | None:
    """A parameter that names something."""
    text = call.query(name)
    if text is not None and (not text or "\0" in text):
        raise Malformed(f"{name} is {text!r}, which names nothing.", f"Name something, or leave {name} out.")
    return text


def span_of(call: Call) -> Span:
    """The span of time that is asked for."""
    since, until = _instant(call, "since"), _instant(call, "until")
    if since is not None and until is not None and since >= until:
        raise Malformed(
            f"since is {iso(since)} and until is {iso(until)}: nothing lies between.",
            "Let since be the earlier one.",
        )
    return Span(since, until)


def _instant(call: Call, name: str) -> datetime | None:
    text = call.query(name)
    if text is None:
        return None
    try:
        return parse_instant(text)
    except (ValueError, OverflowError):
        raise Malformed(
            f"{name} is {text!r}, which is no instant.",
            "Write it like 2026-03-02T12:00:00Z; a + of a time zone has to be sent as %2B.",
        ) from None


def word_of(call: Call, name: str, known: Iterable[E]) -> E | None:
    """A parameter that is one of a few words, in any case."""
    text = call.query(name)
    if text is None:
        return None
    words = {str(word).lower(): word for word in known}
    if found := words.get(text.lower()):
        return found
    raise Malformed(f"{text!r} is no {name}.", f"It can be {either(words.values())}.")


def wants_csv(call: Call) -> bool:
    """Whether the answer is to be CSV: `format` says so, or else `Accept`."""
    text = call.query("format")
    if text is None:
        return _prefers_csv(call.request.headers.get("accept", ""))
    if text.lower() not in {"json", "csv"}:
        raise Malformed(f"{text!r} is no format.", "It can be json or csv.")
    return text.lower() == "csv"


def _prefers_csv(accept: str) -> bool:
    """Whether CSV is named, and nothing that JSON would do for is liked better."""
    liked: dict[str, float] = {}
    for each in accept.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        liked[name] = next((_weight(part[2:]) for part in parameters if part.startswith("q=")), 1.0)
    json = max(liked.get(name, 0.0) for name in ("application/json", "application/*", "*/*"))
    return liked.get(CSV, 0.0) > 0 and liked[CSV] >= json


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


async def as_csv(kind: type[msgspec.Struct], name: str, pages: AsyncIterator[bytes]) -> Response:
    """Rows of this kind, sent as they are read; the first of them before anything is said, so that it can fail."""
    first = await anext(pages)

    async def told() -> AsyncIterator[bytes]:
        yield header_of(kind) + first
        with suppress(ClientGone):
            async for page in pages:
                yield page

    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"', "Vary": "Accept"}
    return StreamingResponse(told(), media_type=f"{CSV}; charset=utf-8; header=present", headers=headers)

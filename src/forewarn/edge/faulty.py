"""What faults make of an answer, without sockets.

A document that was changed goes out without its tag: the fault is over when its rule is, and does not live on in a
condition that a guest sends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import msgspec

from forewarn.board.board import Panel
from forewarn.board.faults import FaultHit
from forewarn.core.fault import DOCUMENT_MEMBERS, About, Fault, FaultRule, Target
from forewarn.wire.http import Answer, answer, to_json
from forewarn.wire.imds import errors
from forewarn.wire.imds.request import ApproveEvents, ReadEvents, Wish
from forewarn.wire.imds.versions import EventsVersion
from forewarn.wire.times import rfc1123

_SENTENCES = MappingProxyType(
    {
        400: "Bad request",
        404: "Not found",
        410: "Gone. Try again",
        429: "Too many requests",
        500: "Internal error. Try again",
        503: "Service unavailable. Try again",
    }
)
_PROXY_PAGE = (
    b"<!DOCTYPE html>\n<html><head><title>Proxy</title></head>\n"
    b"<body><h1>Proxy</h1><p>The page that you asked for cannot be shown.</p></body></html>\n"
)

Document = dict[str, Any]
Change = Callable[[FaultHit, Document], list[str] | None]


class Spoiled(NamedTuple):
    """A changed answer to a poll."""

    answer: Answer
    events: tuple[str, ...] = ()  # of which the guest is told what is not so
    hangs_up: bool = False
    skew: timedelta = timedelta(0)  # of the date that it comes with


def about(wish: Wish) -> About:
    """What a request is about, for the rules."""
    match wish:
        case ReadEvents():
            return About.DOCUMENT
        case ApproveEvents():
            return About.APPROVAL
        case _:
            return About.INSTANCE


def refusal(rule: FaultRule) -> Answer:
    """The answer of somebody who does nothing of what was asked."""
    code = cast("int", rule.options["code"])
    if rule.name is Fault.PROXY_PAGE:
        return answer(code, _PROXY_PAGE, content_type="text/html")
    wait = rule.options["retry_after"]
    return errors.error(code, _SENTENCES[code], () if wait is None else (("Retry-After", str(wait)),))


def changes_document(rule: FaultRule) -> bool:
    """Whether the fault is in what a poll is answered with."""
    return rule.form.target is Target.POLL and rule.name is not Fault.FIRST_CALL


def spoil(hit: FaultHit, panel: Panel, version: EventsVersion) -> Spoiled | None:
    """What the guest is answered instead of its document; None: there is nothing in it to be changed."""
    rule, whole = hit.rule, panel.page.answer(version)
    if rule.name is Fault.TRUNCATED:
        return _truncated(rule, whole)
    if rule.name is Fault.STALE:
        return None if panel.previous is None else _stale(whole, panel.previous.answer(version))
    document = msgspec.json.decode(whole.body)
    events = _CHANGES[rule.name](hit, document)
    if events is None:
        return None
    skew = rule.seconds if rule.name is Fault.CLOCK_SKEW else 0
    return Spoiled(answer(200, to_json(document)), tuple(events), skew=timedelta(seconds=skew))


def skewed(date: bytes, by: timedelta) -> bytes:
    """The header of a date, by a clock that is so far ahead."""
    name, _, text = date.partition(b": ")
    at = parsedate_to_datetime(text.strip().decode("ascii"))
    return b"%s: %s\r\n" % (name, rfc1123(at + by).encode("ascii"))


def _truncated(rule: FaultRule, whole: Answer) -> Spoiled | None:
    keep = rule.options["keep"]
    left = whole.body[: len(whole.body) // 2 if keep is None else cast("int", keep)]
    if len(left) == len(whole.body):
        return None
    if rule.options["hangs_up"]:
        return Spoiled(Answer(whole.status, whole.head, b"\r\n" + left), hangs_up=True)
    return Spoiled(answer(200, left))


def _stale(whole: Answer, stale: Answer) -> Spoiled:
    """The document as it was, with the tag that it had: a cache would send no less."""
    now, then = (
        {each["EventId"]: each for each in _events(msgspec.json.decode(it.body))} for it in (whole, stale)
    )
    return Spoiled(stale, tuple(each for each in {**now, **then} if now.get(each) != then.get(each)))


def _events(document: Document) -> list[Document]:
    return cast("list[Document]", document["Events"])


def _ids(events: list[Document]) -> list[str]:
    return [each["EventId"] for each in events]


def _null_events(_hit: FaultHit, document: Document) -> list[str]:
    told, document["Events"] = _events(document), None
    return _ids(told)


def _missing_members(hit: FaultHit, document: Document) -> list[str] | None:
    members = cast("tuple[str, ...]", hit.rule.options["members"])
    events = _events(document)
    concerned = [event for event in events if "Events" in members or any(each in event for each in members)]
    told = _ids(concerned)
    for member in members:
        for event in concerned:
            event.pop(member, None)
    whole = [document.pop(member) for member in members if member in DOCUMENT_MEMBERS]
    return told if told or whole else None


def _duplicated(hit: FaultHit, document: Document) -> list[str] | None:
    events = _events(document)
    if not events:
        return None
    which = hit.choose(len(events))
    events.insert(which, events[which])
    return [events[which]["EventId"]]


def _lost(hit: FaultHit, document: Document) -> list[str] | None:
    events = _events(document)
    return [events.pop(hit.choose(len(events)))["EventId"]] if events else None


def _clock_skew(hit: FaultHit, document: Document) -> list[str]:
    by = timedelta(seconds=hit.rule.seconds)
    dated = [event for event in _events(document) if event["NotBefore"]]
    for event in dated:
        event["NotBefore"] = rfc1123(_parse(event["NotBefore"]) + by)
    return _ids(dated)


def _parse(text: str) -> datetime:
    return parsedate_to_datetime(text)


_CHANGES: Mapping[Fault, Change] = MappingProxyType(
    {
        Fault.NULL_EVENTS: _null_events,
        Fault.MISSING_MEMBERS: _missing_members,
        Fault.DUPLICATED: _duplicated,
        Fault.LOST: _lost,
        Fault.CLOCK_SKEW: _clock_skew,
    }
)

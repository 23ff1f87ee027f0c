"""Faults put into the engine, for tests: a law is broken on purpose, and the event says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.fault import Fault
from forewarn.core.notice import in_words, notice_ends
from forewarn.core.phase import Phase


def announced(draft: Draft) -> dict[str, list[Event]]:
    """The events that the draft announces, by operation."""
    found: dict[str, list[Event]] = {}
    for event in draft.shown_events():
        if event.phase is Phase.SCHEDULED and event.id not in draft.world.events:
            found.setdefault(event.operation, []).append(event)
    return found


def start_early(draft: Draft, event: Event, by: timedelta) -> None:
    """Let the event start so long before its NotBefore; at the earliest at once."""
    early = min(by, event.notice)
    what = f"it starts {in_words(early)} before its NotBefore, unless it is approved sooner"
    _mark(draft, replace(event, early=early), Fault.EARLY_START, what)


def shorten_notice(draft: Draft, event: Event, notice: timedelta) -> bool:
    """Announce the event with this notice instead; whether it is shorter."""
    if notice >= event.notice:
        return False
    not_before = notice_ends(draft.now, notice)
    what = f"{in_words(notice)} of notice instead of {in_words(event.notice)}"
    moved = replace(event, notice=notice, not_before=not_before, promised_at=not_before)
    _mark(draft, moved, Fault.SHORTENED_NOTICE, what)
    return True


def mark_told(draft: Draft, vm: str, events: Iterable[str], fault: Fault) -> None:
    """Write down that a guest was told of these events what is not so; once per event and fault."""
    for name in events:
        event, what = draft.world.events.get(name), f"{vm} was told what is not so"
        if event is None:  # it has ended, and stays as it is
            draft.note("fault", event=name, subject=vm, detail=f"{fault}: {what}")
        elif fault not in event.faults:
            _mark(draft, event, fault, what)


def _mark(draft: Draft, event: Event, fault: Fault, what: str) -> None:
    draft.put(replace(event, fault=", ".join(sorted({*event.faults, fault}))))
    draft.note("fault", operation=event.operation, event=event.id, subject=event.title, detail=f"{fault}: {what}")

"""Notes on a guest, written by hand: what it asked, and what became of its events, second by second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
from forewarn.report.findings import find
from forewarn.report.moment import Moment, Pace
from forewarn.report.notes import EventLife, GuestNotes

START = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)
NEWEST = "2020-07-01"
BLIND = frozenset({"2017-03-01", "2017-08-01", "2017-11-01"})


def at(seconds: float, real: float | None = None) -> Moment:
    """So many seconds later, by both clocks unless the real one goes otherwise."""
    return Moment(START + timedelta(seconds=seconds), seconds, seconds if real is None else real)


def polled(*moments: Moment, version: str = NEWEST) -> GuestNotes:
    """A guest that has asked for the document then, and was given it."""
    notes = GuestNotes("web-0")
    for moment in moments:
        poll(notes, moment, version)
    return notes


def poll(notes: GuestNotes, moment: Moment, version: str = NEWEST) -> None:
    _ask(notes, moment)
    notes.errors.end()
    notes.read(moment, version)


def _ask(notes: GuestNotes, moment: Moment) -> None:
    notes.ask(moment)
    notes.begin_poll(moment)
    notes.end_poll(moment)


def keep_asking(notes: GuestNotes, first: int, last: int) -> None:
    """It asks every few seconds meanwhile, and is told that nothing has changed."""
    for second in range(first, last + 1, 5):
        poll(notes, at(second))


def be_away(notes: GuestNotes, first: float, last: float | None = None) -> None:
    """Its machine cannot ask meanwhile; or from then on."""
    notes.presence.be_away(at(first))
    if last is not None:
        notes.presence.be_back(at(last))


def fail(notes: GuestNotes, moment: Moment, status: int = 503) -> None:
    _ask(notes, moment)
    notes.errors.add(status, moment, is_put_in=True)


def reboot(notes: GuestNotes, whose: str = "web-0", kind: Kind = Kind.REBOOT) -> EventLife:
    """An event that is announced at second 10 and shown at 11."""
    life = EventLife("ID", kind, (whose,), 900.0, announced=at(10))
    see(notes, at(11), life)
    return life


def see(notes: GuestNotes, moment: Moment, *lives: EventLife) -> None:
    poll(notes, moment)
    notes.see(
        moment, {each.id: each.phase is Phase.SCHEDULED for each in lives}, {each.id: each for each in lives}
    )


def start(life: EventLife, second: float, *approved_by: str) -> None:
    life.phase, life.started, life.approved_by = Phase.STARTED, at(second), approved_by
    if approved_by:
        life.approved = at(second)


def end(life: EventLife, second: float, phase: Phase = Phase.COMPLETED) -> None:
    life.phase, life.ended = phase, at(second)


def codes(notes: GuestNotes, now: Moment, pace: Pace = Pace.VIRTUAL) -> set[str]:
    return {each.finding for each in find(notes, now, pace, BLIND, NEWEST)}


def every(seconds: float, *, count: int = 10) -> list[Moment]:
    return [at(number * seconds) for number in range(count)]

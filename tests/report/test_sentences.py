"""The sentences of the client report, in one golden file.

After a change that is meant, write it anew with FOREWARN_WRITE_GOLDEN=1 and read the difference.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
from forewarn.report.findings import Finding
from forewarn.report.moment import Pace
from forewarn.report.notes import EventLife, GuestNotes
from forewarn.report.views import report_on
from tests.report.notes import NEWEST, at, end, every, fail, keep_asking, poll, polled, reboot, see, start

GOLDEN = Path(__file__).parent / "golden/sentences.txt"
OLDEST = "2017-03-01"


def guests() -> Iterator[tuple[GuestNotes, float]]:
    """Guests with every finding there is, and the second at which each is judged."""
    yield GuestNotes("web-0"), 0
    yield polled(*every(1)), 10
    yield polled(*every(20)), 181
    yield polled(*every(1), at(50)), 51
    yield polled(*[at(0)] * 8), 1
    yield _with_old_version(), 10
    yield _with_bad_requests(), 10
    yield _with_errors(), 200
    yield _missing_an_event(), 60
    yield _not_reading_an_event(), 45
    yield _learning_late(), 60
    yield _deaf_to_the_end(), 400
    yield _never_approving(), 80
    yield _approving_late(), 950
    yield _approving_others_again(), 60
    yield _hindered(), 60


def _with_old_version() -> GuestNotes:
    notes = polled(*every(1), version=OLDEST)
    notes.headerless = 1
    return notes


def _with_bad_requests() -> GuestNotes:
    notes = GuestNotes("web-0")
    for moment in every(1):
        fail(notes, moment, 400)
        notes.bad_requests += 1
    return notes


def _with_errors() -> GuestNotes:
    notes = polled(*every(1))
    for tenth in range(6):
        fail(notes, at(10 + tenth / 10), 503 if tenth % 2 else 0)
    notes.errors.add_unawaited(at(11))
    return notes


def _preempt(notes: GuestNotes) -> EventLife:
    life = EventLife("ID", Kind.PREEMPT, ("web-0",), 30.0, announced=at(10))
    notes.add_event(life)
    return life


def _missing_an_event() -> GuestNotes:
    notes = polled(*every(1))
    life = _preempt(notes)
    start(life, 40)
    end(life, 55)
    poll(notes, at(59))
    return notes


def _not_reading_an_event() -> GuestNotes:
    notes = polled(*every(1))
    _preempt(notes)
    return notes


def _learning_late() -> GuestNotes:
    notes = polled(*every(1))
    life = _preempt(notes)
    start(life, 40)
    see(notes, at(41), life)
    return notes


def _deaf_to_the_end() -> GuestNotes:
    notes = polled(*every(1))
    end(reboot(notes), 100, Phase.CANCELLED)
    return notes


def _never_approving() -> GuestNotes:
    notes = polled(*every(1))
    start(reboot(notes), 75, "web-1")
    keep_asking(notes, 12, 75)
    return notes


def _approving_late() -> GuestNotes:
    notes = polled(*every(1))
    life = reboot(notes)
    keep_asking(notes, 12, 910)
    start(life, 910)
    notes.approve(at(920), life, NEWEST)
    return notes


def _approving_others_again() -> GuestNotes:
    notes = polled(*every(1))
    life = reboot(notes, whose="web-1")
    for second in (12, 13, 14):
        notes.approve(at(second), life, NEWEST)
    return notes


def _hindered() -> GuestNotes:
    notes = polled(*every(1))
    life = _preempt(notes)
    for second in range(11, 56):
        poll(notes, at(second))
        notes.note_hit("null_events", at(second), at(second), {})
    start(life, 40)
    end(life, 55)
    return notes


def test_report_reads_as_in_the_golden_file():
    text, codes = "", set()
    for notes, now in guests():
        report = report_on(notes, at(now), Pace.VIRTUAL)
        codes |= {each.code for each in report.findings}
        lines = [report.summary, *(f"{each.code}: {each.sentence}" for each in report.findings), *report.facts]
        text += "\n".join(lines) + "\n\n"
    if os.environ.get("FOREWARN_WRITE_GOLDEN") == "1":
        GOLDEN.write_text(text)

    assert codes == set(Finding), "every finding needs a guest here"
    assert text == GOLDEN.read_text()

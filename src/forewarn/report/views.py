"""The client report as JSON, with sentences for people.

Pure functions of the notes. The codes of findings are stable; sentences may change.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
from forewarn.report.findings import (
    ANY_EVENT,
    Finding,
    about_event,
    approved_after,
    find,
    has_given_up,
    longest_gap,
    names,
    noticed_end_after,
    over_the_limit,
    usual_gap,
)
from forewarn.report.moment import Moment, Pace
from forewarn.report.notes import LIMIT_PER_SECOND, EventNotes, GuestNotes
from forewarn.report.sentences import facts_of, sentence_of, summary_of
from forewarn.wire.imds.versions import EVENTS_VERSIONS, NEWEST_EVENTS_VERSIONS
from forewarn.wire.rest import Instant

_NEWEST = NEWEST_EVENTS_VERSIONS[0]
_BLIND = frozenset(name for name, version in EVENTS_VERSIONS.items() if len(version.kinds) < len(Kind))
_HANG_UP = "hang-up"

Seconds = Annotated[float | None, msgspec.Meta(description="seconds by the clock of the report; null: none")]


class FindingView(msgspec.Struct):
    """A finding: a code for programs, a sentence for people."""

    code: Finding
    is_fault: Annotated[bool, msgspec.Meta(description="something to fix; otherwise good to know")]
    count: int
    event: Annotated[str | None, msgspec.Meta(description="the newest event with this finding")]
    sentence: str


class PollsView(msgspec.Struct):
    """Its polls."""

    count: int
    answered: Annotated[int, msgspec.Meta(description="with the document, or with 304")]
    first_at: Instant | None
    last_at: Instant | None
    usual_gap_seconds: Seconds
    longest_gap_seconds: Seconds
    since_last_seconds: Seconds


class LimitView(msgspec.Struct):
    """Whether it kept within the request limit."""

    requests_per_second: int
    is_kept: bool
    beyond: Annotated[int, msgspec.Meta(description="requests beyond the limit, or that would have been with one")]


class ErrorsView(msgspec.Struct):
    """Answers of 400 and more, closed connections, and answers that it did not await; and what it did then."""

    count: int
    by_status: dict[str, int]
    unawaited: Annotated[int, msgspec.Meta(description="answers that a fault delayed and it did not await")]
    put_in: Annotated[int, msgspec.Meta(description="errors by faults")]
    most_in_a_row: int
    returns: Annotated[int, msgspec.Meta(description="how often it asked again after an error")]
    longest_return_seconds: Seconds
    hammered: int
    gave_up: bool


class EventConductView(msgspec.Struct):
    """What it saw and did of an event that it could see, or that named its VM."""

    event: str
    kind: Kind | None
    phase: Phase
    resources: list[str]
    names_it: bool
    announced_at: Annotated[Instant | None, msgspec.Meta(description="null: it was Started at once")]
    first_shown_at: Annotated[Instant | None, msgspec.Meta(description="the first answer with the event")]
    approvals: int
    approved_at: Instant | None
    approved_after_seconds: Seconds
    started_at: Instant | None
    ended_at: Instant | None
    end_noticed_after_seconds: Seconds
    findings: list[Finding]


class GuestReport(msgspec.Struct):
    """The report on one guest."""

    vm: str
    is_good: Annotated[bool, msgspec.Meta(description="it reads the document, and there is nothing to fix")]
    summary: str
    findings: list[FindingView]
    facts: Annotated[list[str], msgspec.Meta(description="the values below, in sentences")]
    requests: int
    polls: PollsView
    limit: LimitView
    versions: Annotated[dict[str, int], msgspec.Meta(description="api-versions, and how often it read each")]
    approval_versions: dict[str, int]
    approvals: Annotated[int, msgspec.Meta(description="of single events, that were accepted")]
    refused_approvals: int
    bad_requests: Annotated[int, msgspec.Meta(description="malformed requests")]
    errors: ErrorsView
    events: Annotated[list[EventConductView], msgspec.Meta(description="the newest, oldest first")]
    earlier_events: Annotated[int, msgspec.Meta(description="older events, which count in findings only")]


class Report(msgspec.Struct):
    """The reports on guests since the service started."""

    pace: Annotated[Pace, msgspec.Meta(description="the clock that counts the seconds")]
    guests: list[GuestReport]
    unheard: Annotated[int, msgspec.Meta(description="VMs that have sent no request")]
    next: str | None = None


def report_on(notes: GuestNotes, now: Moment, pace: Pace) -> GuestReport:
    """The report on one guest."""
    found = find(notes, now, pace, _BLIND, _NEWEST)
    has_fault = any(each.is_fault for each in found)
    is_struck = 0 < notes.ended_polls == notes.hit_polls  # faults hit every poll
    return GuestReport(
        vm=notes.vm,
        is_good=(bool(notes.documents) or is_struck) and not has_fault,
        summary=summary_of(notes, found),
        findings=[
            FindingView(
                each.finding,
                each.is_fault,
                each.count,
                None if each.event is None else each.event.life.id,
                sentence_of(each, notes, now, pace),
            )
            for each in found
        ],
        facts=facts_of(notes, now, pace),
        requests=notes.requests,
        polls=_polls(notes, now, pace),
        limit=_limit(notes, pace),
        versions=dict(sorted(notes.versions.items())),
        approval_versions=dict(sorted(notes.approval_versions.items())),
        approvals=notes.approvals,
        refused_approvals=notes.refused_approvals,
        bad_requests=notes.bad_requests,
        errors=_errors(notes, now, pace),
        events=[_event(notes, each, now, pace) for each in notes.events.values()],
        earlier_events=notes.dropped[ANY_EVENT],
    )


def _polls(notes: GuestNotes, now: Moment, pace: Pace) -> PollsView:
    last = notes.last_poll
    return PollsView(
        count=notes.polls,
        answered=notes.documents,
        first_at=_at(notes.first_poll),
        last_at=_at(last),
        usual_gap_seconds=_rounded(usual_gap(notes, pace)),
        longest_gap_seconds=_rounded(longest_gap(notes, now, pace)),
        since_last_seconds=None if last is None else _rounded(now.by(pace) - last.by(pace)),
    )


def _limit(notes: GuestNotes, pace: Pace) -> LimitView:
    beyond = over_the_limit(notes, pace)
    return LimitView(LIMIT_PER_SECOND, not beyond, beyond)


def _errors(notes: GuestNotes, now: Moment, pace: Pace) -> ErrorsView:
    errors, timing = notes.errors, notes.timing(pace)
    return ErrorsView(
        count=errors.count,
        by_status={str(status or _HANG_UP): count for status, count in sorted(errors.by_status.items())},
        unawaited=errors.unawaited,
        put_in=errors.put_in,
        most_in_a_row=errors.most_in_a_row,
        returns=errors.returns,
        longest_return_seconds=_rounded(timing.longest_return) if errors.returns else None,
        hammered=timing.hammered,
        gave_up=has_given_up(notes, now, pace),
    )


def _event(notes: GuestNotes, event: EventNotes, now: Moment, pace: Pace) -> EventConductView:
    life = event.life
    return EventConductView(
        event=life.id,
        kind=life.kind,
        phase=life.phase,
        resources=list(life.resources),
        names_it=names(notes, event),
        announced_at=_at(life.announced),
        first_shown_at=_at(event.shown),
        approvals=event.approvals,
        approved_at=_at(event.approved),
        approved_after_seconds=_rounded(approved_after(event, pace)),
        started_at=_at(life.started),
        ended_at=_at(life.ended),
        end_noticed_after_seconds=_rounded(noticed_end_after(notes, event, pace)),
        findings=sorted(about_event(notes, event, now, pace)),
    )


def _at(moment: Moment | None) -> Instant | None:
    return None if moment is None else moment.at


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)

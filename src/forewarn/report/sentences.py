"""The sentences of the client report: what a guest did, what to fix, and what it means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from forewarn.core.notice import LEAST_NOTICE, in_words
from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
from forewarn.report.findings import (
    CUT_SHORT,
    SHORTEST_NOTICE_SECONDS,
    Finding,
    Found,
    approved_after,
    has_lapsed,
    longest_gap,
    names,
    noticed_end_after,
    open_gap,
    over_the_limit,
    usual_gap,
)
from forewarn.report.moment import Moment, Pace
from forewarn.report.notes import LIMIT_PER_SECOND, EventLife, EventNotes, GuestNotes
from forewarn.wire.imds.versions import EVENTS_VERSIONS, NEWEST_EVENTS_VERSIONS

_A_MINUTE = 60
_NO_TIME = 0.05  # seconds, which would round to none
_SHORT = 10  # seconds, below which tenths are shown
_MOST_NAMES = 4


def long(seconds: float) -> str:
    """A length of time: `0.4 s`, `12 s`, `2 min 5 s`."""
    if seconds < _NO_TIME:
        return "less than 0.1 s"
    if seconds < _SHORT:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    minutes, rest = divmod(round(seconds), _A_MINUTE)
    if minutes < 2:  # noqa: PLR2004 - up to two minutes, seconds are easier to read
        return f"{round(seconds)} s"
    return f"{minutes} min" + (f" {rest} s" if rest else "")


def after(seconds: float, what: str) -> str:
    """`at once`, or `12 s after ...`."""
    return "at once" if seconds < _NO_TIME else f"{long(seconds)} after {what}"


def times(count: int) -> str:
    """`once`, `3 times`."""
    return "once" if count == 1 else f"{count} times"


def counted(number: int, what: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def title(life: EventLife) -> str:
    """An event for a reader: `Reboot of web-3 (4f1c9a02)`."""
    some = ", ".join(life.resources[:_MOST_NAMES]) or "nothing"
    more = len(life.resources) - _MOST_NAMES
    whose = f"{some} and {more} more" if more > 0 else some
    return f"{life.kind or 'an event'} of {whose} ({life.id[:8].lower()})"


# The summary.


def summary_of(notes: GuestNotes, found: Sequence[Found]) -> str:
    """The report in one sentence."""
    faults = sum(each.is_fault for each in found)
    if faults:
        return f"{notes.vm}: {faults} {'fault' if faults == 1 else 'faults'} to fix."
    if not notes.polls:
        return f"{notes.vm} has not polled; it has sent {counted(notes.requests, 'other request')}."
    if not notes.ended_polls:
        return f"{notes.vm} has polled and waits for its first answer."
    if not notes.documents:
        why = ": faults hit every poll" if notes.hit_polls == notes.ended_polls else ""
        return f"{notes.vm} has polled and never got the document{why}."
    return f"{notes.vm} does well: nothing to fix."


# What it did.


def facts_of(notes: GuestNotes, now: Moment, pace: Pace) -> list[str]:
    """What the guest did, then what it saw and did of its newest events."""
    facts = [*_about_polls(notes, now, pace), *_about_errors(notes, pace)]
    return facts + [_about_event(notes, each, now, pace) for each in notes.events.values()]


def _about_polls(notes: GuestNotes, now: Moment, pace: Pace) -> list[str]:
    last, usual, longest = notes.last_poll, usual_gap(notes, pace), longest_gap(notes, now, pace)
    if last is None:
        return []
    polled = f"It polled {times(notes.polls)}"
    if longest is not None:
        most = long(longest)
        gaps = (
            f"a longest gap of {most}"
            if usual is None
            else f"a usual gap of {long(usual)} and a longest of {most}"
        )
        polled += f", with {gaps}"
    since = now.by(pace) - last.by(pace)
    facts = [f"{polled}; its last poll was {f'{long(since)} ago' if since >= _NO_TIME else 'just now'}."]
    if not over_the_limit(notes, pace):
        facts.append(f"It kept within the limit of {LIMIT_PER_SECOND} requests a second.")
    if notes.versions:
        facts.append(f"It read api-version {', '.join(sorted(notes.versions))}.")
    other = sorted(set(notes.approval_versions) - set(notes.versions))
    if other:
        facts.append(f"It approved with another api-version: {', '.join(other)}.")
    if notes.refused_approvals:
        facts.append(f"It approved {counted(notes.refused_approvals, 'EventId')} without an open event.")
    return facts


def _about_errors(notes: GuestNotes, pace: Pace) -> list[str]:
    errors = notes.errors
    if not errors.count:
        return []
    said = []
    if errors.by_status:
        kinds = [f"{status or 'hang-up'}: {count}" for status, count in sorted(errors.by_status.items())]
        put_in = errors.put_in - errors.unawaited
        by = f"; {put_in} by faults" if put_in else ""
        said.append(f"got {counted(errors.count - errors.unawaited, 'error')} ({', '.join(kinds)}{by})")
    if errors.unawaited:
        said.append(f"gave up on {counted(errors.unawaited, 'answer')} that faults delayed")
    text = f"It {' and '.join(said)}"
    if not errors.returns:
        return [f"{text}, and has not asked again since."]
    longest = notes.timing(pace).longest_return
    return [f"{text}, and asked again after {long(max(0.0, longest))} at most."]


def _about_event(notes: GuestNotes, event: EventNotes, now: Moment, pace: Pace) -> str:
    life = event.life
    parts = [_when_it_knew(event, pace)]
    waited = approved_after(event, pace)
    if event.approved is not None or notes.vm in life.approved_by:
        parts.append("approved" + ("" if waited is None else f" {after(waited, 'it first saw it')}"))
    elif life.approved_by and names(notes, event):
        parts.append(f"approved by {life.approved_by[0]}")
    elif names(notes, event):
        parts.append("left to run out its notice" if has_lapsed(notes, event, now, pace) else "not approved")
    noticed = noticed_end_after(notes, event, pace)
    if noticed is not None:
        parts.append(f"its end seen {'at once' if noticed < _NO_TIME else f'after {long(noticed)}'}")
    elif life.ended is not None and event.shown is not None:
        parts.append("its end not seen")
    else:
        parts.append(f"{life.phase} now" if life.ended is None else f"{life.phase}")
    whose = "" if names(notes, event) or not life.resources else "Of another VM: "
    return f"{whose}{title(life)}: {', '.join(parts)}."


def _when_it_knew(event: EventNotes, pace: Pace) -> str:
    if event.shown is None:
        return "never seen"
    if event.life.announced is None:
        return "seen"
    return f"seen {after(event.shown.by(pace) - event.life.announced.by(pace), 'its announcement')}"


# Findings.


def sentence_of(found: Found, notes: GuestNotes, now: Moment, pace: Pace) -> str:
    """A finding for people: what the guest did, what that means, what to do."""
    return _SENTENCES[found.finding](found, notes, now, pace)


def _which(found: Found) -> str:
    if found.event is None:
        return f"{found.count} events" if found.count > 1 else "an event"
    more = found.count - 1
    return title(found.event.life) + (f" and {more} more" if more else "")


def _too_slow(_found: Found, notes: GuestNotes, _now: Moment, pace: Pace) -> str:
    return f"It polls every {long(usual_gap(notes, pace) or 0.0)}. {what_gaps_mean(usual_gap(notes, pace) or 0.0)}"


def _long_gap(_found: Found, notes: GuestNotes, now: Moment, pace: Pace) -> str:
    longest = longest_gap(notes, now, pace) or 0.0
    if longest == open_gap(notes, now, pace):
        return f"It has not polled for {long(longest)}. {what_gaps_mean(longest)}"
    return f"Between two polls it waited {long(longest)}. {what_gaps_mean(longest)}"


def what_gaps_mean(gap: float) -> str:
    """What a client with such gaps between polls may miss."""
    eviction = long(SHORTEST_NOTICE_SECONDS)
    if gap >= SHORTEST_NOTICE_SECONDS:
        said = f"An eviction (Preempt) has {eviction} of notice, so the guest can miss it entirely."
    else:
        left = long(SHORTEST_NOTICE_SECONDS - gap)
        said = f"An eviction (Preempt) has {eviction} of notice; at worst the guest sees it {left} ahead."
    others = [
        f"{kind} {in_words(timedelta(seconds=max(0.0, notice.total_seconds() - gap)))} of {in_words(notice)}"
        for kind, notice in LEAST_NOTICE.items()
        if kind is not Kind.PREEMPT
    ]
    return f"{said} For other events, at worst this notice is left: {', '.join(others)}. Poll once a second."


def _over_the_limit(found: Found, notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    refused = f"; {notes.limited} got 429" if notes.limited else ""
    return (
        f"It sent more than {LIMIT_PER_SECOND} requests a second: {found.count} of {notes.requests} were beyond "
        f"the limit{refused}. The real service rejects those. Poll once a second."
    )


def _old_version(_found: Found, notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    newest = NEWEST_EVENTS_VERSIONS[0]
    oldest = min(notes.versions)
    kinds = [kind for kind in Kind if kind not in EVENTS_VERSIONS[oldest].kinds]
    members = [each for each in EVENTS_VERSIONS[newest].members if each not in EVENTS_VERSIONS[oldest].members]
    lacks = [f"{' and '.join(kinds)} events"] if kinds else []
    lacks += [f"the members {', '.join(members)}"] if members else []
    return f"It reads api-version {oldest}, which does not show {', nor '.join(lacks)}. {_use_newest(notes)}"


def _use_newest(notes: GuestNotes) -> str:
    newest = NEWEST_EVENTS_VERSIONS[0]
    if not notes.headerless:
        return f"Use {newest}."
    return f"Use {newest}, and send the header Metadata: true: {newest} rejects requests without it."


def _bad_requests(found: Found, notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    refused = f"It sent {counted(found.count, 'malformed request')}"
    if notes.documents:
        return f"{refused}, and also good ones. The body of the answer says what is wrong."
    return (
        f"{refused}, and never got the document. Send GET /metadata/scheduledevents?api-version="
        f"{NEWEST_EVENTS_VERSIONS[0]} with the header Metadata: true."
    )


def _missed(found: Found, notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    notice = "" if found.event is None else f", which had {long(found.event.life.notice_seconds)} of notice"
    return f"It never saw {_which(found)}{notice}: {_why_unseen(found.event, notes)}"


def _unread(found: Found, notes: GuestNotes, now: Moment, pace: Pace) -> str:
    announced = None if found.event is None else found.event.life.announced
    since = "" if announced is None else f", which was announced {long(now.by(pace) - announced.by(pace))} ago"
    return f"It has not seen {_which(found)}{since}: {_why_unseen(found.event, notes)}"


def _why_unseen(event: EventNotes | None, notes: GuestNotes) -> str:
    if event is None or not event.unshown:
        return "it did not poll in that time. Poll once a second."
    kind, read = event.life.kind, sorted(notes.versions)
    if kind is not None and all(kind not in EVENTS_VERSIONS[each].kinds for each in read):
        return f"api-version {', '.join(read)} does not show {kind} events. {_use_newest(notes)}"
    return f"it got the document {times(event.unshown)} in that time, without the event."


def _hindered(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    by = ""
    if found.event is not None:
        hits = {*found.event.hit_by, *CUT_SHORT.intersection(found.event.life.faults)}
        by = f" ({', '.join(sorted(hits))})"
    return f"Faults{by} hid {_which(found)}, changed it or cut its notice short, so the guest is not blamed."


def _learned_late(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    return f"It first saw {_which(found)} after the start. Poll once a second."


def _never_approved(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    others = () if found.event is None else found.event.life.approved_by
    became = f"was approved by {others[0]}" if others else "waited for its whole notice"
    return (
        f"It has never approved an event: {_which(found)} {became}. That is allowed. A guest that is ready sooner "
        "can POST StartRequests instead of waiting."
    )


def _approved_late(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    return (
        f"It approved {_which(found)} after the event had started by itself, which has no effect. Approve while "
        "the event is Scheduled, once everything is ready."
    )


def _approved_others(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    return (
        f"It approved {_which(found)}, which does not name it. Every VM of a scope may approve for the others. If "
        "that is not intended, approve only events whose Resources contain its own name: compute.name of "
        "/metadata/instance."
    )


def _approved_again(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    often = "" if found.event is None else f" {times(found.event.approvals)}"
    return f"It approved {_which(found)}{often}. Once is enough: after a 200 the approval is stored."


def _deaf(found: Found, notes: GuestNotes, now: Moment, pace: Pace) -> str:
    last = notes.last_poll
    ago = "" if last is None else f" Its last poll was {long(now.by(pace) - last.by(pace))} ago."
    cancelled = found.event is not None and found.event.life.phase is Phase.CANCELLED
    how = "was cancelled" if cancelled else "ended"
    return (
        f"It did not see that {_which(found)} {how}, because it stopped polling.{ago} Keep polling: only a "
        "document without the event says that work can go on."
    )


def _hammered(_found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    return (
        "After errors it retried more than three times within a second. Wait a second, and longer after each "
        "further error."
    )


def _gave_up(_found: Found, notes: GuestNotes, now: Moment, pace: Pace) -> str:
    last = notes.errors.unresolved
    ago = "" if last is None else f" {long(now.by(pace) - last.by(pace))} ago"
    return f"Its last answer was an error{ago}, and it has sent nothing since. Keep polling: errors pass."


_SENTENCES: dict[Finding, Callable[[Found, GuestNotes, Moment, Pace], str]] = {
    Finding.TOO_SLOW: _too_slow,
    Finding.LONG_GAP: _long_gap,
    Finding.OVER_THE_LIMIT: _over_the_limit,
    Finding.OLD_VERSION: _old_version,
    Finding.BAD_REQUESTS: _bad_requests,
    Finding.MISSED_EVENT: _missed,
    Finding.UNREAD_EVENT: _unread,
    Finding.LEARNED_LATE: _learned_late,
    Finding.NEVER_APPROVED: _never_approved,
    Finding.APPROVED_LATE: _approved_late,
    Finding.APPROVED_OTHERS: _approved_others,
    Finding.APPROVED_AGAIN: _approved_again,
    Finding.DEAF_TO_THE_END: _deaf,
    Finding.HINDERED_BY_FAULTS: _hindered,
    Finding.HAMMERED_AFTER_ERRORS: _hammered,
    Finding.GAVE_UP_AFTER_ERRORS: _gave_up,
}

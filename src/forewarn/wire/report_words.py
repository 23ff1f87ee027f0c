"""The report on guests in sentences: what it did, what is to be mended, and what that means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from forewarn.core.conduct import LIMIT_PER_SECOND, EventLife, EventNotes, GuestNotes
from forewarn.core.conduct_findings import (
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
from forewarn.core.moment import Moment, Pace
from forewarn.core.notice import LEAST_NOTICE, in_words
from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
from forewarn.wire.imds.versions import EVENTS_VERSIONS, NEWEST_EVENTS_VERSIONS

_A_MINUTE = 60
_NO_TIME = 0.05  # seconds, which would be told as none
_SHORT = 10  # seconds, below which tenths are told
_MOST_NAMES = 4


def long(seconds: float) -> str:
    """A length of time: `0.4 s`, `12 s`, `2 min 5 s`."""
    if seconds < _NO_TIME:
        return "less than 0.1 s"
    if seconds < _SHORT:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    minutes, rest = divmod(round(seconds), _A_MINUTE)
    if minutes < 2:  # noqa: PLR2004 - up to two minutes people count in seconds
        return f"{round(seconds)} s"
    return f"{minutes} min" + (f" {rest} s" if rest else "")


def after(seconds: float, what: str) -> str:
    """`at once`, or so long after that."""
    return "at once" if seconds < _NO_TIME else f"{long(seconds)} after {what}"


def times(count: int) -> str:
    """`once`, `3 times`."""
    return "once" if count == 1 else f"{count} times"


def title(life: EventLife) -> str:
    """An event for a reader: `Reboot of web-3 (4f1c9a02)`."""
    some = ", ".join(life.resources[:_MOST_NAMES]) or "nothing"
    more = len(life.resources) - _MOST_NAMES
    whose = f"{some} and {more} more" if more > 0 else some
    return f"{life.kind or 'an event'} of {whose} ({life.id[:8].lower()})"


# The verdict.


def summary_of(notes: GuestNotes, found: Sequence[Found]) -> str:
    """What it comes to, in one sentence."""
    faults = sum(each.is_fault for each in found)
    if faults:
        return f"{notes.vm}: {faults} {'fault' if faults == 1 else 'faults'} to mend."
    if not notes.polls:
        return f"{notes.vm} has not asked for the document; what else it asked for was {times(notes.requests)}."
    if not notes.ended_polls:
        return f"{notes.vm} has asked for the document and waits for its first answer."
    if not notes.documents:
        why = ": faults that were asked for struck every poll" if notes.struck_polls == notes.ended_polls else ""
        return f"{notes.vm} has asked for the document and was never given it{why}."
    return f"{notes.vm} does well: there is nothing to mend."


# What it did.


def facts_of(notes: GuestNotes, now: Moment, pace: Pace) -> list[str]:
    """What it did, a sentence each; then what it made of its last events."""
    facts = [*_about_polls(notes, now, pace), *_about_errors(notes, pace)]
    return facts + [_about_event(notes, each, now, pace) for each in notes.events.values()]


def _about_polls(notes: GuestNotes, now: Moment, pace: Pace) -> list[str]:
    last, usual, longest = notes.last_poll, usual_gap(notes, pace), longest_gap(notes, now, pace)
    if last is None:
        return []
    asked = f"It asked for the document {times(notes.polls)}"
    if longest is not None:
        most = long(longest)
        between = f"{most} between" if usual is None else f"{long(usual)} between as a rule and {most}"
        asked += f", with {between} at the longest"
    since = now.by(pace) - last.by(pace)
    facts = [f"{asked}; the last time was {f'{long(since)} ago' if since >= _NO_TIME else 'just now'}."]
    if not over_the_limit(notes, pace):
        facts.append(f"It kept below the limit of {LIMIT_PER_SECOND} requests a second.")
    if notes.versions:
        facts.append(f"It read api-version {', '.join(sorted(notes.versions))}.")
    other = sorted(set(notes.approval_versions) - set(notes.versions))
    if other:
        facts.append(f"It approved with another api-version than it read: {', '.join(other)}.")
    if notes.refused_approvals:
        facts.append(
            f"An approval was refused {times(notes.refused_approvals)}: the EventId was not that of an open event."
        )
    return facts


def _about_errors(notes: GuestNotes, pace: Pace) -> list[str]:
    errors = notes.errors
    if not errors.count:
        return []
    said = []
    if errors.by_status:
        kinds = [f"{status or 'hang-up'}: {count}" for status, count in sorted(errors.by_status.items())]
        put_in = errors.put_in - errors.unawaited
        by = f"; {put_in} of them by a fault that was asked for" if put_in else ""
        answered = errors.count - errors.unawaited
        said.append(f"was answered with an error {times(answered)} ({', '.join(kinds)}{by})")
    if errors.unawaited:
        late = "an answer that was made late by a fault that was asked for"
        said.append(f"did not wait {times(errors.unawaited)} for {late}")
    text = f"It {' and '.join(said)}"
    if not errors.returns:
        return [f"{text}, and has not asked again since."]
    longest = errors.longest_return_real if pace is Pace.REAL else errors.longest_return_virtual
    return [f"{text}, and asked again after {long(max(0.0, longest))} at the longest."]


def _about_event(notes: GuestNotes, event: EventNotes, now: Moment, pace: Pace) -> str:
    life = event.life
    parts = [_when_it_knew(event, pace)]
    waited = approved_after(event, pace)
    if event.approved is not None or notes.vm in life.approved_by:
        parts.append("approved" + ("" if waited is None else f" {after(waited, 'it could have known')}"))
    elif life.approved_by and names(notes, event):
        parts.append(f"approved by {life.approved_by[0]} and not by it")
    elif names(notes, event):
        parts.append("left to its time" if has_lapsed(notes, event, now, pace) else "not approved")
    noticed = noticed_end_after(notes, event, pace)
    if noticed is not None:
        parts.append(f"its end noticed {'at once' if noticed < _NO_TIME else f'after {long(noticed)}'}")
    elif life.ended is not None and event.shown is not None:
        parts.append("its end not noticed")
    else:
        parts.append(f"{life.phase} now" if life.ended is None else f"{life.phase}")
    whose = "" if names(notes, event) or not life.resources else "Not its own: "
    return f"{whose}{title(life)}: {', '.join(parts)}."


def _when_it_knew(event: EventNotes, pace: Pace) -> str:
    if event.shown is None:
        return "no answer showed it"
    if event.life.announced is None:
        return "shown"
    return f"shown {after(event.shown.by(pace) - event.life.announced.by(pace), 'it was announced')}"


# What is to be mended or known.


def sentence_of(found: Found, notes: GuestNotes, now: Moment, pace: Pace) -> str:
    """A finding for people: what it did, what that means, what to do."""
    return _SENTENCES[found.finding](found, notes, now, pace)


def _which(found: Found) -> str:
    if found.event is None:
        return f"{found.count} events" if found.count > 1 else "an event"
    more = found.count - 1
    return title(found.event.life) + (f" and {more} more" if more else "")


def _too_slow(_found: Found, notes: GuestNotes, _now: Moment, pace: Pace) -> str:
    return f"It asks every {long(usual_gap(notes, pace) or 0.0)}. {what_gaps_mean(usual_gap(notes, pace) or 0.0)}"


def _long_gap(_found: Found, notes: GuestNotes, now: Moment, pace: Pace) -> str:
    longest = longest_gap(notes, now, pace) or 0.0
    if longest == open_gap(notes, now, pace):
        return f"It has not asked for the document for {long(longest)}. {what_gaps_mean(longest)}"
    return f"It let {long(longest)} pass between two polls. {what_gaps_mean(longest)}"


def what_gaps_mean(gap: float) -> str:
    """What a client that asks no more often than that may miss."""
    eviction = long(SHORTEST_NOTICE_SECONDS)
    if gap >= SHORTEST_NOTICE_SECONDS:
        said = f"An eviction (Preempt) is announced {eviction} ahead: it can come and go without being seen."
    else:
        left = long(SHORTEST_NOTICE_SECONDS - gap)
        said = f"An eviction (Preempt) is announced {eviction} ahead: at worst {left} of them are left."
    others = [
        f"{kind} {in_words(timedelta(seconds=max(0.0, notice.total_seconds() - gap)))} of {in_words(notice)}"
        for kind, notice in LEAST_NOTICE.items()
        if kind is not Kind.PREEMPT
    ]
    return f"{said} Of the other notices at worst this is left: {', '.join(others)}. Ask once a second."


def _over_the_limit(found: Found, notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    refused = f"; {notes.limited} were refused with 429" if notes.limited else ""
    return (
        f"It sent more than {LIMIT_PER_SECOND} requests a second: {found.count} of {notes.requests} were beyond "
        f"the limit{refused}. The real service refuses those. Ask once a second."
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
    return (
        f"Use {newest}, and send the header Metadata: true with every request: {newest} refuses those without it."
    )


def _bad_requests(found: Found, notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    refused = (
        "One of its requests was refused as it was put"
        if found.count == 1
        else f"{found.count} of its requests were refused as they were put"
    )
    if notes.documents:
        return f"{refused}; others were granted. Look at the body of the answer: it says what was wrong."
    return (
        f"{refused}, and it was never given the document. It is GET /metadata/scheduledevents?api-version="
        f"{NEWEST_EVENTS_VERSIONS[0]} with the header Metadata: true."
    )


def _missed(found: Found, notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    notice = (
        "" if found.event is None else f", though it was announced {long(found.event.life.notice_seconds)} ahead"
    )
    return f"It never saw {_which(found)}{notice}: {_why_unseen(found.event, notes)}"


def _unread(found: Found, notes: GuestNotes, now: Moment, pace: Pace) -> str:
    announced = None if found.event is None else found.event.life.announced
    since = "" if announced is None else f", which was announced {long(now.by(pace) - announced.by(pace))} ago"
    return f"It has not seen {_which(found)}{since}: {_why_unseen(found.event, notes)}"


def _why_unseen(event: EventNotes | None, notes: GuestNotes) -> str:
    if event is None or not event.unshown:
        return "no poll fell into that time. Ask once a second."
    kind, read = event.life.kind, sorted(notes.versions)
    if kind is not None and all(kind not in EVENTS_VERSIONS[each].kinds for each in read):
        return f"api-version {', '.join(read)} does not show {kind} events. {_use_newest(notes)}"
    return f"it was given the document {times(event.unshown)} in that time, each time without it."


def _hindered(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    by = ""
    if found.event is not None:
        struck = {*found.event.struck_by, *CUT_SHORT.intersection(found.event.life.faults)}
        by = f" ({', '.join(sorted(struck))})"
    return (
        f"What it made of {_which(found)} is not held against it: faults that were asked for{by} hid the event, "
        "changed it or cut its notice short."
    )


def _learned_late(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    return f"It learned of {_which(found)} only when it had started. Ask once a second."


def _never_approved(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    others = () if found.event is None else found.event.life.approved_by
    became = f"was approved by {others[0]}" if others else "waited for its whole notice"
    return (
        f"It has never approved an event: {_which(found)} {became}. That is allowed; who is ready sooner can say "
        "so with a POST of StartRequests, and need not wait."
    )


def _approved_late(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    return (
        f"It approved {_which(found)} when it had started by itself, which changes nothing. Approve while it is "
        "Scheduled, once everything is ready."
    )


def _approved_others(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    return (
        f"It approved {_which(found)}, which does not name it. Every VM of a scope may approve for the others. If "
        "it is not meant to, approve only events whose Resources hold its own name, the compute.name of "
        "/metadata/instance."
    )


def _approved_again(found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    often = "" if found.event is None else f" {times(found.event.approvals)}"
    return f"It approved {_which(found)}{often}. Once is enough: an approval that was answered with 200 is kept."


def _deaf(found: Found, notes: GuestNotes, now: Moment, pace: Pace) -> str:
    last = notes.last_poll
    ago = "" if last is None else f" Its last poll was {long(now.by(pace) - last.by(pace))} ago."
    cancelled = found.event is not None and found.event.life.phase is Phase.CANCELLED
    how = "was called off" if cancelled else "is over"
    return (
        f"It did not notice that {_which(found)} {how}: it stopped asking.{ago} Only a document without the event "
        "says that work can go on; keep asking."
    )


def _hammered(_found: Found, _notes: GuestNotes, _now: Moment, _pace: Pace) -> str:
    return (
        "After errors it asked again at once, more than three times within a second. Wait a second, and longer "
        "after each further error."
    )


def _gave_up(_found: Found, notes: GuestNotes, now: Moment, pace: Pace) -> str:
    last = notes.errors.unmended
    ago = "" if last is None else f" {long(now.by(pace) - last.by(pace))} ago"
    return f"The last it heard was an error{ago}, and it has asked for nothing since. Keep asking: errors pass."


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

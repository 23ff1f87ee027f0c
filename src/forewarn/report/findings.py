"""What to report about a guest: each finding has a stable code, and its definition is here.

Pure functions of the notes, of `now` and of the pace. A fault is something to fix. A remark is good to know, such
as an event that was never approved: a guest may approve, but need not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from forewarn.core.fault import Fault
from forewarn.core.notice import LEAST_NOTICE
from forewarn.core.terms import AutoApproval, Kind
from forewarn.report.moment import Moment, Pace
from forewarn.report.notes import EventNotes, GuestNotes

SLOW_SECONDS = 10.0  # between polls: a third of the shortest notice
SHORTEST_NOTICE_SECONDS = LEAST_NOTICE[Kind.PREEMPT].total_seconds()
TIME_TO_ACT_SECONDS = 10.0  # too short to approve an event
_QUIET_SECONDS = 60.0  # and three usual gaps: then a guest has stopped polling
_QUIET_GAPS = 3
_FEW_APPROVALS = 2  # of one event: one, and one retry
_FEWEST_GAPS = 2
_SAME_INSTANT_SECONDS = 1.0  # an answer may be noted just before the end that it shows
_SURVIVED = frozenset({Kind.FREEZE, Kind.REBOOT, Kind.REDEPLOY})
CUT_SHORT = frozenset({Fault.EARLY_START, Fault.SHORTENED_NOTICE})
_LAPSED = "lapsed"
ANY_EVENT = "events"  # counts dropped events


class Finding(StrEnum):
    """The codes, in the order of a report."""

    TOO_SLOW = "too_slow"
    LONG_GAP = "long_gap"
    OVER_THE_LIMIT = "over_the_limit"
    OLD_VERSION = "old_version"
    BAD_REQUESTS = "bad_requests"
    MISSED_EVENT = "missed_event"
    UNREAD_EVENT = "unread_event"
    LEARNED_LATE = "learned_late"
    NEVER_APPROVED = "never_approved"
    APPROVED_LATE = "approved_late"
    APPROVED_OTHERS = "approved_others"
    APPROVED_AGAIN = "approved_again"
    DEAF_TO_THE_END = "deaf_to_the_end"
    HINDERED_BY_FAULTS = "hindered_by_faults"
    HAMMERED_AFTER_ERRORS = "hammered_after_errors"
    GAVE_UP_AFTER_ERRORS = "gave_up_after_errors"


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, its count, and the newest event with it."""

    finding: Finding
    is_fault: bool
    count: int = 1
    event: EventNotes | None = None


_ABOUT_EVENTS = (
    (Finding.MISSED_EVENT, True),
    (Finding.UNREAD_EVENT, True),
    (Finding.LEARNED_LATE, True),
    (Finding.APPROVED_LATE, True),
    (Finding.APPROVED_OTHERS, False),  # allowed: any VM of the scope may approve
    (Finding.APPROVED_AGAIN, False),
    (Finding.DEAF_TO_THE_END, True),
    (Finding.HINDERED_BY_FAULTS, False),
)
_ORDER = {finding: index for index, finding in enumerate(Finding)}


def find(notes: GuestNotes, now: Moment, pace: Pace, blind_versions: frozenset[str], newest: str) -> list[Found]:
    """Return all findings, in the order of the codes.

    `blind_versions` are api-versions that do not show every kind of event.
    """
    by_event = [(each, about_event(notes, each, now, pace)) for each in notes.events.values()]
    stopped = has_given_up(notes, now, pace) or any(Finding.DEAF_TO_THE_END in codes for _, codes in by_event)
    found = [*_about_polling(notes, now, pace, has_stopped=stopped), *_about_errors(notes, now, pace)]
    if old := [version for version in notes.versions if version != newest]:
        found.append(Found(Finding.OLD_VERSION, not blind_versions.isdisjoint(old)))
    if notes.bad_requests:
        found.append(Found(Finding.BAD_REQUESTS, not notes.documents, notes.bad_requests))
    for finding, is_fault in _ABOUT_EVENTS:
        shows = [each for each, codes in by_event if finding in codes]
        if count := len(shows) + notes.dropped[finding]:
            found.append(Found(finding, is_fault, count, shows[-1] if shows else None))
    if lapse := never_approved(notes, now, pace):
        found.append(lapse)
    return sorted(found, key=lambda each: _ORDER[each.finding])


# Polling.


def usual_gap(notes: GuestNotes, pace: Pace) -> float | None:
    """The median of the last gaps between polls; None: there is no whole one."""
    gaps = notes.timing(pace).gaps
    return median(gaps) if gaps else None


def longest_gap(notes: GuestNotes, now: Moment, pace: Pace) -> float | None:
    """The longest gap between polls in which it was able to poll, the current one included.

    None: there is none, because it has polled once, or was not able to.
    """
    still_open, closed = open_gap(notes, now, pace), notes.timing(pace).longest_gap
    return max(closed or 0.0, still_open) if still_open or closed is not None else None


def open_gap(notes: GuestNotes, now: Moment, pace: Pace) -> float:
    """How long it was able to poll since its last answer, if it has stopped polling; otherwise 0.

    A guest with a poll in progress has not stopped, nor has one whose VM is deleted.
    """
    last = notes.last_polled
    if last is None or notes.is_gone or notes.open_polls:
        return 0.0
    longest = notes.presence.stretch(last, now, pace).seconds
    return longest if longest > quiet_seconds(notes, pace) else 0.0


def over_the_limit(notes: GuestNotes, pace: Pace) -> int:
    """How many of its requests were beyond the limit, or would have been with one."""
    return max(notes.limited, notes.timing(pace).beyond_limit)


def _about_polling(notes: GuestNotes, now: Moment, pace: Pace, *, has_stopped: bool) -> Iterator[Found]:
    timing, usual = notes.timing(pace), usual_gap(notes, pace)
    longest = timing.longest_gap or 0.0
    if not has_stopped:  # otherwise another finding reports the stop
        longest = max(longest, open_gap(notes, now, pace))
    is_slow = usual is not None and usual > SLOW_SECONDS and len(timing.gaps) >= _FEWEST_GAPS
    if is_slow:
        yield Found(Finding.TOO_SLOW, is_fault=True)
    elif longest >= SHORTEST_NOTICE_SECONDS:
        yield Found(Finding.LONG_GAP, is_fault=True)
    if count := over_the_limit(notes, pace):
        yield Found(Finding.OVER_THE_LIMIT, is_fault=True, count=count)


# Errors.


def quiet_seconds(notes: GuestNotes, pace: Pace) -> float:
    """How long after its last request a guest counts as stopped."""
    return max(_QUIET_SECONDS, _QUIET_GAPS * (usual_gap(notes, pace) or 0.0))


def silence(notes: GuestNotes, since: Moment, now: Moment, pace: Pace) -> float:
    """How long it was able to poll since then; 0 while it is away or waits."""
    if notes.is_gone or notes.presence.away_since is not None or notes.open_polls:
        return 0.0
    back = max(each.by(pace) for each in (since, *notes.presence.back_at()))
    return max(0.0, now.by(pace) - back)


def has_given_up(notes: GuestNotes, now: Moment, pace: Pace) -> bool:
    """Whether its last answer was an error, and it has stopped polling."""
    last = notes.errors.unresolved
    return last is not None and silence(notes, last, now, pace) > quiet_seconds(notes, pace)


def _about_errors(notes: GuestNotes, now: Moment, pace: Pace) -> Iterator[Found]:
    if count := notes.timing(pace).hammered:
        yield Found(Finding.HAMMERED_AFTER_ERRORS, is_fault=True, count=count)
    if has_given_up(notes, now, pace):
        yield Found(Finding.GAVE_UP_AFTER_ERRORS, is_fault=True)


# Events.


def names(notes: GuestNotes, event: EventNotes) -> bool:
    """Whether the event names the guest's VM."""
    return notes.vm in event.life.resources


def about_event(notes: GuestNotes, event: EventNotes, now: Moment, pace: Pace) -> set[Finding]:
    """The findings on one event."""
    found = set()
    if event.approved is not None and event.life.resources and not names(notes, event):
        found.add(Finding.APPROVED_OTHERS)
    if event.approvals > _FEW_APPROVALS:
        found.add(Finding.APPROVED_AGAIN)
    if not names(notes, event):
        return found
    missed = {
        Finding.MISSED_EVENT: was_missed(event, pace),
        Finding.UNREAD_EVENT: is_unread(notes, event, now, pace),
        Finding.LEARNED_LATE: was_learned_late(event, pace),
        Finding.APPROVED_LATE: was_approved_late(event),
    }
    for finding in (each for each, is_so in missed.items() if is_so):
        is_excused = was_misled(event, finding, now, pace) or was_cut_short(event, finding)
        found.add(Finding.HINDERED_BY_FAULTS if is_excused else finding)
    if is_deaf_to_the_end(notes, event, now, pace):
        found.add(Finding.DEAF_TO_THE_END)
    return found


def was_missed(event: EventNotes, pace: Pace) -> bool:
    """Whether no answer showed the event from its announcement to its end, though there was time to poll."""
    life = event.life
    if life.announced is None or life.started is None or life.ended is None or event.shown is not None:
        return False
    return life.ended.by(pace) - life.announced.by(pace) >= SLOW_SECONDS


def is_unread(notes: GuestNotes, event: EventNotes, now: Moment, pace: Pace) -> bool:
    """Whether no answer has shown the open event, though the guest had the shortest notice to poll."""
    life = event.life
    if life.announced is None or life.ended is not None or event.shown is not None:
        return False
    return silence(notes, life.announced, now, pace) >= SHORTEST_NOTICE_SECONDS


def was_learned_late(event: EventNotes, pace: Pace) -> bool:
    """Whether the first answer with the event said Started, though it was announced ahead.

    Not if the start followed at once: another guest may have approved it, or the clock was moved.
    """
    life = event.life
    if life.announced is None or life.started is None or event.shown is None or event.shown_scheduled is not None:
        return False
    return life.started.by(pace) - life.announced.by(pace) >= SLOW_SECONDS


def was_approved_late(event: EventNotes) -> bool:
    """Whether the guest approved after the event had started by itself."""
    life = event.life
    was_announced = life.announced is not None
    return was_announced and event.approved is not None and life.started is not None and not life.approved_by


def was_misled(event: EventNotes, finding: Finding, now: Moment, pace: Pace) -> bool:
    """Whether faults explain the finding: they hit the last polls before the end.

    A guest that got a correct answer afterwards, or stopped polling, is responsible itself.
    """
    life = event.life
    if finding in {Finding.LEARNED_LATE, Finding.NEVER_APPROVED, Finding.APPROVED_LATE}:
        lost, misled, until = event.approval_lost_at, event.misled_before_start_at, life.started
        if finding is not Finding.LEARNED_LATE and lost and until and lost.real <= until.real:
            return True
    else:
        misled, until = event.misled_at, life.ended or now
    return misled is not None and until is not None and until.by(pace) - misled.by(pace) <= SLOW_SECONDS


def was_cut_short(event: EventNotes, finding: Finding) -> bool:
    """Whether a fault cut the notice short."""
    life = event.life
    if life.announced is None or life.started is None or CUT_SHORT.isdisjoint(life.faults):
        return False
    if finding is Finding.APPROVED_LATE:  # it approved within the announced notice
        approved = event.approved or life.started
        return Fault.EARLY_START in life.faults and approved.virtual < life.announced.virtual + life.notice_seconds
    return life.started.virtual - life.announced.virtual < SHORTEST_NOTICE_SECONDS


def has_lapsed(notes: GuestNotes, event: EventNotes, now: Moment, pace: Pace) -> bool:
    """Whether the guest did not approve, though it had time before the start or before another approved.

    Evictions do not count: approving one has no advantage.
    """
    life = event.life
    if life.started is None or event.shown_scheduled is None or event.approved is not None:
        return False
    if notes.vm in life.approved_by or AutoApproval.ALL_DOWN in life.approved_by:  # then no guest was up
        return False
    if Fault.EARLY_START in life.faults or was_misled(event, Finding.NEVER_APPROVED, now, pace):
        return False
    until = min(each.virtual for each in (life.started, life.approved) if each is not None)
    had_seconds = until - event.shown_scheduled.virtual
    return life.kind is not Kind.PREEMPT and had_seconds >= TIME_TO_ACT_SECONDS


def never_approved(notes: GuestNotes, now: Moment, pace: Pace) -> Found | None:
    """The finding that it never approved, if events of its own started without its approval."""
    if notes.approvals:
        return None
    lapsed = [each for each in notes.events.values() if names(notes, each) and has_lapsed(notes, each, now, pace)]
    if not (count := len(lapsed) + notes.dropped[_LAPSED]):
        return None
    return Found(Finding.NEVER_APPROVED, is_fault=False, count=count, event=lapsed[-1] if lapsed else None)


def approved_after(event: EventNotes, pace: Pace) -> float | None:
    """How long after it first saw the event it approved."""
    if event.approved is None or event.shown is None:
        return None
    return max(0.0, event.approved.by(pace) - event.shown.by(pace))


def noticed_end_after(notes: GuestNotes, event: EventNotes, pace: Pace) -> float | None:
    """How long after the end it got a document without the event; None: not yet."""
    ended, gone, last = event.life.ended, event.gone, notes.last_document
    if ended is None or gone is None or last is None or last.real < ended.real - _SAME_INSTANT_SECONDS:
        return None
    return max(0.0, gone.by(pace) - ended.by(pace))


def is_deaf_to_the_end(notes: GuestNotes, event: EventNotes, now: Moment, pace: Pace) -> bool:
    """Whether it saw the event and has not polled since its end, though it was able to.

    Not if the event deletes the VM.
    """
    ended, asked = event.life.ended, notes.last_poll
    if event.life.kind not in _SURVIVED or event.shown is None or ended is None or asked is None:
        return False
    if noticed_end_after(notes, event, pace) is not None or asked.real >= ended.real:
        return False
    return silence(notes, ended, now, pace) > quiet_seconds(notes, pace)


def drop_oldest(notes: GuestNotes, now: Moment, pace: Pace, most: int) -> None:
    """Keep at most that many events, and only the findings of the others; events of other VMs go first."""

    def worth(id_: str) -> tuple[bool, bool]:
        return names(notes, notes.events[id_]), notes.events[id_].life.ended is None

    while len(notes.events) > most:
        event = notes.events.pop(min(notes.events, key=worth))
        notes.dropped[ANY_EVENT] += 1
        notes.dropped.update(map(str, about_event(notes, event, now, pace)))
        notes.dropped[_LAPSED] += names(notes, event) and has_lapsed(notes, event, now, pace)

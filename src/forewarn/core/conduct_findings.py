"""What is to be said of a guest's ways: each finding has a code that stays, and a definition that stands here.

Pure functions of the notes, of `now` and of the pace. A fault is something to mend; a remark is something to know,
such as an event that was left to its time: approving is the guest's right, never its duty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from forewarn.core.conduct import EventNotes, GuestNotes
from forewarn.core.fault import Fault
from forewarn.core.moment import Moment, Pace
from forewarn.core.notice import LEAST_NOTICE
from forewarn.core.terms import AutoApproval, Kind

SLOW_SECONDS = 10.0  # between polls, as a rule: a third of the shortest notice there is
SHORTEST_NOTICE_SECONDS = LEAST_NOTICE[Kind.PREEMPT].total_seconds()
TIME_TO_ACT_SECONDS = 10.0  # an event that starts sooner after it was shown was hardly to be approved
_QUIET_SECONDS = 60.0  # who says nothing for so long, and thrice as long as usual, has stopped asking
_QUIET_GAPS = 3
_FEW_APPROVALS = 2  # of one event: one, and one more try
_FEWEST_GAPS = 2
_SAME_INSTANT_SECONDS = 1.0  # an answer may be noted a little before the end that it shows
_HAVE_AN_AFTERWARDS = frozenset({Kind.FREEZE, Kind.REBOOT, Kind.REDEPLOY})
CUT_SHORT = frozenset({Fault.EARLY_START, Fault.SHORTENED_NOTICE})
_LAPSED = "lapsed"
ANY_EVENT = "events"  # how many of them are not kept


class Finding(StrEnum):
    """The codes, in the order in which they are told."""

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
    """A finding, how often, and the newest event that shows it."""

    finding: Finding
    is_fault: bool
    count: int = 1
    event: EventNotes | None = None


_ABOUT_EVENTS = (
    (Finding.MISSED_EVENT, True),
    (Finding.UNREAD_EVENT, True),
    (Finding.LEARNED_LATE, True),
    (Finding.APPROVED_LATE, True),
    (Finding.APPROVED_OTHERS, False),  # any VM of a scope may approve its events, and no other VM can
    (Finding.APPROVED_AGAIN, False),
    (Finding.DEAF_TO_THE_END, True),
    (Finding.HINDERED_BY_FAULTS, False),
)
_ORDER = {finding: index for index, finding in enumerate(Finding)}


def find(notes: GuestNotes, now: Moment, pace: Pace, blind_versions: frozenset[str], newest: str) -> list[Found]:
    """All that is to be said, in the order of the codes.

    `blind_versions` are those that do not show every kind of event.
    """
    said = [(each, about_event(notes, each, now, pace)) for each in notes.events.values()]
    stopped = has_given_up(notes, now, pace) or any(Finding.DEAF_TO_THE_END in codes for _, codes in said)
    found = [*_about_polling(notes, now, pace, has_stopped=stopped), *_about_errors(notes, now, pace)]
    if old := [version for version in notes.versions if version != newest]:
        found.append(Found(Finding.OLD_VERSION, not blind_versions.isdisjoint(old)))
    if notes.bad_requests:
        found.append(Found(Finding.BAD_REQUESTS, not notes.documents, notes.bad_requests))
    for finding, is_fault in _ABOUT_EVENTS:
        shows = [each for each, codes in said if finding in codes]
        if count := len(shows) + notes.let_go[finding]:
            found.append(Found(finding, is_fault, count, shows[-1] if shows else None))
    if lapse := never_approved(notes, now, pace):
        found.append(lapse)
    return sorted(found, key=lambda each: _ORDER[each.finding])


# How it asks.


def usual_gap(notes: GuestNotes, pace: Pace) -> float | None:
    """How long it lets pass between polls as a rule: the median of the last ones; None: there is no whole one."""
    gaps = _gaps(notes, pace)
    return median(gaps) if gaps else None


def _gaps(notes: GuestNotes, pace: Pace) -> Sequence[float]:
    return notes.gaps.real if pace is Pace.REAL else notes.gaps.virtual


def longest_gap(notes: GuestNotes, now: Moment, pace: Pace) -> float | None:
    """The longest time between polls in which it could have asked; the one that is still open counts too.

    None: there is none between its polls, as it has asked once, or while it could not be expected to.
    """
    still_open, closed = open_gap(notes, now, pace), _longest_closed(notes, pace)
    return max(closed or 0.0, still_open) if still_open or closed is not None else None


def _longest_closed(notes: GuestNotes, pace: Pace) -> float | None:
    return notes.gaps.longest_real if pace is Pace.REAL else notes.gaps.longest_virtual


def open_gap(notes: GuestNotes, now: Moment, pace: Pace) -> float:
    """For how long it could have asked since its last answer, where it has stopped; else 0.

    It has not while a poll of its is being answered, or is due; nor has one whose machine is deleted.
    """
    last = notes.last_polled
    if last is None or notes.is_gone or notes.open_polls:
        return 0.0
    longest = notes.presence.stretch(last, now, pace).seconds
    return longest if longest > quiet_seconds(notes, pace) else 0.0


def over_the_limit(notes: GuestNotes, pace: Pace) -> int:
    """How many of its requests were beyond the limit, or would have been, had there been one."""
    return max(notes.limited, notes.rate.over_real if pace is Pace.REAL else notes.rate.over_both)


def _about_polling(notes: GuestNotes, now: Moment, pace: Pace, *, has_stopped: bool) -> Iterator[Found]:
    usual, longest = usual_gap(notes, pace), _longest_closed(notes, pace) or 0.0
    if not has_stopped:  # else that is told by itself, with its reason
        longest = max(longest, open_gap(notes, now, pace))
    is_slow = usual is not None and usual > SLOW_SECONDS and len(_gaps(notes, pace)) >= _FEWEST_GAPS
    if is_slow:
        yield Found(Finding.TOO_SLOW, is_fault=True)
    elif longest >= SHORTEST_NOTICE_SECONDS:
        yield Found(Finding.LONG_GAP, is_fault=True)
    if count := over_the_limit(notes, pace):
        yield Found(Finding.OVER_THE_LIMIT, is_fault=True, count=count)


# What it does with errors.


def quiet_seconds(notes: GuestNotes, pace: Pace) -> float:
    """After how long without a request it counts as one that asks no more."""
    return max(_QUIET_SECONDS, _QUIET_GAPS * (usual_gap(notes, pace) or 0.0))


def silence(notes: GuestNotes, since: Moment, now: Moment, pace: Pace) -> float:
    """How long it could have asked since then; nothing while it is away, or waits: for an answer, or as told."""
    if notes.is_gone or notes.presence.away_since is not None or notes.open_polls:
        return 0.0
    back = max(each.by(pace) for each in (since, *notes.presence.back_at()))
    return max(0.0, now.by(pace) - back)


def hammered(notes: GuestNotes, pace: Pace) -> int:
    """How often it came back too fast, again and again, while it was answered with errors."""
    return notes.errors.hammered_real if pace is Pace.REAL else notes.errors.hammered_both


def has_given_up(notes: GuestNotes, now: Moment, pace: Pace) -> bool:
    """Whether an error was the last that it has heard, and it asks no more."""
    last = notes.errors.unmended
    return last is not None and silence(notes, last, now, pace) > quiet_seconds(notes, pace)


def _about_errors(notes: GuestNotes, now: Moment, pace: Pace) -> Iterator[Found]:
    if count := hammered(notes, pace):
        yield Found(Finding.HAMMERED_AFTER_ERRORS, is_fault=True, count=count)
    if has_given_up(notes, now, pace):
        yield Found(Finding.GAVE_UP_AFTER_ERRORS, is_fault=True)


# What it makes of events.


def names(notes: GuestNotes, event: EventNotes) -> bool:
    """Whether the event is the guest's own."""
    return notes.vm in event.life.resources


def about_event(notes: GuestNotes, event: EventNotes, now: Moment, pace: Pace) -> set[Finding]:
    """What is to be said of what it made of one event."""
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
    """It was announced, it happened and it is over, and no answer ever showed it, though there was time to ask."""
    life = event.life
    if life.announced is None or life.started is None or life.ended is None or event.shown is not None:
        return False
    return life.ended.by(pace) - life.announced.by(pace) >= SLOW_SECONDS


def is_unread(notes: GuestNotes, event: EventNotes, now: Moment, pace: Pace) -> bool:
    """It is there, no answer has shown it, and the guest had the time of the shortest notice to ask for it."""
    life = event.life
    if life.announced is None or life.ended is not None or event.shown is not None:
        return False
    return silence(notes, life.announced, now, pace) >= SHORTEST_NOTICE_SECONDS


def was_learned_late(event: EventNotes, pace: Pace) -> bool:
    """It was announced ahead, and the first answer that showed it said Started.

    Another guest may have approved it at once, or a clock was moved at once: nobody could have known of it before.
    """
    life = event.life
    if life.announced is None or life.started is None or event.shown is None or event.shown_scheduled is not None:
        return False
    return life.started.by(pace) - life.announced.by(pace) >= SLOW_SECONDS


def was_approved_late(event: EventNotes) -> bool:
    """The guest said "go ahead" when the event had gone ahead by itself."""
    life = event.life
    was_announced = life.announced is not None
    return was_announced and event.approved is not None and life.started is not None and not life.approved_by


def was_misled(event: EventNotes, finding: Finding, now: Moment, pace: Pace) -> bool:
    """Whether answers that a fault had spoiled are why the guest would be blamed: it asked up to the end.

    Who was told how things are afterwards, or did not ask any more, answers for itself.
    """
    life = event.life
    if finding in {Finding.LEARNED_LATE, Finding.NEVER_APPROVED, Finding.APPROVED_LATE}:
        struck, misled, until = event.approval_struck_at, event.misled_before_start_at, life.started
        if finding is not Finding.LEARNED_LATE and struck and until and struck.real <= until.real:
            return True
    else:
        misled, until = event.misled_at, life.ended or now
    return misled is not None and until is not None and until.by(pace) - misled.by(pace) <= SLOW_SECONDS


def was_cut_short(event: EventNotes, finding: Finding) -> bool:
    """Whether a fault that was put in left hardly any of the notice."""
    life = event.life
    if life.announced is None or life.started is None or CUT_SHORT.isdisjoint(life.faults):
        return False
    if finding is Finding.APPROVED_LATE:  # it was within the time that it had been told
        approved = event.approved or life.started
        return Fault.EARLY_START in life.faults and approved.virtual < life.announced.virtual + life.notice_seconds
    return life.started.virtual - life.announced.virtual < SHORTEST_NOTICE_SECONDS


def has_lapsed(notes: GuestNotes, event: EventNotes, now: Moment, pace: Pace) -> bool:
    """The guest did not say "go ahead", though it had the time to, before the event started or another said it.

    An eviction is left out: nobody has anything to gain from approving it.
    """
    life = event.life
    if life.started is None or event.shown_scheduled is None or event.approved is not None:
        return False
    if notes.vm in life.approved_by or AutoApproval.ALL_DOWN in life.approved_by:  # then nobody was up who could
        return False
    if Fault.EARLY_START in life.faults or was_misled(event, Finding.NEVER_APPROVED, now, pace):
        return False
    until = min(each.virtual for each in (life.started, life.approved) if each is not None)
    had_seconds = until - event.shown_scheduled.virtual
    return life.kind is not Kind.PREEMPT and had_seconds >= TIME_TO_ACT_SECONDS


def never_approved(notes: GuestNotes, now: Moment, pace: Pace) -> Found | None:
    """Whether it has let events of its own lapse and has never approved any."""
    if notes.approvals:
        return None
    lapsed = [each for each in notes.events.values() if names(notes, each) and has_lapsed(notes, each, now, pace)]
    if not (count := len(lapsed) + notes.let_go[_LAPSED]):
        return None
    return Found(Finding.NEVER_APPROVED, is_fault=False, count=count, event=lapsed[-1] if lapsed else None)


def approved_after(event: EventNotes, pace: Pace) -> float | None:
    """How long after it could have known of the event it said "go ahead"."""
    if event.approved is None or event.shown is None:
        return None
    return max(0.0, event.approved.by(pace) - event.shown.by(pace))


def noticed_end_after(notes: GuestNotes, event: EventNotes, pace: Pace) -> float | None:
    """How long after the end it got an answer without the event; None: it has not, or there is no end yet."""
    ended, gone, last = event.life.ended, event.gone, notes.last_document
    if ended is None or gone is None or last is None or last.real < ended.real - _SAME_INSTANT_SECONDS:
        return None
    return max(0.0, gone.by(pace) - ended.by(pace))


def is_deaf_to_the_end(notes: GuestNotes, event: EventNotes, now: Moment, pace: Pace) -> bool:
    """It knew of the event, which is over; since then it could have asked for long, and has not.

    Where the machine is gone afterwards there is nobody to notice anything.
    """
    ended, asked = event.life.ended, notes.last_poll
    if event.life.kind not in _HAVE_AN_AFTERWARDS or event.shown is None or ended is None or asked is None:
        return False
    if noticed_end_after(notes, event, pace) is not None or asked.real >= ended.real:
        return False
    return silence(notes, ended, now, pace) > quiet_seconds(notes, pace)


def let_go_of_oldest(notes: GuestNotes, now: Moment, pace: Pace, most: int) -> None:
    """Keep no more events than that: of the rest only what is to be said of them. Others' events go first."""

    def worth(id_: str) -> tuple[bool, bool]:
        return names(notes, notes.events[id_]), notes.events[id_].life.ended is None

    while len(notes.events) > most:
        event = notes.events.pop(min(notes.events, key=worth))
        notes.let_go[ANY_EVENT] += 1
        notes.let_go.update(map(str, about_event(notes, event, now, pace)))
        notes.let_go[_LAPSED] += names(notes, event) and has_lapsed(notes, event, now, pace)

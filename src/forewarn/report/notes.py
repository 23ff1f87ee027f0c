"""Notes on a guest: counts, a few moments, and its last events.

Nothing here reads a clock. Each `Timing` counts the seconds of one clock. The size of a guest's notes is bounded.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
from forewarn.report.moment import Moment, Pace
from forewarn.report.presence import Presence, Stretch, Wait

LIMIT_PER_SECOND = 5  # requests, and as many at once
MOST_EVENTS = 32  # of one guest; earlier ones leave only their findings
MOST_GAPS = 64
_COST_SECONDS = 1 / LIMIT_PER_SECOND
_ROUNDING = 1e-6  # seconds; sums of fractions are not exact
_RETRIES_AT_ONCE = 4  # within a second, each after an error, is hammering


@dataclass(slots=True)
class EventLife:
    """The life of an event, shared by all guests; only its id until the plane has announced it."""

    id: str
    kind: Kind | None = None
    resources: tuple[str, ...] = ()
    notice_seconds: float = 0.0
    phase: Phase = Phase.SCHEDULED
    faults: tuple[str, ...] = ()  # by name, that hit it
    approved_by: tuple[str, ...] = ()
    approved: Moment | None = None  # first, by anybody
    announced: Moment | None = None  # None: it was Started at once, or is not announced
    started: Moment | None = None
    ended: Moment | None = None


@dataclass(slots=True)
class EventNotes:
    """What one guest saw and did of an event."""

    life: EventLife
    shown: Moment | None = None  # the first answer with the event
    shown_scheduled: Moment | None = None  # the same, while it was Scheduled
    gone: Moment | None = None  # the first later answer without it
    approved: Moment | None = None  # the first accepted approval
    approvals: int = 0
    unshown: int = 0  # documents without the event while it was announced
    misled_at: Moment | None = None  # the last answer that a fault made wrong about it
    misled_before_start_at: Moment | None = None  # the same, for a poll before the start
    approval_lost_at: Moment | None = None  # the last time that a fault lost its approval
    hit_by: tuple[str, ...] = ()  # the faults that did

    def be_misled(self, fault: str, answered: Moment, *, is_scheduled: bool) -> None:
        """Note that a fault made an answer wrong about the event."""
        self.misled_at = answered
        if is_scheduled:
            self.misled_before_start_at = answered
        self._be_hit(fault)

    def lose_approval(self, fault: str, asked: Moment) -> None:
        """Note that a fault lost the guest's approval."""
        self.approval_lost_at = asked
        self._be_hit(fault)

    def _be_hit(self, fault: str) -> None:
        if fault not in self.hit_by:
            self.hit_by = (*self.hit_by, fault)


@dataclass(slots=True)
class Timing:
    """What is counted in the seconds of one clock."""

    pace: Pace
    gaps: deque[float] = field(
        default_factory=lambda: deque(maxlen=MOST_GAPS)
    )  # between an answer and the next poll
    longest_gap: float | None = None
    beyond_limit: int = 0  # requests
    longest_return: float = 0.0  # after an error
    hammered: int = 0  # times that it returned too fast after errors
    _free_at: float = 0.0  # when the limit has no request left to refill

    def add_gap(self, stretch: Stretch) -> None:
        """Note a gap; the rest of one that an absence cut may be the longest, but is not usual."""
        if stretch.is_whole:
            self.gaps.append(stretch.seconds)
        if stretch.is_any:
            self.longest_gap = max(self.longest_gap or 0.0, stretch.seconds)

    def copy(self) -> Timing:
        """A copy for a reader on another thread."""
        return replace(self, gaps=self.gaps.copy())

    def is_beyond_limit(self, asked: Moment) -> bool:
        """Count one more request against the limit: five at once, refilled five a second."""
        now = asked.by(self.pace)
        if self._free_at - now > 1 - _COST_SECONDS + _ROUNDING:
            return True
        self._free_at = max(now, self._free_at) + _COST_SECONDS
        return False


@dataclass(slots=True)
class Errors:
    """Errors that the guest got, and what it did then."""

    by_status: Counter[int] = field(default_factory=Counter)  # 0: the connection was closed
    unawaited: int = 0  # answers that a fault delayed and the guest did not await
    put_in: int = 0  # by faults
    in_a_row: int = 0
    most_in_a_row: int = 0
    unresolved: Moment | None = None  # the last answer, if it was an error
    returns: int = 0
    recent: deque[Moment] = field(default_factory=lambda: deque(maxlen=_RETRIES_AT_ONCE))

    @property
    def count(self) -> int:
        """The number of errors."""
        return sum(self.by_status.values()) + self.unawaited

    def come_back(self, asked: Moment, timings: Iterable[Timing]) -> None:
        """Note that the guest asks again, if the last answer was an error."""
        if self.unresolved is None:
            return
        self.returns += 1
        self.recent.append(asked)
        is_hammering = len(self.recent) == _RETRIES_AT_ONCE
        for timing in timings:
            since, first, now = (each.by(timing.pace) for each in (self.unresolved, self.recent[0], asked))
            timing.longest_return = max(timing.longest_return, now - since)
            is_hammering = is_hammering and now - first < 1
            timing.hammered += is_hammering

    def add(self, status: int, answered: Moment, *, is_put_in: bool) -> None:
        """Note an error."""
        self.by_status[status] += 1
        self._add(answered, is_put_in=is_put_in)

    def add_unawaited(self, now: Moment) -> None:
        """Note an answer that a fault delayed and the guest did not await."""
        self.unawaited += 1
        self._add(now, is_put_in=True)

    def _add(self, answered: Moment, *, is_put_in: bool) -> None:
        self.put_in += is_put_in
        self.in_a_row += 1
        self.most_in_a_row = max(self.most_in_a_row, self.in_a_row)
        self.unresolved = answered

    def end(self) -> None:
        """Note a good answer."""
        self.in_a_row = 0
        self.unresolved = None
        self.recent.clear()


@dataclass(slots=True)
class GuestNotes:
    """Everything that is known about one guest."""

    vm: str
    requests: int = 0
    polls: int = 0  # requests for the document
    documents: int = 0  # polls that were answered with it, or with 304
    first_poll: Moment | None = None
    last_poll: Moment | None = None
    last_polled: Moment | None = None  # the last answer to a poll
    last_document: Moment | None = None
    open_polls: int = 0  # waiting for their answer
    hit_polls: int = 0  # by a fault
    versions: Counter[str] = field(default_factory=Counter)  # of polls that got the document
    approval_versions: Counter[str] = field(default_factory=Counter)
    approvals: int = 0  # of single events, that were accepted
    refused_approvals: int = 0
    bad_requests: int = 0
    headerless: int = 0  # accepted without the Metadata header, which the oldest version allows
    limited: int = 0  # answers 429 by the limit itself
    timings: tuple[Timing, Timing] = field(default_factory=lambda: (Timing(Pace.REAL), Timing(Pace.VIRTUAL)))
    errors: Errors = field(default_factory=Errors)
    events: dict[str, EventNotes] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)  # findings on events that are no longer kept
    present: frozenset[str] = frozenset()  # the events in its last document
    presence: Presence = field(default_factory=Presence)
    is_gone: bool = False  # the VM was deleted

    @property
    def ended_polls(self) -> int:
        """Polls that are over."""
        return self.polls - self.open_polls

    def timing(self, pace: Pace) -> Timing:
        """What is counted by that clock."""
        real, virtual = self.timings
        return real if pace is Pace.REAL else virtual

    def copy(self) -> GuestNotes:
        """A copy for a reader on another thread, with copies of its events."""
        real, virtual = self.timings
        return replace(
            self,
            versions=self.versions.copy(),
            approval_versions=self.approval_versions.copy(),
            timings=(real.copy(), virtual.copy()),
            errors=replace(self.errors, by_status=self.errors.by_status.copy(), recent=self.errors.recent.copy()),
            events={id_: replace(each, life=replace(each.life)) for id_, each in self.events.items()},
            dropped=self.dropped.copy(),
            presence=self.presence.copy(),
        )

    def ask(self, asked: Moment) -> None:
        """Note a request of any kind.

        The virtual clock blames only what the real one blames too: a guest keeps within the limit by either.
        """
        self.requests += 1
        is_beyond = True
        for timing in self.timings:
            is_beyond = timing.is_beyond_limit(asked) and is_beyond
            timing.beyond_limit += is_beyond
        self.errors.come_back(asked, self.timings)

    def begin_poll(self, asked: Moment) -> None:
        """Note the start of a poll; `end_poll` follows.

        The gap is the time since the last answer, if no other poll is waiting for one.
        """
        if self.last_polled is not None and not self.open_polls:
            for timing in self.timings:
                timing.add_gap(self.presence.stretch(self.last_polled, asked, timing.pace))
        self.polls += 1
        self.first_poll = self.first_poll or asked
        self.last_poll = asked
        self.open_polls += 1

    def end_poll(self, answered: Moment) -> None:
        """Note the end of a poll: it is answered, or the guest no longer waits."""
        self.open_polls = max(0, self.open_polls - 1)  # another VM may have taken the name meanwhile
        self.last_polled = answered

    def read(self, answered: Moment, version: str) -> None:
        """Note an answer with the document or 304; `see` comes before."""
        self.documents += 1
        self.last_document = answered
        self.versions[version] += 1
        for each in self.events.values():
            each.unshown += each.shown is None and each.life.announced is not None and each.life.ended is None

    def note_hit(self, fault: str, asked: Moment, answered: Moment, shown: dict[str, bool]) -> None:
        """Note that a fault hit a poll, and which events it hid or changed.

        `shown` has the events that the answer shows completely, and whether each is Scheduled.
        """
        self.hit_polls += 1
        for id_, each in self.events.items():
            life = each.life
            if life.announced is None or (life.ended is not None and life.ended.real < asked.real):
                continue
            was_scheduled = life.started is None or life.started.real > asked.real
            if shown.get(id_) is not was_scheduled:
                each.be_misled(fault, answered, is_scheduled=was_scheduled)

    def see(self, answered: Moment, shown: dict[str, bool], lives: dict[str, EventLife]) -> None:
        """Note the events of a document, and whether each is Scheduled; only so many of other VMs are kept."""
        room = MOST_EVENTS
        for id_, is_scheduled in shown.items():
            notes = self.events.get(id_)
            if notes is None:
                is_others = bool(lives[id_].resources) and self.vm not in lives[id_].resources
                room -= is_others
                if is_others and room < 0:
                    continue
                notes = self.add_event(lives[id_])
            notes.shown = notes.shown or answered
            if is_scheduled and notes.shown_scheduled is None:
                notes.shown_scheduled = answered
            if notes.life.ended is None:  # not a stale document
                notes.gone = None
        for id_ in self.present.difference(shown):
            if (found := self.events.get(id_)) is not None and found.gone is None:
                found.gone = answered
        self.present = frozenset(shown)

    def be_told_to_wait(self, answered: Moment, seconds: float, fault: str) -> None:
        """Note that an answer asks it to come back later; if a fault did, that hides its events meanwhile."""
        self.presence.wait = Wait(answered, answered.plus(seconds), fault)
        for each in self.events.values():
            if each.life.announced is not None and each.life.ended is None:
                self._hide(each)

    def end_wait(self, asked_at: float, answered: Moment) -> None:
        """Note an answer to a request of that real instant, which ends an earlier wait."""
        wait = self.presence.wait
        if wait is None or asked_at < wait.told.real:
            return
        self.presence.wait = None
        for each in self.events.values():
            each.misled_at = each.misled_at and each.misled_at.or_earlier(answered)
            before_start = each.misled_before_start_at
            each.misled_before_start_at = before_start and before_start.or_earlier(answered)

    def _hide(self, event: EventNotes) -> None:
        wait = self.presence.wait
        if wait is not None and wait.fault:
            event.be_misled(wait.fault, wait.until, is_scheduled=event.life.started is None)

    def approve(self, answered: Moment, life: EventLife, version: str) -> None:
        """Note an accepted approval."""
        self.approvals += 1
        self.approval_versions[version] += 1
        notes = self.events.get(life.id) or self.add_event(life)
        notes.approvals += 1
        notes.approved = notes.approved or answered

    def add_event(self, life: EventLife) -> EventNotes:
        """Start notes on an event."""
        notes = self.events[life.id] = EventNotes(life)
        if life.announced is not None:
            self._hide(notes)
        return notes

"""What a guest did, as it is noted while it asks: counts, a few moments, and the last of its events.

Nothing here reads a clock: moments are handed in. Every length of time is noted twice, by the clock of maintenance
and in real seconds; which of them counts is for the reader to say. What is kept of one guest does not grow.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace

from forewarn.core.moment import Moment, Pace
from forewarn.core.phase import Phase
from forewarn.core.presence import Presence, Stretch, Wait
from forewarn.core.terms import Kind

LIMIT_PER_SECOND = 5  # requests, and as many at once
MOST_EVENTS = 32  # of one guest; of those before them only what is to be said is kept
MOST_GAPS = 64
_COST_SECONDS = 1 / LIMIT_PER_SECOND
_ROUNDING = 1e-6  # seconds; sums of fractions are not exact
_RETRIES_AT_ONCE = 4  # within a second, each upon an error: that is hammering


@dataclass(slots=True)
class EventLife:
    """What became of an event, the same for all guests; before the plane has told of it, its id alone."""

    id: str
    kind: Kind | None = None
    resources: tuple[str, ...] = ()
    notice_seconds: float = 0.0
    phase: Phase = Phase.SCHEDULED
    faults: tuple[str, ...] = ()  # that were put in on purpose, by name
    approved_by: tuple[str, ...] = ()
    approved: Moment | None = None  # when somebody first said "go ahead"
    announced: Moment | None = None  # None: it was born Started, or nobody has told of it
    started: Moment | None = None
    ended: Moment | None = None


@dataclass(slots=True)
class EventNotes:
    """What one guest made of an event."""

    life: EventLife
    shown: Moment | None = None  # the first answer that showed it: from then on the guest could know
    shown_scheduled: Moment | None = None  # the same, while there was still something to wait for
    gone: Moment | None = None  # the first answer without it, after it was shown
    approved: Moment | None = None  # the first approval that was taken
    approvals: int = 0
    unshown: int = 0  # documents that it was given meanwhile, and that did not hold the event
    misled_at: Moment | None = None  # the last answer in which a fault that was put in kept it from what is so
    misled_before_start_at: Moment | None = (
        None  # the same, where it had asked while there was something to wait for
    )
    approval_struck_at: Moment | None = None  # when such a fault last kept its approval from counting
    struck_by: tuple[str, ...] = ()  # which faults did

    def be_misled(self, fault: str, answered: Moment, *, is_scheduled: bool) -> None:
        """A fault that was put in kept from the guest what is so of the event."""
        self.misled_at = answered
        if is_scheduled:
            self.misled_before_start_at = answered
        self._be_struck(fault)

    def lose_approval(self, fault: str, asked: Moment) -> None:
        """A fault that was put in kept its approval from counting."""
        self.approval_struck_at = asked
        self._be_struck(fault)

    def _be_struck(self, fault: str) -> None:
        if fault not in self.struck_by:
            self.struck_by = (*self.struck_by, fault)


@dataclass(slots=True)
class Gaps:
    """The times between one answer and the next request for the document, as far as the guest could have asked."""

    real: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_GAPS))
    virtual: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_GAPS))
    longest_real: float | None = None
    longest_virtual: float | None = None

    def add(self, real: Stretch, virtual: Stretch) -> None:
        """One more; what is left of one that an absence cut may be the longest, and says nothing of the usual."""
        if real.is_whole:
            self.real.append(real.seconds)
        if virtual.is_whole:
            self.virtual.append(virtual.seconds)
        if real.is_any:
            self.longest_real = max(self.longest_real or 0.0, real.seconds)
        if virtual.is_any:
            self.longest_virtual = max(self.longest_virtual or 0.0, virtual.seconds)


@dataclass(slots=True)
class Rate:
    """Whether the guest keeps within the limit: five requests at once, refilled five a second."""

    free_real: float = 0.0
    free_virtual: float = 0.0
    over_real: int = 0
    over_both: int = 0  # beyond it by either clock: nobody who keeps to one of them is to be blamed

    def count(self, asked: Moment) -> None:
        """One more request."""
        slack = 1 - _COST_SECONDS + _ROUNDING
        is_over_real = self.free_real - asked.real > slack
        is_over_virtual = self.free_virtual - asked.virtual > slack
        self.over_real += is_over_real
        self.over_both += is_over_real and is_over_virtual
        if not is_over_real:
            self.free_real = max(asked.real, self.free_real) + _COST_SECONDS
        if not is_over_virtual:
            self.free_virtual = max(asked.virtual, self.free_virtual) + _COST_SECONDS


@dataclass(slots=True)
class Errors:
    """Answers that were none, and what the guest did then."""

    by_status: Counter[int] = field(default_factory=Counter)  # 0: a hang-up
    unawaited: int = 0  # that a fault made late, and that the guest did not wait for
    put_in: int = 0  # by faults that somebody asked for
    in_a_row: int = 0
    most_in_a_row: int = 0
    unmended: Moment | None = None  # the last answer, where it was an error
    returns: int = 0
    longest_return_real: float = 0.0
    longest_return_virtual: float = 0.0
    hammered_real: int = 0
    hammered_both: int = 0
    recent: deque[Moment] = field(default_factory=lambda: deque(maxlen=_RETRIES_AT_ONCE))

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.by_status.values()) + self.unawaited

    def come_back(self, asked: Moment) -> None:
        """The guest asks again; how long after an error, if there was one."""
        if self.unmended is None:
            return
        self.returns += 1
        self.longest_return_real = max(self.longest_return_real, asked.real - self.unmended.real)
        self.longest_return_virtual = max(self.longest_return_virtual, asked.virtual - self.unmended.virtual)
        self.recent.append(asked)
        first = self.recent[0]
        if len(self.recent) == _RETRIES_AT_ONCE and asked.real - first.real < 1:
            self.hammered_real += 1
            self.hammered_both += asked.virtual - first.virtual < 1

    def add(self, status: int, answered: Moment, *, is_put_in: bool) -> None:
        """One more."""
        self.by_status[status] += 1
        self._lengthen(answered, is_put_in=is_put_in)

    def wait_no_more(self, now: Moment) -> None:
        """One more: the guest has left before the answer came that a fault made late."""
        self.unawaited += 1
        self._lengthen(now, is_put_in=True)

    def _lengthen(self, answered: Moment, *, is_put_in: bool) -> None:
        self.put_in += is_put_in
        self.in_a_row += 1
        self.most_in_a_row = max(self.most_in_a_row, self.in_a_row)
        self.unmended = answered

    def end(self) -> None:
        """The guest was answered as it should be."""
        self.in_a_row = 0
        self.unmended = None
        self.recent.clear()


@dataclass(slots=True)
class GuestNotes:
    """All that is known of one guest's ways."""

    vm: str
    requests: int = 0
    polls: int = 0  # requests for the document
    documents: int = 0  # those that were answered with it, or with "unchanged"
    first_poll: Moment | None = None
    last_poll: Moment | None = None
    last_polled: Moment | None = None  # when one of them was last answered
    last_document: Moment | None = None
    open_polls: int = 0  # that are being answered: held, or delayed by a fault
    struck_polls: int = 0  # that met a fault which was put in
    versions: Counter[str] = field(default_factory=Counter)  # of polls that were answered with the document
    approval_versions: Counter[str] = field(default_factory=Counter)
    approvals: int = 0  # of single events, that were taken
    refused_approvals: int = 0
    bad_requests: int = 0
    headerless: int = 0  # granted polls and approvals without the Metadata header, which the oldest version allows
    limited: int = 0  # 429, by the limit itself
    gaps: Gaps = field(default_factory=Gaps)
    rate: Rate = field(default_factory=Rate)
    errors: Errors = field(default_factory=Errors)
    events: dict[str, EventNotes] = field(default_factory=dict)
    let_go: Counter[str] = field(default_factory=Counter)  # what was to be said of events that are not kept
    present: frozenset[str] = frozenset()  # the events in the last document it was given
    presence: Presence = field(default_factory=Presence)
    is_gone: bool = False  # the machine was deleted

    @property
    def ended_polls(self) -> int:
        """Those that are not being answered any more."""
        return self.polls - self.open_polls

    def copy(self) -> GuestNotes:
        """The same, for a reader on another thread; what became of the events is copied too."""
        return replace(
            self,
            versions=self.versions.copy(),
            approval_versions=self.approval_versions.copy(),
            gaps=replace(self.gaps, real=self.gaps.real.copy(), virtual=self.gaps.virtual.copy()),
            rate=replace(self.rate),
            errors=replace(self.errors, by_status=self.errors.by_status.copy(), recent=self.errors.recent.copy()),
            events={id_: replace(each, life=replace(each.life)) for id_, each in self.events.items()},
            let_go=self.let_go.copy(),
            presence=self.presence.copy(),
        )

    # What is noted.

    def ask(self, asked: Moment) -> None:
        """It asks for something, whatever it is, and whatever it will be answered."""
        self.requests += 1
        self.rate.count(asked)
        self.errors.come_back(asked)

    def begin_poll(self, asked: Moment) -> None:
        """It asks for the document; `end_poll` follows.

        The gap goes from the last answer to this request; there is none while another poll is being answered.
        """
        if self.last_polled is not None and not self.open_polls:
            since = self.last_polled
            self.gaps.add(*(self.presence.stretch(since, asked, pace) for pace in (Pace.REAL, Pace.VIRTUAL)))
        self.polls += 1
        self.first_poll = self.first_poll or asked
        self.last_poll = asked
        self.open_polls += 1

    def end_poll(self, answered: Moment) -> None:
        """One that was begun is answered, or nobody waits for its answer any more."""
        self.open_polls = max(0, self.open_polls - 1)  # the name may have been given to another machine meanwhile
        self.last_polled = answered

    def read(self, answered: Moment, version: str) -> None:
        """It was given the document, or told that it has not changed; what it was shown is noted before."""
        self.documents += 1
        self.last_document = answered
        self.versions[version] += 1
        for each in self.events.values():
            each.unshown += each.shown is None and each.life.announced is not None and each.life.ended is None

    def note_stroke(self, fault: str, asked: Moment, answered: Moment, shown: dict[str, bool]) -> None:
        """A fault that was put in has struck a poll; what that kept from the guest, of all that was to be known.

        `shown` is what it was told instead: events that are told of whole, and whether each is Scheduled.
        """
        self.struck_polls += 1
        for id_, each in self.events.items():
            life = each.life
            if life.announced is None or (life.ended is not None and life.ended.real < asked.real):
                continue
            was_scheduled = life.started is None or life.started.real > asked.real
            if shown.get(id_) is not was_scheduled:
                each.be_misled(fault, answered, is_scheduled=was_scheduled)

    def see(self, answered: Moment, shown: dict[str, bool], lives: dict[str, EventLife]) -> None:
        """It was shown these events, and whether each is Scheduled; of others' news only so many are taken up."""
        room = MOST_EVENTS
        for id_, is_scheduled in shown.items():
            notes = self.events.get(id_)
            if notes is None:
                is_others = bool(lives[id_].resources) and self.vm not in lives[id_].resources
                room -= is_others
                if is_others and room < 0:
                    continue
                notes = self.take_up(lives[id_])
            notes.shown = notes.shown or answered
            if is_scheduled and notes.shown_scheduled is None:
                notes.shown_scheduled = answered
            if notes.life.ended is None:  # a stale document brings nothing back
                notes.gone = None
        for id_ in self.present.difference(shown):
            if (found := self.events.get(id_)) is not None and found.gone is None:
                found.gone = answered
        self.present = frozenset(shown)

    def be_told_to_wait(self, answered: Moment, seconds: float, fault: str) -> None:
        """An answer asks it to come back later. A fault that was put in keeps its events from it meanwhile."""
        self.presence.wait = Wait(answered, answered.plus(seconds), fault)
        for each in self.events.values():
            if each.life.announced is not None and each.life.ended is None:
                self._keep_from_it(each)

    def end_wait(self, asked_at: float, answered: Moment) -> None:
        """A request is answered that came at that real instant: who was told to wait before waits no more."""
        wait = self.presence.wait
        if wait is None or asked_at < wait.told.real:
            return
        self.presence.wait = None
        for each in self.events.values():
            each.misled_at = each.misled_at and each.misled_at.or_earlier(answered)
            before_start = each.misled_before_start_at
            each.misled_before_start_at = before_start and before_start.or_earlier(answered)

    def _keep_from_it(self, event: EventNotes) -> None:
        wait = self.presence.wait
        if wait is not None and wait.fault:
            event.be_misled(wait.fault, wait.until, is_scheduled=event.life.started is None)

    def approve(self, answered: Moment, life: EventLife, version: str) -> None:
        """Its approval of an event was taken."""
        self.approvals += 1
        self.approval_versions[version] += 1
        notes = self.events.get(life.id) or self.take_up(life)
        notes.approvals += 1
        notes.approved = notes.approved or answered

    def take_up(self, life: EventLife) -> EventNotes:
        """Notes of an event that is new to it."""
        notes = self.events[life.id] = EventNotes(life)
        if life.announced is not None:
            self._keep_from_it(notes)
        return notes

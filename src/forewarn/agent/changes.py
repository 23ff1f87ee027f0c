"""What has changed since the last answer, for programs that want to be told. Pure: answers in, changes out.

When an event that an answer lacks is gone, `absence.py` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta

from forewarn.agent.absence import Doubt, LastSeen, ending_of, judge, named_also
from forewarn.agent.case import Ending
from forewarn.agent.compat import StrEnum, dataclass
from forewarn.agent.events import Event, Sighting


class What(StrEnum):
    """What has happened to an event."""

    SCHEDULED = "scheduled"  # it is there, and was not
    CHANGED = "changed"  # another time, other VMs, another kind
    STARTED = "started"
    FINISHED = "finished"  # gone after it had started
    CANCELLED = "cancelled"  # gone before


OVER = frozenset({What.FINISHED, What.CANCELLED})


class CannotApprove(Exception):
    """An approval that would be wrong; the message says why."""


@dataclass(frozen=True, slots=True)
class Change:
    """An event, and what has happened to it."""

    what: What
    event: Event  # as it is now; as it was last seen, if it is gone
    vm: str  # the name by which it means this VM; empty: it does not
    at: datetime  # on the platform's clock
    before: Event | None = None  # as it was
    send_approval: Callable[[str], None] = field(repr=False, compare=False, default=lambda _: None)

    @property
    def is_mine(self) -> bool:
        """Whether it names this VM."""
        return bool(self.vm)

    @property
    def id(self) -> str:
        """The event's id."""
        return self.event.id

    @property
    def type(self) -> str:
        """Freeze, Reboot, Redeploy, Preempt, Terminate, or what a later version says."""
        return self.event.type

    @property
    def status(self) -> str:
        """Scheduled or Started."""
        return self.event.status

    @property
    def resources(self) -> tuple[str, ...]:
        """The VMs to which it happens."""
        return self.event.resources

    @property
    def not_before(self) -> datetime | None:
        """Before this it starts only if approved; None once it has started."""
        return self.event.not_before

    @property
    def source(self) -> str:
        """Platform or User."""
        return self.event.source

    @property
    def description(self) -> str:
        """A sentence, or nothing."""
        return self.event.description

    @property
    def duration_seconds(self) -> int | None:
        """How long the VM will be away; -1: unknown."""
        return self.event.duration_seconds

    @property
    def seconds_left(self) -> float | None:
        """From this change until `not_before`; None where there is none."""
        return None if self.not_before is None else (self.not_before - self.at).total_seconds()

    def approve(self, *, for_others: bool = False) -> None:
        """Let it start now: all of its VMs. Returns when the endpoint has taken it, and raises where it has not.

        An event that does not name this VM is approved only `for_others`; one that has started needs no approval.
        """
        if self.what in OVER:
            raise CannotApprove(f"Event {self.id} is {self.what}: there is nothing left to approve.")
        if not self.is_mine and not for_others:
            names = ", ".join(self.resources) or "nobody"
            raise CannotApprove(f"Event {self.id} is for {names}, not for this VM: say approve(for_others=True).")
        if self.event.has_started:
            return
        if not self.event.is_scheduled:
            said = self.status or "not said"
            raise CannotApprove(f"Event {self.id} may be approved only while Scheduled, and its status is {said}.")
        self.send_approval(self.id)


class Register:
    """The events that are there. `note` is for one thread; changes may be approved on any."""

    def __init__(
        self,
        which: Callable[[Sequence[str]], str],
        send_approval: Callable[[str], None],
        now: Callable[[], datetime],
        watched_within: timedelta,
        apart_seconds: float,
    ) -> None:
        self._which = which
        self._send_approval = send_approval
        self._now = now
        self._watched_within = watched_within  # a shorter gap between two answers is no gap
        self._there: dict[str, tuple[Event, str]] = {}  # by id: as last seen, and by which name it means this VM
        self._last_seen: dict[str, LastSeen] = {}
        self._let_go_at: dict[str, datetime] = {}  # when the endpoint took its approval
        self._apart_seconds = apart_seconds  # between answers that count against an event
        self._doubts: Mapping[str, Doubt] = {}
        # An event is missing, and in so many seconds another look is wanted before it counts as gone.
        self.look_after: float | None = None

    def note(self, sighting: Sighting) -> list[Change]:
        """What an answer changes."""
        events = sighting.document.events
        changes = [change for event in events for change in self._note_event(event, sighting)]
        there = {event.id for event in events}
        lacking = {
            each: replace(seen, let_go_at=self._let_go_at.get(each))
            for each, seen in self._last_seen.items()
            if each not in there
        }
        absence = judge(lacking, self._doubts, sighting, self._apart_seconds)
        changes.extend(self._note_gone(each, lacking[each], sighting.at) for each in sorted(absence.gone))
        self._doubts, self.look_after = absence.doubts, absence.look_after
        return changes

    def _approve(self, event: str) -> None:
        self._send_approval(event)
        self._let_go_at[event] = self._now()

    def _note_event(self, event: Event, sighting: Sighting) -> Iterator[Change]:
        vm = self._which(event.resources)
        before, vm_before = self._there.get(event.id, (None, ""))
        self._there[event.id] = (event, vm)
        seen = self._last_seen.get(event.id)
        named_by = named_also(seen.named_by if seen else (), sighting.endpoint)
        has_started = event.has_started or (seen is not None and seen.has_started)
        self._last_seen[event.id] = LastSeen(sighting.at, event.not_before, has_started, named_by)
        if event.has_started and not (before and before.has_started):
            what = What.STARTED
        elif before is None:
            what = What.SCHEDULED
        elif (before, vm_before) != (event, vm):
            what = What.CHANGED
        else:
            return
        yield Change(what, event, vm, sighting.at, before, self._approve)

    def _note_gone(self, gone: str, seen: LastSeen, at: datetime) -> Change:
        event, vm = self._there.pop(gone)
        del self._last_seen[gone]
        self._let_go_at.pop(gone, None)
        is_finished = ending_of(seen, at, self._watched_within) is Ending.FINISHED
        return Change(What.FINISHED if is_finished else What.CANCELLED, event, vm, at, event, self._approve)

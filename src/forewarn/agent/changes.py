"""What has changed since the last answer, for programs that want to be told. Pure: answers in, changes out.

An event counts as gone only when a second answer, asked for anew, lacks it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from forewarn.agent.events import Document, Event


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
        if not self.event.has_started:
            self.send_approval(self.id)


class Register:
    """The events that are there."""

    def __init__(self, which: Callable[[Sequence[str]], str], send_approval: Callable[[str], None]) -> None:
        self._which = which
        self._send_approval = send_approval
        self._there: dict[str, tuple[Event, str]] = {}  # by id: as last seen, and by which name it means this VM
        self._missing: set[str] = set()

    @property
    def is_unsure(self) -> bool:
        """Whether an event is missing, and another look is wanted before it counts as gone."""
        return bool(self._missing)

    def note(self, document: Document, at: datetime, *, is_anew: bool) -> list[Change]:
        """What an answer changes."""
        changes = [change for event in document.events for change in self._note_event(event, at)]
        lacking = set(self._there) - {event.id for event in document.events}
        if document.oddities:  # one of them may be what cannot be read
            return changes
        gone = self._missing & lacking if is_anew else set()
        changes.extend(self._note_gone(sorted(gone), at))
        self._missing = lacking - gone
        return changes

    def _note_event(self, event: Event, at: datetime) -> Iterator[Change]:
        vm = self._which(event.resources)
        before, vm_before = self._there.get(event.id, (None, ""))
        self._there[event.id] = (event, vm)
        if event.has_started and not (before and before.has_started):
            what = What.STARTED
        elif before is None:
            what = What.SCHEDULED
        elif (before, vm_before) != (event, vm):
            what = What.CHANGED
        else:
            return
        yield Change(what, event, vm, at, before, self._send_approval)

    def _note_gone(self, ids: Sequence[str], at: datetime) -> Iterator[Change]:
        for each in ids:
            event, vm = self._there.pop(each)
            is_due = event.not_before is not None and at >= event.not_before
            what = What.FINISHED if event.has_started or is_due else What.CANCELLED
            yield Change(what, event, vm, at, event, self._send_approval)

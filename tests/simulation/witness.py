"""What can be seen from outside: the documents as guests could read them, and what was asked and answered.

The laws are judged on this, not on what the plane thinks of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from forewarn.core.document import Document
from forewarn.core.event import Event
from forewarn.core.fleet import Vm
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause
from forewarn.drivers.machines import Trouble


class LawBroken(BaseException):
    """A law was broken; the message names it. Nothing that guards against failing drivers may swallow it."""


@dataclass(frozen=True)
class Shown:
    """What a scope's guests can read: the document, its Events as written in each version, whether they count."""

    document: Document
    events_written: tuple[bytes, ...]
    is_on: bool


@dataclass
class Sighting:
    """The life of one event as documents showed it."""

    event: Event
    first_at: datetime  # seen with the NotBefore that it has
    first_elapsed: timedelta
    first_phase: Phase
    started_at: datetime | None = None
    started_elapsed: timedelta | None = None
    gone_at: datetime | None = None
    was_not_before: datetime | None = None  # before it was last moved


@dataclass
class Asked:
    """A request that the simulation made, and what it knew when it made it."""

    operation: str
    cause: Cause
    vms: tuple[str, ...]
    scopes_on: dict[str, bool]
    had_profile: bool
    host: str | None = None  # of a request about a whole host


@dataclass
class Effect:
    """Something that a machine felt."""

    operation: str
    vm: str
    action: str
    elapsed: timedelta
    trouble: Trouble | None


class KnownVms:
    """The VMs there are, and those that there were."""

    def __init__(self, present: Callable[[], dict[str, Vm]]) -> None:
        self._present = present
        self._past: dict[str, Vm] = {}

    def __getitem__(self, name: str) -> Vm:
        return self._present().get(name) or self._past[name]

    def __contains__(self, name: str) -> bool:
        return name in self._present()

    def remember(self, vm: Vm) -> None:
        """It is there now, and may be gone later."""
        self._past[vm.name] = vm

    def values(self) -> list[Vm]:
        """The VMs there are now."""
        return list(self._present().values())


_OWNERS_SWITCH = {Cause.STOP, Cause.DEALLOCATE, Cause.START}


@dataclass
class Witness:
    """Everything seen so far."""

    vms: KnownVms
    shown: dict[str, Shown] = field(default_factory=dict)
    sightings: dict[str, Sighting] = field(default_factory=dict)
    by_operation: dict[str, list[str]] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)
    approvals: dict[str, set[str]] = field(default_factory=dict)  # event to who may have approved it
    effects: list[Effect] = field(default_factory=list)
    on_document: list[Callable[[str, Shown | None, Shown], None]] = field(default_factory=list)
    on_sighting: list[Callable[[Sighting, str], None]] = field(default_factory=list)
    on_effect: list[Callable[[Effect], None]] = field(default_factory=list)

    def see_document(self, scope: str, after: Shown, now: datetime, elapsed: timedelta) -> None:
        """A scope's guests can read this from now on."""
        before = self.shown.get(scope)
        for judge in self.on_document:
            judge(scope, before, after)
        self.shown[scope] = after
        there = {event.id for event in after.document.events}
        for event in after.document.events:
            self._see_event(event, now, elapsed)
        for event in before.document.events if before else ():
            if event.id not in there:
                self._lose_event(event, now)

    def is_owners_switch(self, operation: str) -> bool:
        """Whether an owner only switched a machine on or off: it is not down by that."""
        return self.asked[operation].cause in _OWNERS_SWITCH

    def lose_document(self, scope: str, now: datetime) -> None:
        """The scope is gone, and what it was told with it."""
        before = self.shown.pop(scope, None)
        for event in before.document.events if before else ():
            self._lose_event(event, now)

    def _lose_event(self, event: Event, now: datetime) -> None:
        sighting = self.sightings[event.id]
        sighting.gone_at = now
        self._tell(sighting, "gone")

    def events_shown(self, scope: str) -> tuple[Event, ...]:
        """What the scope's guests can read now, or could before the process died."""
        return self.shown[scope].document.events if scope in self.shown else ()

    def _see_event(self, event: Event, now: datetime, elapsed: timedelta) -> None:
        sighting = self.sightings.get(event.id)
        if sighting is None:
            sighting = self.sightings[event.id] = Sighting(event, now, elapsed, event.phase)
            self.by_operation.setdefault(event.operation, []).append(event.id)
            if event.phase is Phase.STARTED:
                sighting.started_at, sighting.started_elapsed = now, elapsed
            self._tell(sighting, "first")
            return
        was, sighting.event = sighting.event, event
        if len(event.resources) < len(was.resources):
            self._tell(sighting, "thinned out")
        if was.not_before != event.not_before:
            sighting.was_not_before = was.not_before
            sighting.first_at, sighting.first_elapsed = now, elapsed
            self._tell(sighting, "promised anew")
        if was.phase is Phase.SCHEDULED and event.phase is Phase.STARTED:
            sighting.started_at, sighting.started_elapsed = now, elapsed
            self._tell(sighting, "started")
        elif was.phase is Phase.STARTED and event.phase is Phase.SCHEDULED:
            self._tell(sighting, "backwards")
        if sighting.gone_at is not None:
            self._tell(sighting, "returned")

    def _tell(self, sighting: Sighting, what: str) -> None:
        for judge in self.on_sighting:
            judge(sighting, what)

    def of_operation(self, operation: str) -> list[Sighting]:
        """The events of one operation that were ever seen."""
        return [self.sightings[event] for event in self.by_operation.get(operation, ())]

    def feel(self, effect: Effect) -> None:
        """A machine has felt something."""
        self.effects.append(effect)
        for judge in self.on_effect:
            judge(effect)

    def may_have_approved(self, event: str, by: str) -> None:
        """Somebody sent an approval, whether or not it was answered."""
        self.approvals.setdefault(event, set()).add(by)

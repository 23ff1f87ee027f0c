"""One event as a test holds it: where it is in its life, and what is expected of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from threading import TIMEOUT_MAX

from forewarn.core.event import Approval
from forewarn.core.event import Event as CoreEvent
from forewarn.core.phase import Phase
from forewarn.emulator import Emulator, Refused
from forewarn.testing.guest import Vm
from forewarn.testing.life import State, Unmet, read_state, tell_life
from forewarn.wire.choices import did_you_mean, either


def as_phase(text: str) -> Phase:
    """The phase of that name, in any case."""
    known = {str(each).lower(): each for each in Phase}
    if isinstance(text, str) and text.lower() in known:
        return known[text.lower()]
    names = [str(each) for each in Phase]
    near = did_you_mean(text, names) if isinstance(text, str) else ""
    raise Refused(f"{text!r} is no phase of an event.", f"{near} It can be {either(names)}.".strip())


class Event:
    """Something that was asked for, and the event that tells the guests of it, where there is one."""

    def __init__(self, emulator: Emulator, state: State) -> None:
        self._emulator = emulator
        self._title = state.about.title
        self.operation = state.operation.id
        self.id = state.event.id if state.event else None  # None: guests are told nothing
        self.kind = state.event.kind if state.event else None
        self.others: tuple[Event, ...] = ()  # of the same work: one for each scope and update domain on a host

    def __repr__(self) -> str:
        return f"<Event {self._title}>"

    def __str__(self) -> str:
        return self._title

    # As it is now.

    @property
    def state(self) -> State:
        """All that is known of it, as it is now."""
        plane = self._emulator.service.plane
        return self._emulator.on_plane(read_state, plane, self.operation, self.id)

    @property
    def phase(self) -> Phase:
        """Scheduled, Started, Completed, Cancelled or Failed."""
        return self.state.phase

    @property
    def resources(self) -> tuple[str, ...]:
        """The VMs that it is about."""
        state = self.state
        return state.event.resources if state.event else state.operation.targets

    @property
    def not_before(self) -> datetime | None:
        """The promised time; None where nothing was announced."""
        event = self.state.event
        return event.not_before if event else None

    @property
    def description(self) -> str:
        """What guests read."""
        return self.state.about.description

    @property
    def duration_seconds(self) -> int:
        """How long the VMs are expected to be away; -1: unknown."""
        return self.state.about.duration_seconds

    @property
    def approved_by(self) -> str | None:
        """The first who approved."""
        event = self.state.event
        return event.approved_by if event else None

    @property
    def approvals(self) -> tuple[Approval, ...]:
        """Who has approved, and when."""
        event = self.state.event
        return event.approvals if event else ()

    @property
    def started_at(self) -> datetime | None:
        """When it started."""
        return self.state.about.started_at

    @property
    def ended_at(self) -> datetime | None:
        """When it ended."""
        return self.state.about.ended_at

    @property
    def life(self) -> str:
        """All that happened to it, a line for each."""
        plane = self._emulator.service.plane
        return self._emulator.on_plane(tell_life, plane, self.operation, self.id)

    # What is expected of it.

    def expect(self, phase: str, *, within_seconds: float = 0) -> None:
        """Fail unless it is in that phase, or comes to be while a program is given so many real seconds."""
        __tracebackhide__ = True
        wanted = as_phase(phase)
        if not self._becomes(lambda state: state.phase is wanted, within_seconds):
            raise self.unmet(f"{self} is {self.phase}; it was to be {wanted}{_after(within_seconds)}.")

    def expect_approved(self, by: Vm | str | None = None, *, within_seconds: float = 0) -> None:
        """Fail unless it is approved, by that VM or by whoever it may be."""
        __tracebackhide__ = True
        name = by.name if isinstance(by, Vm) else by
        if self.id is None:
            raise self.unmet(f"{self} cannot be approved: guests are told nothing of it.")
        if self._becomes(lambda state: _is_approved(state.event, name), within_seconds):
            return
        others = ", ".join(each.by for each in self.approvals)
        whom = f" by {name}" if name else ""
        seen = f"it is approved by {others}" if others else "it is not approved"
        raise self.unmet(f"{self} was to be approved{whom}{_after(within_seconds)}; {seen}.")

    def unmet(self, sentence: str) -> Unmet:
        """A failure with the whole life of the event below it."""
        return Unmet(f"{sentence}\n{self.life}")

    def _becomes(self, is_so: Callable[[State], bool], seconds: float) -> bool:
        """Whether it is so, or comes to be in so many real seconds."""
        if not isinstance(seconds, int | float) or not 0 <= seconds <= TIMEOUT_MAX:
            raise Refused(f"{seconds} s cannot be waited.", "Give 0 or more.")
        plane = self._emulator.service.plane
        look = partial(read_state, plane, self.operation, self.id)
        return self._emulator.becomes(lambda: is_so(look()), seconds)


def as_event(given: object) -> Event:
    """What was given, if it is an event."""
    if not isinstance(given, Event):
        raise Refused(f"{given!r} is no event.", "Give what restart() or another request returned.")
    return given


def _is_approved(event: CoreEvent | None, by: str | None) -> bool:
    return event is not None and any(by in (None, each.by) for each in event.approvals)


def _after(seconds: float) -> str:
    return f" within {seconds:g} s" if seconds else ""

"""Compare expectations with events, documents, machines and what guests saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from forewarn.control.plane import ControlPlane
from forewarn.core.document import Document, document_of
from forewarn.core.event import Event
from forewarn.core.phase import Phase
from forewarn.core.world import Changes
from forewarn.scenario.file.keys import OF_A_VM_THAT_EXISTS, OF_AN_EVENT
from forewarn.scenario.file.model import NO_EVENT, Expectation, FileLine, clock_of
from forewarn.scenario.play.guests import ScriptedGuest, SeenEvent

_NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Difference:
    """A key whose value is not as expected."""

    key: str
    expected: str
    seen: str


@dataclass(frozen=True, slots=True)
class FailedExpectation:
    """An expectation that failed, or an action that was refused."""

    line: FileLine
    at: timedelta
    subject: str
    differences: tuple[Difference, ...]


@dataclass(slots=True)
class EventLog:
    """All events of the play, in their newest state. Kept on the plane's thread."""

    events: dict[str, Event] = field(default_factory=dict)
    named: dict[str, set[str]] = field(default_factory=dict)  # every VM that each event has ever named

    def note(self, changes: Changes) -> list[Event]:
        """Take over a commit; return the events with a change to report."""
        news = []
        for event in changes.entities:
            if isinstance(event, Event):
                before = self.events.get(event.id)
                self.events[event.id] = event
                self.named.setdefault(event.id, set()).update(event.resources)
                if before is None or _reported(before) != _reported(event):
                    news.append(event)
        return news

    def of(self, vm: str, kind: str | None) -> list[Event]:
        """The events of a VM, oldest first."""
        found = [e for e in self.events.values() if vm in self.named[e.id] and kind in {None, e.kind}]
        return sorted(found, key=lambda event: event.number)


def _reported(event: Event) -> tuple[object, ...]:
    return event.phase, event.not_before, event.approvals


@dataclass(frozen=True, slots=True)
class ExpectationChecker:
    """Compares expectations with what is. Called on the plane's thread."""

    plane: ControlPlane
    chronicle: EventLog
    guests: Mapping[str, ScriptedGuest]

    def differences(self, wanted: Expectation) -> Iterator[Difference]:
        """The keys whose values are not as expected."""
        if wanted.vm is not None:
            yield from self._of_events(wanted, wanted.vm)
            yield from self._of_vm(wanted, wanted.vm)
        if wanted.guest is not None:
            yield from _of_guest(wanted, self.guests[wanted.guest])
        if wanted.open is not None:
            count = sum(event.phase.is_open for event in self.chronicle.events.values())
            yield from _compare(wanted, {"open": count})

    def _of_events(self, wanted: Expectation, vm: str) -> Iterator[Difference]:
        found = self.chronicle.of(vm, wanted.kind)
        yield from _compare(wanted, {"count": len(found)})
        if found:
            yield from _compare(wanted, _values_of(found[-1], self.plane.clock.now()))
            return
        for key in OF_AN_EVENT:
            expected = getattr(wanted, key)
            if key != "kind" and expected is not None and expected != NO_EVENT:
                yield Difference(key, _written(expected), f"no event of {vm}")

    def _of_vm(self, wanted: Expectation, name: str) -> Iterator[Difference]:
        vm = self.plane.world.vms.get(name)
        if vm is None:
            unseen = dict.fromkeys(OF_A_VM_THAT_EXISTS, "the VM is deleted")
            yield from _compare(wanted, unseen | {"state": "deleted"})
            return
        document: Document = document_of(self.plane.world, vm.scope)
        yield from _compare(
            wanted,
            {
                "empty": not document.events,
                "events": len(document.events),
                "incarnation": document.incarnation,
                "on": self.plane.world.scopes[vm.scope].is_on,
                "state": str(vm.state),
                "host": vm.host,
            },
        )


def _values_of(event: Event, now: datetime) -> dict[str, Any]:
    """The values of an event that can be expected."""
    ahead: object = event.not_before - now
    if event.phase is not Phase.SCHEDULED:
        ahead = f"it is {event.phase}"
    return {
        "phase": str(event.phase),
        "notice": event.notice,
        "not_before_in": ahead,
        "approved_by": event.approved_by or "",
        "description": event.description,
        "duration_seconds": event.duration_seconds,
        "source": str(event.source),
        "resources": list(event.resources),
        "fault": str(event.fault or ""),
    }


def _of_guest(wanted: Expectation, guest: ScriptedGuest) -> Iterator[Difference]:
    own = [seen for seen in guest.sightings.values() if seen.is_own and wanted.kind in {None, seen.kind}]
    last: SeenEvent | None = own[-1] if own else None
    status = guest.last_status if guest.last_status >= 0 else "it has not polled"
    values: dict[str, Any] = {"saw": last.statuses if last else [], "status": status, "ids": len(own)}
    yield from _compare(wanted, values)


def _compare(wanted: Expectation, values: Mapping[str, Any]) -> Iterator[Difference]:
    for key, seen in values.items():
        expected = getattr(wanted, key)
        if expected is not None and expected != seen:
            yield Difference(key, _written(expected), _written(seen))


def _written(value: Any) -> str:  # noqa: ANN401 - any value of an expectation
    """A value as in the file, without quotes."""
    if isinstance(value, timedelta):
        return clock_of(value) if value >= timedelta(0) else f"{clock_of(-value)} ago"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or _NOTHING
    return str(value) if value != "" else _NOTHING


def subject_of(wanted: Expectation) -> str:
    """What an expectation is about, for a reader."""
    kind = f"{wanted.kind} of " if wanted.kind else ""
    if wanted.vm is not None:
        return f"{kind}{wanted.vm}"
    return f"guest {wanted.guest}" if wanted.guest is not None else "the fleet"


def in_words(wanted: Expectation) -> str:
    """What is expected, for a reader: `phase Started, count 1`."""
    values = {key: getattr(wanted, key) for key in Expectation.__dataclass_fields__}
    about = {"time", "vm", "guest", "kind"}
    said = [f"{key} {_written(value)}" for key, value in values.items() if value is not None and key not in about]
    return ", ".join(said)

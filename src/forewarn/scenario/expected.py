"""Plain mistakes in an expectation: its subject, names, numbers and contradictions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from forewarn.core.fault import FORMS
from forewarn.core.fleet_check import Place, Problem
from forewarn.core.notice import UNKNOWN_SECONDS
from forewarn.core.phase import Phase
from forewarn.core.terms import VmState
from forewarn.core.world import World
from forewarn.scenario import faults
from forewarn.scenario.file import ScenarioText
from forewarn.scenario.model import GONE, NO_EVENT, Expectation
from forewarn.scenario.problems import at, scripted_guests, unknown, unknown_vm
from forewarn.scenario.words import EXPECTED_OF, OF_A_VM_THAT_IS, OF_AN_EVENT
from forewarn.wire.choices import either, suggest

# What a guest sees of one event, in the order in which it can; GONE is never the first.
_SEEN = (Phase.SCHEDULED.value, Phase.STARTED.value, GONE)
_LEAST: Mapping[str, int] = {
    "count": 0,
    "open": 0,
    "events": 0,
    "ids": 0,
    "incarnation": 1,
    "duration_seconds": UNKNOWN_SECONDS,
}
_MARKS = [str(name) for name, form in FORMS.items() if form.marks_events]


@dataclass(frozen=True, slots=True)
class ExpectationCheck:
    """Looks at one expectation."""

    text: ScenarioText
    world: World
    vms: Collection[str]  # all that there may be at some time
    wanted: Expectation
    where: Place

    def problems(self) -> Iterator[Problem]:
        """What cannot hold."""
        yield from self._subject()
        yield from self._names()
        yield from self._numbers()
        yield from self._sightings()
        yield from self._contradictions()

    def _problem(self, key: str, what: str, remedy: str) -> Problem:
        return Problem(at(self.where, key), what, remedy)

    def _subject(self) -> Iterator[Problem]:
        wanted = self.wanted
        given = [each.name for each in fields(wanted) if getattr(wanted, each.name) is not None]
        subjects = [key for key in ("vm", "guest") if key in given]
        said = [key for key in given if key not in {"time", "vm", "guest"}]
        subject = subjects[0] if subjects else ""
        if len(subjects) > 1:
            yield Problem(self.where, "An expectation is about a vm or about a guest.", "Make two of it.")
        elif not [key for key in said if key != "kind"]:
            keys = [key for key in EXPECTED_OF[subject] if key != "kind"]
            yield Problem(self.where, "Nothing is expected here.", f"Say what: {either(keys)}.")
        else:
            yield from _strangers(said, subject, self.where)

    def _names(self) -> Iterator[Problem]:
        wanted, where = self.wanted, self.where
        if wanted.vm is not None:
            yield from unknown_vm(self.text, wanted.vm, self.vms, at(where, "vm"))
        for name in wanted.resources or []:
            yield from unknown_vm(self.text, name, self.vms, at(where, "resources"))
        if wanted.host is not None:
            yield from unknown("host", wanted.host, self.world.hosts, at(where, "host"))
        if wanted.guest is not None:
            yield from unknown("scripted guest", wanted.guest, scripted_guests(self.text), at(where, "guest"))
        if wanted.fault:
            yield from self._mark(wanted.fault)

    def _mark(self, fault: str) -> Iterator[Problem]:
        if fault not in faults.NAMES:
            yield self._problem("fault", f"There is no fault {fault}.", suggest(fault, faults.NAMES))
        elif fault not in _MARKS:
            yield self._problem("fault", f"No event is marked with {fault}.", f"The marks are {either(_MARKS)}.")

    def _numbers(self) -> Iterator[Problem]:
        for key, least in _LEAST.items():
            value: int | None = getattr(self.wanted, key)
            if value is not None and value < least:
                yield self._problem(key, f"{key} is {value}.", f"It can be {least} or more.")

    def _sightings(self) -> Iterator[Problem]:
        saw = self.wanted.saw or []
        if strange := [word for word in saw if word not in _SEEN]:
            yield self._problem("saw", f"No guest ever sees {strange[0]}.", f"It sees {either(_SEEN)}.")
        elif saw == [GONE]:
            what = "A guest cannot see that an event is gone that it has never seen."
            yield self._problem("saw", what, 'Expect saw = [] or what it saw before, like ["Scheduled", "gone"].')

    def _contradictions(self) -> Iterator[Problem]:
        """Of two things that exclude each other one is told: the second."""
        wanted = self.wanted
        no_event = 'phase is "none"' if wanted.phase == NO_EVENT else "count is 0" if wanted.count == 0 else ""
        if no_event:
            yield from self._excluded(no_event, "an event that there has not been has", self._said_of_an_event())
        if wanted.phase == NO_EVENT and (wanted.count or 0) > 0:
            yield self._problem(
                "count", f'phase is "none", and count is {wanted.count}.', "Leave out one of them."
            )
        if wanted.phase not in {None, NO_EVENT, Phase.SCHEDULED.value} and wanted.not_before_in is not None:
            what = f"phase is {wanted.phase}, and NotBefore is ahead only while an event is Scheduled."
            yield self._problem("not_before_in", what, "Leave out not_before_in.")
        if wanted.empty is not None and wanted.events is not None and wanted.empty is (wanted.events > 0):
            what = f"empty is {str(wanted.empty).lower()}, and events is {wanted.events}."
            yield self._problem("events", what, "Leave out one of them.")
        if wanted.state is VmState.DELETED:
            said = [key for key in OF_A_VM_THAT_IS if getattr(wanted, key) is not None]
            yield from self._excluded("state is deleted", "a VM that is no more has", said)

    def _said_of_an_event(self) -> list[str]:
        said: dict[str, Any] = {key: getattr(self.wanted, key) for key in OF_AN_EVENT if key != "kind"}
        return [key for key, value in said.items() if value not in (None, NO_EVENT)]

    def _excluded(self, because: str, who: str, said: list[str]) -> Iterator[Problem]:
        for key in said[:1]:
            yield self._problem(key, f"{because}, and {who} no {key}.", f"Leave out {key}.")


def _strangers(said: list[str], subject: str, where: Place) -> Iterator[Problem]:
    for key in said:
        if key not in EXPECTED_OF[subject]:
            owners = [owner for owner, keys in EXPECTED_OF.items() if key in keys]
            owner = either([f"a {each}" if each else "the whole fleet" for each in owners])
            about = f"This is about a {subject}" if subject else "This is about no vm and no guest"
            what = f"{about}, and {key} can be expected of {owner}."
            yield Problem(at(where, key), what, f"Say which {owners[0]}." if not subject else "Make two of it.")

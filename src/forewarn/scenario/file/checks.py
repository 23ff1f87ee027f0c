"""Check a scenario before it is played: names, keys, values and times.

Whether expectations come true is for the play to find out. Every problem has a place, a reason and a remedy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from ipaddress import ip_address
from itertools import pairwise

from forewarn.core.fault import FORMS, Fault
from forewarn.core.fleet_check import MOST_INSTANCES, Place, Problem
from forewarn.core.notice import DEGRADED_NOTICE, UNKNOWN_SECONDS, Limits, in_words
from forewarn.core.phase import Phase
from forewarn.core.refusal import Refusal
from forewarn.core.requests.hosts import too_long, too_short
from forewarn.core.terms import Kind, Priority, VmState
from forewarn.core.world import World
from forewarn.emulator import LAST_START
from forewarn.scenario.file.fleet import address_of, number_in, world_of
from forewarn.scenario.file.keys import ACTIONS, EXPECTED_OF, OF_A_VM_THAT_EXISTS, OF_AN_EVENT
from forewarn.scenario.file.model import (
    END,
    GONE,
    NO_EVENT,
    ActionKind,
    Expectation,
    GuestScript,
    PartialEntry,
    Scenario,
    TimedAction,
    clock_of,
)
from forewarn.scenario.file.reader import BadScenario, ScenarioText, problem_lines
from forewarn.wire.choices import either, suggest
from forewarn.wire.fleet_file import FLEET_SECTIONS
from forewarn.wire.imds.versions import EVENTS_VERSIONS
from forewarn.wire.times import iso

MOST_POLLS = 100_000  # of one guest
LONGEST = timedelta(days=400)  # a scenario
_MOST_NAMED = 20  # known names in a remedy
_NOWHERE = Place("", 0)
_FAULTS = [str(each) for each in Fault]
_MARKS = [str(name) for name, form in FORMS.items() if form.marks_events]
_KINDS_OF = {
    ActionKind.MAINTAIN: (Kind.FREEZE, Kind.REBOOT, Kind.REDEPLOY),
    ActionKind.ROLLOUT: (Kind.FREEZE, Kind.REBOOT, Kind.REDEPLOY),
    ActionKind.FAIL: (Kind.REBOOT, Kind.REDEPLOY),
}
_SEEN = (Phase.SCHEDULED.value, Phase.STARTED.value, GONE)  # of one event by a guest
_LEAST: Mapping[str, int] = {
    "count": 0,
    "open": 0,
    "events": 0,
    "ids": 0,
    "incarnation": 1,
    "duration_seconds": UNKNOWN_SECONDS,
}


def check(text: ScenarioText) -> Scenario:
    """Return the scenario if it can be played; raise `BadScenario` with every problem otherwise.

    Names are checked only if the fleet itself has no problems.
    """
    found = [*text.unread, *_time_problems(text)]
    world = world_of(text.scenario.fleet)
    if isinstance(world, list):
        found += world
    elif text.is_right(*FLEET_SECTIONS):
        found += _Check(text.scenario, world, text).problems()
    if found:
        raise BadScenario(problem_lines(text, found))
    return text.scenario


# Times.


def _time_problems(text: ScenarioText) -> Iterator[Problem]:
    """Problems with times, also with those of entries that have other problems."""
    yield from _head_problems(text.scenario)
    yield from _order_problems(text, "at", text.scenario.actions)
    yield from _order_problems(text, "expect", text.scenario.expectations)


def _head_problems(scenario: Scenario) -> Iterator[Problem]:
    where = Place("scenario", 0, "length")
    if scenario.head.seed < 0:
        yield Problem(Place("scenario", 0, "seed"), f"seed is {scenario.head.seed}.", "Use 0 or more.")
    if scenario.head.start > LAST_START:
        what = f"start is {iso(scenario.head.start)}, too close to the last date that can be written."
        yield Problem(Place("scenario", 0, "start"), what, f"Use {iso(LAST_START)} or earlier.")
    if scenario.length < scenario.last_time:
        last = clock_of(scenario.last_time)
        what = f"length is {clock_of(scenario.length)}, but the last time in the file is {last}."
        yield Problem(where, what, "Make it longer, or leave it out.")
    if scenario.length > LONGEST:
        what = f"The scenario takes {clock_of(scenario.length)}."
        yield Problem(where, what, f"A scenario takes at most {in_words(LONGEST)}.")


def _order_problems(
    text: ScenarioText, section: str, entries: Sequence[TimedAction | Expectation]
) -> Iterator[Problem]:
    times = {index: entry.time for index, entry in text.numbered(section, entries)}
    left = [each for each in text.partial if each.section == section and "time" in each.values]
    times |= {each.index: each.values["time"] for each in left}
    for (_, before), (index, time) in pairwise(sorted(times.items())):
        if time < before:
            earlier = "the end" if before == END else clock_of(before)
            what = f"Time goes back: {clock_of(time)} comes after {earlier}."
            yield Problem(Place(section, index, "time"), what, f"Sort the [[{section}]] entries by time.")


# Guests, actions and expectations.


@dataclass(frozen=True, slots=True)
class _Check:
    scenario: Scenario
    world: World
    text: ScenarioText

    def problems(self) -> Iterator[Problem]:
        scenario, text = self.scenario, self.text
        if not self.world.vms:
            yield Problem(_NOWHERE, "The scenario has no VMs.", "Add [[vms]] or [[scale_sets]].")
        for index, script in text.numbered("guests", scenario.guests):
            yield from self._guest(script, index)
        for index, action in text.numbered("at", scenario.actions):
            yield from self._action(action, Place("at", index))
        for index, wanted in text.numbered("expect", scenario.expectations):
            yield from self._expectation(wanted, Place("expect", index))
        for entry in text.partial:
            yield from self._partial(entry)

    # Names.

    def _vm(self, name: str, where: Place) -> Iterator[Problem]:
        """A problem if the VM never exists; a scale set may get it by an action that has problems itself."""
        sets = self.scenario.fleet.scale_sets
        if self.text.is_right("at") or not any(number_in(each, name) is not None for each in sets):
            yield from _unknown("VM", name, [*self.world.vms, *instances_of(self.scenario)], where)

    def _host(self, name: str, where: Place) -> Iterator[Problem]:
        return _unknown("host", name, self.world.hosts, where)

    def _scale_set(self, name: str, where: Place) -> Iterator[Problem]:
        return _unknown("scale set", name, [each.name for each in self.scenario.fleet.scale_sets], where)

    def _scripted_guest(self, name: str, where: Place) -> Iterator[Problem]:
        partial = [each.values for each in self.text.partial if each.section == "guests"]
        titles = [each.title for each in self.scenario.guests if not each.outside]
        titles += [str(said.get("name") or said.get("vm")) for said in partial if not said.get("outside")]
        return _unknown("scripted guest", name, titles, where)

    def _fault(self, name: str, where: Place) -> Iterator[Problem]:
        if name not in _FAULTS:
            yield Problem(where, f"There is no fault {name}.", suggest(name, _FAULTS))

    def _partial(self, entry: PartialEntry) -> Iterator[Problem]:
        """Problems with the names in an entry that has other problems."""
        checks = {
            "vm": self._vm,
            "resources": self._vm,
            "host": self._host,
            "hosts": self._host,
            "scale_set": self._scale_set,
            "guest": self._scripted_guest,
            "fault": self._fault,
        }
        for key, check_name in checks.items():
            value = entry.values.get(key) or []
            for name in [value] if isinstance(value, str) else value:
                yield from check_name(name, Place(entry.section, entry.index, key))

    # Guests.

    def _guest(self, script: GuestScript, index: int) -> Iterator[Problem]:
        here = Place("guests", index)
        yield from self._vm(script.vm, _at(here, "vm"))
        before = [
            each.title for other, each in self.text.numbered("guests", self.scenario.guests) if other < index
        ]
        if script.title in before:
            what = f"Two guests are called {script.title}."
            yield Problem(_at(here, "name"), what, "Give one of them another name.")
        if script.outside:
            yield from self._outside(script, index)
            return
        if script.version not in EVENTS_VERSIONS:
            what = f"There is no api-version {script.version}."
            yield Problem(_at(here, "version"), what, f"Use {either(EVENTS_VERSIONS)}.")
        if script.every <= timedelta(0) or script.timeout <= timedelta(0):
            key = "every" if script.every <= timedelta(0) else "timeout"
            yield Problem(_at(here, key), f"{key} is 0.", "Use more than 0.")
            return
        end = self.scenario.length if script.stops is None else script.stops
        if script.stops is not None and script.stops <= script.starts:
            what = f"{script.title} stops at {clock_of(script.stops)}, before it starts."
            yield Problem(_at(here, "stops"), what, "Let it stop later, or leave stops out.")
        if (polls := (end - script.starts) // script.every) > MOST_POLLS:
            what = f"{script.title} would poll {polls} times."
            yield Problem(_at(here, "every"), what, f"Let it poll less often: at most {MOST_POLLS} times.")
        yield from self._reachable(script, _at(here, "vm"))

    def _outside(self, script: GuestScript, index: int) -> Iterator[Problem]:
        if script.vm in instances_of(self.scenario) and script.vm not in self.world.vms:
            what = f"{script.vm} does not exist when the scenario begins, so its guest cannot be outside."
            yield Problem(Place("guests", index, "vm"), what, "Script the guest, or use a VM that exists then.")
        plain = GuestScript(script.vm, script.name, outside=True)
        for each in fields(script):
            if getattr(script, each.name) != getattr(plain, each.name):
                what = f"{script.title} is outside, so it has no script."
                yield Problem(Place("guests", index, each.name), what, f"Leave out {each.name}, or outside.")

    def _reachable(self, script: GuestScript, where: Place) -> Iterator[Problem]:
        vm = self.world.vms.get(script.vm)
        if vm is None:  # a scale set gets it later
            interface, addresses = None, tuple(filter(None, [address_of(self.scenario.fleet, script.vm)]))
        elif vm.port is None:
            interface, addresses = vm.interface, vm.addresses
        else:
            return
        elsewhere = [each for each in addresses if not ip_address(each).is_loopback]
        if interface is not None or elsewhere:
            way = f"interface {interface}" if interface is not None else f"address {elsewhere[0]}"
            what = f"forewarn recognises {script.vm} by its {way}, which a scripted guest here does not have."
            yield Problem(
                where, what, "Leave that out of the fleet, or give the VM a port or an address in 127.0.0.0/8."
            )

    # Actions.

    def _action(self, action: TimedAction, where: Place) -> Iterator[Problem]:
        words = ACTIONS[action.do]
        given = [each.name for each in fields(action) if getattr(action, each.name) not in (None, [], {})]
        for key in given:
            if key not in {"time", "do", *words.needs, *words.takes}:
                takes = ", ".join((*words.needs, *words.takes)) or "nothing"
                yield Problem(_at(where, key), f"{action.do} takes no {key}.", f"It takes {takes}.")
        named = [key for key in words.needs if key in given]
        if words.needs and len(named) != 1:
            what = f"{action.do} needs {either(words.needs)}" + (", and only one of them." if named else ".")
            yield Problem(_at(where, "do"), what, f"Give it {either(words.needs)}.")
        if action.vm is not None:
            yield from self._vm(action.vm, _at(where, "vm"))
        for host in filter(None, (action.host, *action.hosts)):
            yield from self._host(host, _at(where, "host" if action.host else "hosts"))
        yield from self._values(action, where)

    def _values(self, action: TimedAction, where: Place) -> Iterator[Problem]:
        """Values that the service would refuse whatever has happened by then."""
        match action.do:
            case ActionKind.EVICT:
                vm = self.world.vms.get(action.vm or "")
                if vm is not None and vm.priority is not Priority.SPOT:
                    what = f"{vm.name} cannot be evicted: its priority is {vm.priority}, and only Spot VMs can be."
                    yield Problem(_at(where, "vm"), what, 'Give it priority = "Spot".')
            case ActionKind.SCALE:
                yield from self._scale(action, where)
            case ActionKind.DEGRADE:
                yield from self._degrade(action, where)
            case ActionKind.FAULT | ActionKind.CLEAR if action.fault is not None and action.fault not in _FAULTS:
                yield from self._fault(action.fault, _at(where, "fault"))
            case ActionKind.FAULT if action.fault is not None:
                yield from self._options(action, _at(where, "options"))
            case ActionKind.MAINTAIN | ActionKind.ROLLOUT | ActionKind.FAIL:
                yield from self._work(action, where)

    def _options(self, action: TimedAction, where: Place) -> Iterator[Problem]:
        """Problems with the options of a fault; its name and its VM have one place each."""
        if "name" in action.options:
            yield Problem(where, f"fault already names the fault: {action.fault}.", "Leave name out of options.")
            return
        if "vm" in action.options and action.vm is not None:
            yield Problem(where, "vm is given twice, beside the options and in them.", "Leave out one of them.")
            return
        rule = action.fault_rule(self.scenario.head.seed)
        if isinstance(rule, Refusal):
            yield from _refused(rule, where)
        elif "vm" in action.options:
            yield from self._vm(action.options["vm"], where)

    def _work(self, action: TimedAction, where: Place) -> Iterator[Problem]:
        known = _KINDS_OF[action.do]
        kind = action.kind or Kind.FREEZE
        if action.kind is not None and kind not in known:
            yield Problem(_at(where, "kind"), f"{action.do} cannot be a {kind}.", f"Use {either(known)}.")
            return
        if action.by_live_migration and kind is not Kind.FREEZE:
            what = f"Guests see a live migration as a Freeze, not as a {kind}."
            yield Problem(_at(where, "by"), what, 'Give it kind = "Freeze", or leave out by.')
        limit = self.scenario.settings.get("action_limit")
        rules = Limits() if limit is None else Limits(action_limit=timedelta(seconds=limit))
        yield from _refused(too_short(kind, action.notice, rules), _at(where, "notice"))
        if self.text.is_right("settings"):
            yield from _refused(too_long(action.duration_seconds, rules), _at(where, "duration_seconds"))

    def _degrade(self, action: TimedAction, where: Place) -> Iterator[Problem]:
        yield from _refused(too_short(Kind.REDEPLOY, action.notice, Limits()), _at(where, "notice"))
        if action.notice is not None and action.notice > DEGRADED_NOTICE:
            most = in_words(DEGRADED_NOTICE)
            what = f"A degraded host gets at most {most} of notice; the file asks for {in_words(action.notice)}."
            yield Problem(_at(where, "notice"), what, f"Ask for {most} or less.")
        if action.notice is not None and action.risk is not None:
            yield Problem(_at(where, "risk"), "risk and notice exclude each other.", "Leave out one of them.")

    def _scale(self, action: TimedAction, where: Place) -> Iterator[Problem]:
        if action.scale_set is not None:
            yield from self._scale_set(action.scale_set, _at(where, "scale_set"))
        if action.to is None or action.to < 0:
            yield Problem(_at(where, "to"), "scale needs a number of instances.", "Add, for example, to = 1.")
        elif action.to > MOST_INSTANCES:
            what = f"to is {action.to}, but a scale set has at most {MOST_INSTANCES} instances."
            yield Problem(_at(where, "to"), what, f"Use {MOST_INSTANCES} or less.")

    # Expectations.

    def _expectation(self, wanted: Expectation, where: Place) -> Iterator[Problem]:
        yield from _subject_problems(wanted, where)
        yield from self._expected_names(wanted, where)
        yield from _number_problems(wanted, where)
        yield from _contradictions(wanted, where)

    def _expected_names(self, wanted: Expectation, where: Place) -> Iterator[Problem]:
        if wanted.vm is not None:
            yield from self._vm(wanted.vm, _at(where, "vm"))
        for name in wanted.resources or []:
            yield from self._vm(name, _at(where, "resources"))
        if wanted.host is not None:
            yield from self._host(wanted.host, _at(where, "host"))
        if wanted.guest is not None:
            yield from self._scripted_guest(wanted.guest, _at(where, "guest"))
        if wanted.fault in _FAULTS and wanted.fault not in _MARKS:
            what = f"{wanted.fault} marks no event."
            yield Problem(_at(where, "fault"), what, f"Faults that mark events are {either(_MARKS)}.")
        elif wanted.fault:
            yield from self._fault(wanted.fault, _at(where, "fault"))
        if unknown := [word for word in wanted.saw or [] if word not in _SEEN]:
            what = f"No guest ever sees {unknown[0]}."
            yield Problem(_at(where, "saw"), what, f"A guest sees {either(_SEEN)}.")


def _at(where: Place, key: str) -> Place:
    """That key of an entry."""
    return Place(where.section, where.index, key)


def _unknown(what: str, name: str, known: Collection[str], where: Place) -> Iterator[Problem]:
    if name not in known:
        remedy = suggest(name, list(known)[:_MOST_NAMED]) if known else "There are none."
        yield Problem(where, f"There is no {what} {name}.", remedy)


def _refused(refusal: Refusal | None, where: Place) -> Iterator[Problem]:
    if refusal is not None:
        yield Problem(where, refusal.message, refusal.hint)


def instances_of(scenario: Scenario) -> set[str]:
    """The names of all instances that the scale sets may have at some time of the scenario."""
    counts = {each.name: each.capacity for each in scenario.fleet.scale_sets}
    for action in scenario.actions:
        if action.do is ActionKind.SCALE and action.scale_set in counts:
            counts[action.scale_set] += min(max(action.to or 0, 0), MOST_INSTANCES)  # numbers are not used again
    return {f"{name}_{number}" for name, count in counts.items() for number in range(count)}


def _subject_problems(wanted: Expectation, where: Place) -> Iterator[Problem]:
    given = [each.name for each in fields(wanted) if getattr(wanted, each.name) is not None]
    subjects = [key for key in ("vm", "guest") if key in given]
    expected = [key for key in given if key not in {"time", "vm", "guest"}]
    subject = subjects[0] if subjects else ""
    if len(subjects) > 1:
        yield Problem(where, "An expectation is about a vm or about a guest.", "Split it in two.")
    elif not [key for key in expected if key != "kind"]:
        keys = [key for key in EXPECTED_OF[subject] if key != "kind"]
        yield Problem(where, "This entry expects nothing.", f"Add {either(keys)}.")
    else:
        yield from _misplaced_keys(expected, subject, where)


def _misplaced_keys(expected: list[str], subject: str, where: Place) -> Iterator[Problem]:
    for key in expected:
        if key not in EXPECTED_OF[subject]:
            owners = [owner for owner, keys in EXPECTED_OF.items() if key in keys]
            owner = either([f"a {each}" if each else "the whole fleet" for each in owners])
            about = f"is about a {subject}" if subject else "names no vm and no guest"
            what = f"This entry {about}, but {key} is expected of {owner}."
            yield Problem(_at(where, key), what, "Split it in two." if subject else f"Add {owners[0]}.")


def _number_problems(wanted: Expectation, where: Place) -> Iterator[Problem]:
    for key, least in _LEAST.items():
        value: int | None = getattr(wanted, key)
        if value is not None and value < least:
            yield Problem(_at(where, key), f"{key} is {value}.", f"Use {least} or more.")


def _contradictions(wanted: Expectation, where: Place) -> Iterator[Problem]:
    """Keys that exclude each other; the second one gets the problem."""
    if wanted.saw == [GONE]:
        what = "A guest cannot see the end of an event that it has never seen."
        yield Problem(_at(where, "saw"), what, 'Expect saw = [], or what it saw before: ["Scheduled", "gone"].')
    no_event = 'phase is "none"' if wanted.phase == NO_EVENT else "count is 0" if wanted.count == 0 else ""
    if no_event:
        keys = [key for key in OF_AN_EVENT if key != "kind" and getattr(wanted, key) not in (None, NO_EVENT)]
        yield from _excluded(no_event, "an event that never existed has", keys, where)
    if wanted.phase == NO_EVENT and (wanted.count or 0) > 0:
        what = f'phase is "none", but count is {wanted.count}.'
        yield Problem(_at(where, "count"), what, "Leave out one of them.")
    if wanted.phase not in {None, NO_EVENT, Phase.SCHEDULED.value} and wanted.not_before_in is not None:
        what = f"phase is {wanted.phase}, but NotBefore lies ahead only while an event is Scheduled."
        yield Problem(_at(where, "not_before_in"), what, "Leave out not_before_in.")
    if wanted.empty is not None and wanted.events is not None and wanted.empty is (wanted.events > 0):
        what = f"empty is {str(wanted.empty).lower()}, but events is {wanted.events}."
        yield Problem(_at(where, "events"), what, "Leave out one of them.")
    if wanted.state is VmState.DELETED:
        keys = [key for key in OF_A_VM_THAT_EXISTS if getattr(wanted, key) is not None]
        yield from _excluded("state is deleted", "a deleted VM has", keys, where)


def _excluded(because: str, who: str, keys: list[str], where: Place) -> Iterator[Problem]:
    for key in keys[:1]:
        yield Problem(_at(where, key), f"{because}, but {who} no {key}.", f"Leave out {key}.")

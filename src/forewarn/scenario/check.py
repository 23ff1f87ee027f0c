"""Check a scenario before it is played: names, keys, values and times.

Whether expectations come true is for the play to find out. Every problem has a place, a reason and a remedy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import timedelta
from ipaddress import ip_address

from forewarn.core.fleet_check import MOST_INSTANCES, Place, Problem
from forewarn.core.notice import DEGRADED_NOTICE, Rules, in_words
from forewarn.core.refusal import Refusal
from forewarn.core.requests.hosts import too_long, too_short
from forewarn.core.terms import Kind, Priority
from forewarn.core.world import World
from forewarn.scenario import faults, times
from forewarn.scenario.expected import ExpectationCheck
from forewarn.scenario.file import BadScenario, ScenarioText, problem_lines
from forewarn.scenario.model import Act, Deed, Expectation, Fragment, GuestScript, Scenario, clock_of
from forewarn.scenario.problems import at, scripted_guests, unknown, unknown_vm
from forewarn.scenario.stage import address_of, world_of
from forewarn.scenario.words import DEEDS
from forewarn.wire.choices import either, suggest
from forewarn.wire.fleet_file import FLEET_SECTIONS
from forewarn.wire.imds.versions import EVENTS_VERSIONS

MOST_POLLS = 100_000  # of one guest
_NOWHERE = Place("", 0)
_KINDS_OF = {
    Deed.MAINTAIN: (Kind.FREEZE, Kind.REBOOT, Kind.REDEPLOY),
    Deed.ROLLOUT: (Kind.FREEZE, Kind.REBOOT, Kind.REDEPLOY),
    Deed.FAIL: (Kind.REBOOT, Kind.REDEPLOY),
}


def check(text: ScenarioText) -> Scenario:
    """Return the scenario if it can be played; raise `BadScenario` with every problem otherwise.

    Names are checked only if the fleet itself has no problems.
    """
    found = [*text.unread, *times.problems(text)]
    world = world_of(text.scenario.fleet)
    if isinstance(world, list):
        found += world
    elif text.is_right(*FLEET_SECTIONS):
        found += _Check(text.scenario, world, text).problems()
    if found:
        raise BadScenario(problem_lines(text, found))
    return text.scenario


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
        for index, act in text.numbered("at", scenario.acts):
            yield from self._act(act, Place("at", index))
        for index, wanted in text.numbered("expect", scenario.expectations):
            yield from self._expectation(wanted, Place("expect", index))
        for fragment in text.fragments:
            yield from self._fragment(fragment)

    # Guests.

    def _guest(self, script: GuestScript, index: int) -> Iterator[Problem]:
        here = Place("guests", index)
        yield from self._vm(script.vm, at(here, "vm"))
        before = [
            each.title for other, each in self.text.numbered("guests", self.scenario.guests) if other < index
        ]
        if script.title in before:
            what = f"Two guests are called {script.title}."
            yield Problem(at(here, "name"), what, "Give one of them a name of its own.")
        if script.outside:
            if script.vm in instances_of(self.scenario) and script.vm not in self.world.vms:
                what = f"{script.vm} does not exist when the scenario begins, so it cannot have a guest outside."
                yield Problem(
                    at(here, "vm"), what, "Script the guest, or put it in a VM that exists from the start."
                )
            yield from self._scripted_outside(script, index)
            return
        if script.version not in EVENTS_VERSIONS:
            what = f"There is no api-version {script.version}."
            yield Problem(at(here, "version"), what, f"It can be {either(EVENTS_VERSIONS)}.")
        if script.every <= timedelta(0) or script.timeout <= timedelta(0):
            key = "every" if script.every <= timedelta(0) else "timeout"
            yield Problem(at(here, key), f"{key} is 0.", "It has to be longer than that.")
            return
        end = self.scenario.length if script.stops is None else script.stops
        if script.stops is not None and script.stops <= script.starts:
            what = f"{script.title} stops at {clock_of(script.stops)}, before it has begun."
            yield Problem(at(here, "stops"), what, "Let it stop later, or leave it out.")
        if (polls := (end - script.starts) // script.every) > MOST_POLLS:
            what = f"{script.title} would poll {polls} times."
            yield Problem(at(here, "every"), what, f"Let it poll less often: {MOST_POLLS} times at most.")
        yield from self._reachable(script, at(here, "vm"))

    def _scripted_outside(self, script: GuestScript, index: int) -> Iterator[Problem]:
        plain = GuestScript(script.vm, script.name, outside=True)
        for each in fields(script):
            if getattr(script, each.name) != getattr(plain, each.name):
                what = f"{script.title} is outside, so nothing is scripted for it."
                yield Problem(Place("guests", index, each.name), what, f"Leave out {each.name}, or outside.")

    def _reachable(self, script: GuestScript, where: Place) -> Iterator[Problem]:
        vm = self.world.vms.get(script.vm)
        if vm is None:  # a scale set gets it later
            interface, addresses = None, tuple(filter(None, [address_of(self.scenario.fleet, script.vm)]))
        elif vm.port is None:
            interface, addresses = vm.interface, vm.addresses
        else:
            return
        strange = [each for each in addresses if not ip_address(each).is_loopback]
        if interface is not None or strange:
            way = f"interface {interface}" if interface is not None else f"address {strange[0]}"
            what = f"{script.vm} is recognised by its {way}, which a scripted guest on this machine does not have."
            yield Problem(
                where, what, "Leave that out of the fleet, or give the VM a port or an address in 127.0.0.0/8."
            )

    # What is done.

    def _act(self, act: Act, where: Place) -> Iterator[Problem]:
        words = DEEDS[act.do]
        given = [each.name for each in fields(act) if getattr(act, each.name) not in (None, [], {})]
        for key in given:
            if key not in {"time", "do", *words.needs, *words.takes}:
                takes = ", ".join((*words.needs, *words.takes)) or "nothing"
                yield Problem(at(where, key), f"{act.do} takes no {key}.", f"It takes {takes}.")
        named = [key for key in words.needs if key in given]
        if words.needs and len(named) != 1:
            what = f"{act.do} needs {either(words.needs)}" + (", and one of them only." if named else ".")
            yield Problem(at(where, "do"), what, f"Give it {either(words.needs)}.")
        if act.vm is not None:
            yield from self._vm(act.vm, at(where, "vm"))
        for host in filter(None, (act.host, *act.hosts)):
            yield from unknown("host", host, self.world.hosts, at(where, "host" if act.host else "hosts"))
        yield from self._values(act, where)

    def _values(self, act: Act, where: Place) -> Iterator[Problem]:
        """What a request would be refused for, whatever has happened by then."""
        match act.do:
            case Deed.EVICT:
                vm = self.world.vms.get(act.vm or "")
                if vm is not None and vm.priority is not Priority.SPOT:
                    what = f"{vm.name} cannot be evicted: its priority is {vm.priority}, and only Spot VMs can be."
                    yield Problem(at(where, "vm"), what, 'Give it priority = "Spot".')
            case Deed.SCALE:
                yield from self._scale(act, where)
            case Deed.DEGRADE:
                yield from self._degrade(act, where)
            case Deed.FAULT | Deed.CLEAR if act.fault is not None and act.fault not in faults.NAMES:
                what = f"There is no fault {act.fault}."
                yield Problem(at(where, "fault"), what, suggest(act.fault, faults.NAMES))
            case Deed.FAULT if act.fault is not None:
                yield from self._options(act, at(where, "options"))
            case Deed.MAINTAIN | Deed.ROLLOUT | Deed.FAIL:
                yield from self._work(act, where)

    def _options(self, act: Act, where: Place) -> Iterator[Problem]:
        """What a fault is to be; which one it is stands beside its options, and whom it strikes in one place."""
        if "name" in act.options:
            yield Problem(where, f"The fault is named beside its options: {act.fault}.", "Leave out name.")
            return
        if "vm" in act.options and act.vm is not None:
            yield Problem(where, "vm is given twice, beside the options and in them.", "Leave out one of them.")
            return
        rule = faults.rule_of(act, self.scenario.head.seed)
        if isinstance(rule, Refusal):
            yield from _refused(rule, where)
        elif "vm" in act.options:
            yield from self._vm(act.options["vm"], where)

    def _work(self, act: Act, where: Place) -> Iterator[Problem]:
        known = _KINDS_OF[act.do]
        kind = act.kind or Kind.FREEZE
        if act.kind is not None and kind not in known:
            yield Problem(at(where, "kind"), f"{act.do} cannot be a {kind}.", f"It can be {either(known)}.")
            return
        if act.by_live_migration and kind is not Kind.FREEZE:
            what = f"A live migration is felt as a Freeze, not as a {kind}."
            yield Problem(at(where, "by"), what, 'Give it kind = "Freeze", or leave out by.')
        limit = self.scenario.settings.get("action_limit")
        rules = Rules() if limit is None else Rules(action_limit=timedelta(seconds=limit))
        yield from _refused(too_short(kind, act.notice, rules), at(where, "notice"))
        if self.text.is_right("settings"):
            yield from _refused(too_long(act.duration_seconds, rules), at(where, "duration_seconds"))

    def _degrade(self, act: Act, where: Place) -> Iterator[Problem]:
        yield from _refused(too_short(Kind.REDEPLOY, act.notice, Rules()), at(where, "notice"))
        if act.notice is not None and act.notice > DEGRADED_NOTICE:
            most = in_words(DEGRADED_NOTICE)
            what = f"A degraded host gets at most {most} of notice; {in_words(act.notice)} was asked for."
            yield Problem(at(where, "notice"), what, f"Ask for {most} or less.")
        if act.notice is not None and act.risk is not None:
            yield Problem(at(where, "risk"), "A risk and a notice cannot both be given.", "Give one of them.")

    def _scale(self, act: Act, where: Place) -> Iterator[Problem]:
        known = [each.name for each in self.scenario.fleet.scale_sets]
        if act.scale_set is not None:
            yield from unknown("scale set", act.scale_set, known, at(where, "scale_set"))
        if act.to is None or act.to < 0:
            yield Problem(
                at(where, "to"), "scale needs to know how many instances there are to be.", "Give it to = 1."
            )
        elif act.to > MOST_INSTANCES:
            what = f"to is {act.to}, and a scale set has at most {MOST_INSTANCES} instances."
            yield Problem(at(where, "to"), what, f"It can be up to {MOST_INSTANCES}.")

    # What is expected.

    def _expectation(self, wanted: Expectation, where: Place) -> Iterator[Problem]:
        return ExpectationCheck(self.text, self.world, self._vms, wanted, where).problems()

    # What could be read of an entry that is wrong.

    def _fragment(self, fragment: Fragment) -> Iterator[Problem]:
        """The names in it."""
        said, where = fragment.values, Place(fragment.section, fragment.index)
        for key, name in [
            (key, said[key]) for key in ("vm", "host", "scale_set", "guest", "fault") if said.get(key)
        ]:
            yield from self._name(key, name, at(where, key))
        for key, names in (("hosts", said.get("hosts")), ("resources", said.get("resources"))):
            for name in names or []:
                yield from self._name(key, name, at(where, key))

    def _name(self, key: str, name: str, where: Place) -> Iterator[Problem]:
        if key in {"vm", "resources"}:
            yield from self._vm(name, where)
        elif key in {"host", "hosts"}:
            yield from unknown("host", name, self.world.hosts, where)
        elif key == "scale_set":
            yield from unknown("scale set", name, [each.name for each in self.scenario.fleet.scale_sets], where)
        elif key == "guest":
            yield from unknown("scripted guest", name, scripted_guests(self.text), where)
        elif name not in faults.NAMES:
            yield Problem(where, f"There is no fault {name}.", suggest(name, faults.NAMES))

    @property
    def _vms(self) -> list[str]:
        return [*self.world.vms, *instances_of(self.scenario)]

    def _vm(self, name: str, where: Place) -> Iterator[Problem]:
        yield from unknown_vm(self.text, name, self._vms, where)


def instances_of(scenario: Scenario) -> set[str]:
    """The names of all instances that the scale sets may have at some time of the scenario."""
    counts = {each.name: each.capacity for each in scenario.fleet.scale_sets}
    for act in scenario.acts:
        if act.do is Deed.SCALE and act.scale_set in counts:
            counts[act.scale_set] += min(max(act.to or 0, 0), MOST_INSTANCES)  # numbers are not used again
    return {f"{name}_{number}" for name, count in counts.items() for number in range(count)}


def _refused(refusal: Refusal | None, where: Place) -> Iterator[Problem]:
    if refusal is not None:
        yield Problem(where, refusal.message, refusal.hint)

"""The order of a rollout, and what it means in hours: which host is announced when, and done when at the latest.

Hosts go by zone, then by update domain, then by name. A wave is what may be worked on at the same time: in none
is there more than one update domain of a set, but where one host holds several of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import heapreplace
from itertools import count

from forewarn.core.fleet import Host, domains_of
from forewarn.core.notice import Limits, notice_ends
from forewarn.core.refusal import Code, Refusal
from forewarn.core.rollout import Work
from forewarn.core.terms import Condition, Kind
from forewarn.core.world import World

Domains = Mapping[str, frozenset[int]]  # by set, the update domains that a host holds

_NUMBERS = re.compile(r"(\d+)")
_MOMENT = timedelta(seconds=1)  # how late the end of an action may be noticed


@dataclass(frozen=True, slots=True)
class Selection:
    """Which hosts: those that fit every condition that is given."""

    hosts: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stop:
    """One host on the way, with the VMs that feel it."""

    host: Host
    wave: int
    vms: tuple[str, ...]
    domains: Domains
    spare: Mapping[str, tuple[int, int]] = field(
        default_factory=dict
    )  # by set with a minimum: VMs here, and to spare

    @property
    def waits_for_force(self) -> bool:
        """Whether it holds more of a set than its minimum ever spares: only a force-by date lets it go."""
        return any(here > spare for here, spare in self.spare.values())


@dataclass(frozen=True, slots=True)
class Forecast:
    """When a host is announced and done with, if everything goes as slowly as it may, and if it goes as usual."""

    stop: Stop
    announce_at: datetime
    latest_start: datetime
    latest_end: datetime
    usual_end: datetime


def select_hosts(world: World, selection: Selection) -> list[Host] | Refusal:
    """The hosts that are meant."""
    unknown = [name for name in selection.hosts if name not in world.hosts]
    if unknown:
        return Refusal(Code.NOT_FOUND, f"There is no host {', '.join(unknown)}.", "forewarn host list")
    if strange := [zone for zone in selection.zones if all(host.zone != zone for host in world.hosts.values())]:
        return Refusal(Code.NOT_FOUND, f"There is no host in zone {', '.join(strange)}.", "forewarn host list")
    named = [world.hosts[name] for name in dict.fromkeys(selection.hosts)] or list(world.hosts.values())
    zones = set(selection.zones)
    found = [
        host
        for host in named
        if (not zones or host.zone in zones)
        and all(host.tags.get(key) == value for key, value in selection.tags.items())
    ]
    well = [host for host in found if host.condition is not Condition.FAILED]
    if not well:
        why = "every host that it names has failed" if found else "no host fits all of its conditions"
        return Refusal(Code.BAD_REQUEST, f"The rollout names no host: {why}.", "forewarn host list")
    return well


def lay_out(world: World, hosts: Iterable[Host]) -> list[Stop]:
    """The hosts in the order of their turns, each with its wave: the first of its zone that it fits into."""
    stops = sorted((_stop(world, host) for host in hosts), key=_order)
    taken: dict[str, dict[int, frozenset[int]]] = {}  # in this zone, by set and wave, the update domains there
    laid: list[Stop] = []
    first = waves = 0
    zone: object = None
    for stop in stops:
        if laid and stop.host.zone != zone:
            first = waves
            taken.clear()
        zone = stop.host.zone
        wave = _first_fitting(stop.domains, taken, first)
        waves = max(waves, wave + 1)
        for name, there in stop.domains.items():
            taken.setdefault(name, {})[wave] = there
        laid.append(replace(stop, wave=wave))
    laid.sort(key=lambda stop: (stop.wave, stop.waits_for_force))  # it keeps the order within a wave
    return laid


def _first_fitting(domains: Domains, taken: Mapping[str, Mapping[int, frozenset[int]]], first: int) -> int:
    """The first wave in which no set of the host has another update domain."""
    blocked = {
        wave
        for name, there in domains.items()
        for wave, others in taken.get(name, {}).items()
        if others != there or len(there) > 1
    }
    return next(wave for wave in count(first) if wave not in blocked)


def _stop(world: World, host: Host) -> Stop:
    vms = tuple(vm.name for vm in world.vms_on(host.name) if vm.is_on_host)
    held = {name: frozenset(there) for name, there in domains_on(world, host.name).items()}
    return Stop(host, 0, vms, held, _spare(world, vms))


def _spare(world: World, vms: Iterable[str]) -> dict[str, tuple[int, int]]:
    """By set that has a minimum: how many of its VMs are here, and how many may be down at once."""
    here = Counter(name for vm in vms if (name := world.vms[vm].set_name) and world.sets[name].min_available)
    return {
        name: (count, sum(1 for _ in world.members_of_set(name)) - world.sets[name].min_available)
        for name, count in here.items()
    }


def domains_on(world: World, host: str) -> dict[str, set[int]]:
    """By set, the update domains that work on a host takes down."""
    return domains_of(vm for vm in world.vms_on(host) if vm.is_on_host)


def _order(stop: Stop) -> tuple[object, ...]:
    domain = min((number for there in stop.domains.values() for number in there), default=0)
    return stop.host.zone or "", bool(stop.vms), domain, natural(stop.host.name)  # empty ones first: they take VMs


def natural(name: str) -> tuple[object, ...]:
    """For sorting as people do: host-2 before host-10."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in _NUMBERS.split(name))


def usual_length(kind: Kind, seconds: int, limits: Limits) -> timedelta:
    """How long work on a host takes as a rule, the lead included."""
    seconds = seconds if seconds >= 0 else limits.usual_seconds[kind]
    return limits.lead + timedelta(seconds=seconds)


def first_start(work: Work, at: datetime, needed: timedelta) -> datetime | None:
    """The first instant from `at` on at which the window lets work start; None: never."""
    window = work.window_at(at)
    if window is None:
        return at
    fitting = window.fit(at, needed)
    if work.force_by is not None and (fitting is None or fitting > work.force_by):
        return max(at, notice_ends(work.force_by, timedelta(0)))
    return fitting


def forecast(stops: Sequence[Stop], work: Work, now: datetime, limits: Limits) -> list[Forecast] | Refusal:
    """What will be when, if nobody else's work stands in the way; or that the window never fits."""
    usual = work.expected
    at_most = limits.lead + limits.action_limit + _MOMENT
    rows: list[Forecast] = []
    for slow, quick in zip(
        _Walk(work, now, usual, at_most, work.soak + work.health_wait).over(stops),
        _Walk(work, now, usual, usual, work.soak).over(stops),
        strict=True,
    ):
        if slow is None or quick is None:
            return never_fits(work, usual)
        announce_at, start, end = slow
        rows.append(Forecast(stops[len(rows)], min(announce_at, quick[0]), start, end, quick[2]))
    return rows


def never_fits(work: Work, needed: timedelta) -> Refusal:
    """The window is never open for as long as the work takes."""
    window = work.window.in_words() if work.window else "none"
    return Refusal(
        Code.NOT_ALLOWED,
        f"The window never fits: a {work.kind} takes about {needed.total_seconds():.0f} s, "
        f"and within a year the window ({window}) is never open for that long.",
        "Ask for a longer window, for more days, or for fewer blackout dates.",
    )


Times = tuple[datetime, datetime, datetime]  # announced, started, ended


class _Walk:
    """Goes over the hosts as the rollout will, with actions that take a given time."""

    def __init__(self, work: Work, now: datetime, needed: timedelta, length: timedelta, pause: timedelta) -> None:
        self._work = work
        self._needed = needed  # what the window has to have room for
        self._length = length
        self._pause = pause  # between waves
        self._ends: dict[str, dict[int, datetime]] = {}  # by set and update domain
        self._down: dict[str, list[tuple[datetime, int]]] = {}  # by set with a minimum: until when, and how many
        self._wave_from = now
        self._last_end = now
        self._announced = now  # hosts are announced in their order
        self._hosts = 1

    def over(self, stops: Sequence[Stop]) -> Iterator[Times | None]:
        """When each of them is announced, started and done; None: never."""
        wave, slots = -1, [self._wave_from]
        self._hosts = len(stops)
        for stop in stops:
            if stop.wave != wave:
                wave = stop.wave
                slots = self._next_wave()
            times = self._visit(stop, slots[0])
            yield times
            if times is None:
                return
            heapreplace(slots, times[2])
            self._note(stop, times[2])

    def _next_wave(self) -> list[datetime]:
        if self._last_end > self._wave_from:
            self._wave_from = self._last_end + self._pause
        self._last_end = self._wave_from
        return [self._wave_from] * min(self._work.width, self._hosts)

    def _visit(self, stop: Stop, free: datetime) -> Times | None:
        self._announced = max(self._announced, free, self._enough_from(stop))
        if not stop.vms:
            return self._announced, self._announced, self._announced
        begin = max(notice_ends(self._announced, self._work.notice), self._recovered(stop.domains))
        start = first_start(self._work, begin, self._needed)
        if start is None:
            return None
        self._announced = max(self._announced, start - self._work.notice)
        return self._announced, start, start + self._length

    def _enough_from(self, stop: Stop) -> datetime:
        """When so few VMs of its sets are down that their minimums leave those of this host.

        Where they never do, it is announced so that it starts at the force-by date, when the others are done.
        """
        at = self._announced
        if stop.waits_for_force and (forced := self._work.announced_anyway_from) is not None:
            at = max(at, forced)
        for name, (here, spare) in stop.spare.items():
            down = sorted(entry for entry in self._down.get(name, ()) if entry[0] > at)
            while down and sum(count for _, count in down) + here > spare:
                at = max(at, down.pop(0)[0])
        return at

    def _recovered(self, domains: Domains) -> datetime:
        ends = [
            end
            for name, own in domains.items()
            for domain, end in self._ends.get(name, {}).items()
            if own != {domain}
        ]
        return max(ends) + self._work.recovery if ends else self._announced

    def _note(self, stop: Stop, end: datetime) -> None:
        if stop.vms:
            self._last_end = max(self._last_end, end)
        for name, (here, _) in stop.spare.items():
            self._down.setdefault(name, []).append((end, here))
        for name, there in stop.domains.items():
            for domain in there:
                self._ends.setdefault(name, {})[domain] = max(end, self._ends.get(name, {}).get(domain, end))

"""Whether a described fleet makes sense by itself.

Every problem says where it is, what is wrong and what to do; a fleet with one problem is refused as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from ipaddress import IPv4Network, ip_address

from forewarn.core.addresses import canonical
from forewarn.core.fleet_spec import FleetSpec, ScaleSetSpec, VmSpec, mac_of, notice_of
from forewarn.core.notice import TERMINATE_NOTICE_RANGE
from forewarn.core.terms import Priority

LONGEST_NAME = 80
NAME_IN_WORDS = f"letters, digits, '_', '-' and '.', at most {LONGEST_NAME} of them, not beginning with '-' or '.'"
_MAC = re.compile(r"[0-9A-Fa-f][02468ACEace](?:([:-]?)[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2}){4})")
_INTERFACE = re.compile(r"[^\s/\0]{1,15}")
_HEALTH_CHECK = re.compile(r"https?://[^\s@/]+(/\S*)?|[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9._-]{{0,{LONGEST_NAME - 1}}}")
MOST_UPDATE_DOMAINS = 20
MOST_FAULT_DOMAINS = 3
LAST_FAULT_DOMAIN = 999  # of a host
MOST_INSTANCES = 100_000


def is_name(text: str) -> bool:
    """Whether a host, a set or a VM may be called so."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a description something stands: the nth entry of a section, and the key in it."""

    section: str
    index: int
    key: str = ""


NOWHERE = Place("", 0)  # what is wrong is that something is missing
ANY_ENTRY = -1  # an index that stands for the whole section


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a described fleet, and what to do."""

    where: Place
    what: str
    remedy: str


def check(spec: FleetSpec, unsure: Collection[Place] = ()) -> list[Problem]:
    """All that is wrong with the fleet, whatever the store holds.

    `unsure` names the keys that could not be read. They are reported already, and nothing is concluded from them.
    """
    found = [
        *_check_texts(spec),
        *_check_names(spec),
        *_check_numbers(spec, unsure),
        *_check_health(spec),
        *_check_hosts_of_vms(spec, unsure),
        *_check_sets_of_vms(spec, unsure),
        *_check_policies(spec),
        *_check_ways_in(spec, unsure),
        *_check_networks(spec),
    ]
    return [each for each in found if each.where not in unsure]


def _check_texts(spec: FleetSpec) -> Iterator[Problem]:
    """No text holds a NUL character, which not every store takes; tags are kept otherwise."""
    for section in fields(spec):
        for index, entry in enumerate(getattr(spec, section.name)):
            for each in fields(entry):
                value = getattr(entry, each.name)
                if isinstance(value, str) and "\0" in value:
                    where = Place(section.name, index, each.name)
                    yield Problem(where, f"{each.name} holds a NUL character.", "Leave it out.")


def _check_names(spec: FleetSpec) -> Iterator[Problem]:
    sets = (
        *_entries("availability_sets", spec),
        *_entries("scale_sets", spec),
        *_entries("cloud_services", spec),
    )
    for what, names in (
        ("host", _entries("hosts", spec)),
        ("set", sets),
        ("VM", _entries("vms", spec)),
    ):
        seen: dict[str, str] = {}
        for place, name in names:
            if not is_name(name):
                yield Problem(
                    place,
                    f"{name!r} cannot be the name of a {what}.",
                    f"Use {NAME_IN_WORDS}.",
                )
            elif name.lower() in seen:
                yield Problem(place, f"The {what} name {name} is used twice.", "Give one of the two another name.")
            seen.setdefault(name.lower(), name)

    for index, each in enumerate(spec.scale_sets):  # which instances there are is known to the plan
        last = f"{each.name}_{each.capacity - 1}"
        if each.capacity > 0 and is_name(each.name) and not is_name(last):
            yield Problem(
                Place("scale_sets", index, "name"),
                f"{last!r} cannot be the name of a VM.",
                f"Use {NAME_IN_WORDS}.",
            )


def _entries(section: str, spec: FleetSpec) -> list[tuple[Place, str]]:
    return [(Place(section, index, "name"), each.name) for index, each in enumerate(getattr(spec, section))]


def _check_numbers(spec: FleetSpec, unsure: Collection[Place]) -> Iterator[Problem]:
    for index, each in enumerate(spec.availability_sets):
        where = Place("availability_sets", index, "update_domains")
        yield from _range(where, each.update_domains, 1, MOST_UPDATE_DOMAINS)
        yield from _range(
            Place("availability_sets", index, "fault_domains"), each.fault_domains, 1, MOST_FAULT_DOMAINS
        )
    for index, host in enumerate(spec.hosts):
        yield from _range(Place("hosts", index, "fault_domain"), host.fault_domain, 0, LAST_FAULT_DOMAIN)
    for index, scale_set in enumerate(spec.scale_sets):
        yield from _range(Place("scale_sets", index, "capacity"), scale_set.capacity, 0, MOST_INSTANCES)
        where = Place("scale_sets", index, "placement_group_size")
        yield from _range(where, scale_set.placement_group_size, 1, MOST_INSTANCES)
        yield from _check_terminate(Place("scale_sets", index, "terminate_notification"), scale_set)
    for section in ("availability_sets", "scale_sets", "cloud_services"):
        for index, entry in enumerate(getattr(spec, section)):
            yield from _range(Place(section, index, "min_available"), entry.min_available, 0, MOST_INSTANCES)
    domains = {
        each.name: each.update_domains
        for index, each in enumerate(spec.availability_sets)
        if Place("availability_sets", index, "update_domains") not in unsure
    }
    for index, vm in enumerate(spec.vms):
        if vm.update_domain is not None:
            most = domains.get(vm.availability_set or "", MOST_UPDATE_DOMAINS) - 1
            yield from _range(Place("vms", index, "update_domain"), vm.update_domain, 0, most)
        yield from _check_terminate(Place("vms", index, "terminate_notification"), vm)


def _check_health(spec: FleetSpec) -> Iterator[Problem]:
    for section in ("availability_sets", "scale_sets", "cloud_services"):
        for index, each in enumerate(getattr(spec, section)):
            if each.health_check is not None and not _HEALTH_CHECK.fullmatch(each.health_check):
                yield Problem(
                    Place(section, index, "health_check"),
                    "health_check is neither an address nor the name of a command.",
                    "Write http://... or https://... without a user, or a name of letters, digits, _ and -.",
                )


def _range(where: Place, value: int, least: int, most: int) -> Iterator[Problem]:
    if not least <= value <= most:
        yield Problem(
            where, f"{where.key} is {value}.", f"It can be {least} to {most}." if most > least else f"Use {least}."
        )


def _check_terminate(where: Place, entry: VmSpec | ScaleSetSpec) -> Iterator[Problem]:
    least, most = TERMINATE_NOTICE_RANGE
    notice = notice_of(entry.terminate_notification)
    if notice is not None and not least <= notice <= most:
        seconds = round(notice.total_seconds())
        yield Problem(where, f"terminate_notification is {seconds} seconds.", "It can be PT5M to PT15M.")
    if notice is not None and entry.priority is Priority.SPOT:
        yield Problem(
            where,
            f"{entry.name} is Spot and cannot have terminate_notification.",
            "Remove terminate_notification, or set priority to Regular.",
        )


def _check_hosts_of_vms(spec: FleetSpec, unsure: Collection[Place]) -> Iterator[Problem]:
    hosts = {host.name: host for host in spec.hosts}
    all_hosts = _are_all_named("hosts", spec, unsure)
    for index, scale_set in enumerate(spec.scale_sets):
        for host in scale_set.hosts:
            if host not in hosts and all_hosts:
                yield _no_host(Place("scale_sets", index, "hosts"), host)
    for index, vm in enumerate(spec.vms):
        if vm.host is not None and vm.host not in hosts:
            if all_hosts:
                yield _no_host(Place("vms", index, "host"), vm.host)
        elif vm.host is not None and vm.zone and hosts[vm.host].zone not in {None, vm.zone}:
            yield Problem(
                Place("vms", index, "zone"),
                f"{vm.name} is in zone {vm.zone}, but its host {vm.host} is in zone {hosts[vm.host].zone}.",
                "Give it a host of its own zone.",
            )


def _check_sets_of_vms(spec: FleetSpec, unsure: Collection[Place]) -> Iterator[Problem]:
    sets = {
        key: {each.name for each in getattr(spec, f"{key}s")}
        for key in ("availability_set", "scale_set", "cloud_service")
    }
    all_sets = {key: _are_all_named(f"{key}s", spec, unsure) for key in sets}
    for index, vm in enumerate(spec.vms):
        named = {key: name for key in sets if (name := getattr(vm, key)) is not None}
        if len(named) > 1:
            where = Place("vms", index, list(named)[1])
            yield Problem(where, f"{vm.name} belongs to {' and '.join(named)}.", "It can belong to one set.")
        for key, name in named.items():
            if name not in sets[key] and all_sets[key]:
                yield Problem(
                    Place("vms", index, key),
                    f"{vm.name} belongs to the {key.replace('_', ' ')} {name}, which does not exist.",
                    f'Add [[{key}s]] with name = "{name}".',
                )


def _are_all_named(section: str, spec: FleetSpec, unsure: Collection[Place]) -> bool:
    """Whether every entry of the section was read with its name, so that a name that is not there is wrong."""
    unknown = {Place(section, ANY_ENTRY), *(place for place, _ in _entries(section, spec))}
    return unknown.isdisjoint(unsure)


def _check_policies(spec: FleetSpec) -> Iterator[Problem]:
    """A VM of a set goes by the set's policy."""
    usual = VmSpec("").auto_approve
    for index, vm in enumerate(spec.vms):
        if (vm.availability_set or vm.scale_set) and vm.auto_approve != usual:
            yield Problem(
                Place("vms", index, "auto_approve"),
                f"{vm.name} is in {vm.set_name} and goes by that set's auto_approve.",
                "Put it there.",
            )


def _no_host(where: Place, host: str) -> Problem:
    return Problem(where, f"There is no host {host}.", f'Add [[hosts]] with name = "{host}".')


def _check_ways_in(spec: FleetSpec, unsure: Collection[Place]) -> Iterator[Problem]:
    """A guest is recognised by its address, port or interface, so no two may share one."""
    owners: dict[tuple[str, str], str] = {}
    ways: list[tuple[Place, str, str]] = []
    for index, vm in enumerate(spec.vms):
        if vm.interface is None:
            is_by_address = Place("vms", index, "interface") not in unsure
            addresses = vm.addresses if is_by_address else []
            ways += [(Place("vms", index, "addresses"), "address", each) for each in addresses]
        else:
            if not _INTERFACE.fullmatch(vm.interface):
                yield Problem(
                    Place("vms", index, "interface"),
                    f"{vm.interface!r} cannot be the name of an interface.",
                    "Give up to 15 characters without spaces and slashes, as ip link shows them.",
                )
            ways.append((Place("vms", index, "interface"), "interface", vm.interface))
        if vm.port is not None:
            yield from _range(Place("vms", index, "port"), vm.port, 1, 65535)
            ways.append((Place("vms", index, "port"), "port", str(vm.port)))
    for index, scale_set in enumerate(spec.scale_sets):
        ways += [(Place("scale_sets", index, "addresses"), "address", each) for each in scale_set.addresses]
    for where, way, value in ways:
        key = value
        if way == "address":
            try:
                key = canonical(value)
            except ValueError:
                yield Problem(where, f"{value!r} is no IP address.", 'Write it like "10.0.0.4" or "fd00::4".')
        owner = getattr(spec, where.section)[where.index].name
        if (way, key) in owners:
            yield Problem(
                where,
                f"The {way} {value} of {owner} is already that of {owners[way, key]}.",
                f"A guest is recognised by its {way}: give each its own.",
            )
        owners.setdefault((way, key), owner)


def _check_networks(spec: FleetSpec) -> Iterator[Problem]:
    """MAC addresses are those of one machine each, and subnets hold the addresses of their VMs."""
    owners: dict[str | None, str] = {}
    for index, vm in enumerate(spec.vms):
        where = Place("vms", index, "mac")
        if vm.mac is None:
            continue
        if not _MAC.fullmatch(vm.mac):
            yield Problem(where, f"{vm.mac!r} is no MAC address.", 'Write it like "00:0D:3A:F8:06:EC".')
        elif (owner := owners.setdefault(mac_of(vm.mac), vm.name)) != vm.name:
            yield Problem(where, f"{vm.name} and {owner} have the same MAC address.", "Give one of them another.")
    for section in ("vms", "scale_sets"):
        for index, entry in enumerate(getattr(spec, section)):
            if entry.subnet is not None:
                yield from _check_subnet(Place(section, index, "subnet"), entry)


def _check_subnet(where: Place, entry: VmSpec | ScaleSetSpec) -> Iterator[Problem]:
    try:
        network = IPv4Network(entry.subnet or "")
    except ValueError:
        yield Problem(where, f"{entry.subnet!r} is no IPv4 subnet.", 'Write it like "10.0.0.0/24".')
        return
    outside = [each for each in entry.addresses if _is_outside(each, network)]
    if outside:
        yield Problem(where, f"{outside[0]} is not in the subnet {network}.", "Correct one of the two.")


def _is_outside(address: str, network: IPv4Network) -> bool:
    try:
        found = ip_address(address)
    except ValueError:  # which is told elsewhere
        return False
    return found.version == network.version and found not in network

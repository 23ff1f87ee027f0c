"""The fleet of a sandbox, and the VM that the program counts as."""

from __future__ import annotations

import socket
from dataclasses import fields

from forewarn.clock import SystemClock
from forewarn.config import Settings
from forewarn.control.commands.fleet import apply_fleet
from forewarn.core.fleet_check import NAME_IN_WORDS, Problem, is_name
from forewarn.emulator import Emulator
from forewarn.errors import ConfigError
from forewarn.service import OpenSockets, Service
from forewarn.wire.fleet_file import FleetText, read_json

_NAMELESS = "vm-0"
_MOST_NAMED = 5


def emulator_for(settings: Settings, opened: OpenSockets) -> Emulator:
    """A service in memory on these sockets. Without a fleet file, the program is its only VM."""
    hostname = socket.gethostname()
    only = settings.guest or (hostname if is_name(hostname) else _NAMELESS)
    fleet = _fleet_of_one(only) if settings.fleet is None else None
    start = settings.clock_start or SystemClock().now().replace(microsecond=0)
    given = {each.name: getattr(settings, each.name) for each in fields(settings)}

    def furnish(service: Service) -> None:
        if fleet is not None:
            outcome = apply_fleet(service.plane, fleet.spec, "sandbox")
            if problems := [each for each in outcome if isinstance(each, Problem)]:
                raise ConfigError(str(fleet.refusal(problems)))
        if settings.guest is None:
            service.name_guest(_who(list(service.plane.world.vms), hostname))

    return Emulator(opened=opened, furnish=furnish, **given | {"store": "sqlite://", "clock_start": start})


def _fleet_of_one(name: str) -> FleetText:
    if not is_name(name):
        raise ConfigError(f"--guest is {name!r}, and no VM can be called that.", f"Use {NAME_IN_WORDS}.")
    return read_json({"vms": [{"name": name}]})


def _who(vms: list[str], hostname: str) -> str:
    """The VM with this machine's name, or else the only VM; raise `ConfigError` if neither exists."""
    if hostname in vms:
        return hostname
    if len(vms) == 1:
        return vms[0]
    named = ", ".join(sorted(vms)[:_MOST_NAMED])
    raise ConfigError(
        f"The fleet has {len(vms)} VMs, and it is not said which of them the program is.",
        f"Name it with --guest; there are {named}, for example." if vms else "Give the fleet a VM.",
    )

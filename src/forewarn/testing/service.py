"""A service of a test's own: a fleet that grows as it is asked to, maintenance on demand, a clock to move.

Every call returns when what was asked, and what is due then, has been done and can be read by guests.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, Literal, Protocol, Self

from forewarn.config import SETTINGS, load_settings
from forewarn.control.commands.events import cancel_operation
from forewarn.control.commands.hosts import degrade_host, fail_host, maintain_host, recover_host
from forewarn.control.commands.vms import act_on_vm, evict_vm
from forewarn.control.commit import Accepted
from forewarn.control.plane import ControlPlane
from forewarn.core.requests.degraded import Degradation
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.terms import Cause
from forewarn.emulator import CLOSED, DEFAULT_START, Emulator, Refused, in_utc
from forewarn.errors import ConfigError
from forewarn.testing import fleet
from forewarn.testing.asked import (
    as_description,
    as_duration_seconds,
    as_kind,
    as_notice,
    as_risk,
    is_by_live_migration,
)
from forewarn.testing.clock import Clock
from forewarn.testing.event import Event, as_event
from forewarn.testing.faults import Fault, put_in
from forewarn.testing.fleet import ACTOR, Wish
from forewarn.testing.guest import Vm
from forewarn.testing.life import State
from forewarn.testing.report import ClientReport, report_on
from forewarn.wire.choices import did_you_mean

_DECIDED_HERE = {"metadata", "operator", "store", "clock", "clock_start", "fleet", "guest", "demo"}
_MOST_NAMED = 5
_MOST_TOLD = 20
_PORTS = 1 << 16


class SetsVariables(Protocol):
    """What sets an environment variable, and sets it back later: pytest's `monkeypatch`."""

    def setenv(self, name: str, value: str) -> None:
        """Set it."""


class Service:
    """The real service under a virtual clock. Use it in a `with` block, or call `open` and `close`."""

    def __init__(self, *, seed: int | None = None, start: datetime = DEFAULT_START, **settings: Any) -> None:  # noqa: ANN401 - settings are of any type
        if not isinstance(seed, int | float | str | None):
            raise Refused(f"{seed!r} cannot be a seed.", "Give a whole number, or none.")
        self._make = partial(Emulator, seed=seed, start=in_utc(start), **_checked(settings))
        self._emulator: Emulator | None = None
        self._vms: dict[str, Vm] = {}
        self._events: list[Event] = []

    def open(self) -> Self:
        """Hear guests and operators; returns when both may call."""
        if self._emulator is not None:
            raise Refused("This service has been opened already.", "Make another one.")
        try:
            self._emulator = self._make().start()
        except ConfigError as problem:
            raise Refused(_without_flags(problem.message), _without_flags(problem.hint)) from None
        return self

    def close(self) -> None:
        """Answer who waits, and let go of everything."""
        if self._emulator is not None and self._emulator.is_up:
            self._emulator.stop()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def emulator(self) -> Emulator:
        """What runs the service."""
        if self._emulator is None:
            raise Refused("This service has not been opened.", "Use it in a with block, or call open().")
        if not self._emulator.is_up:
            raise Refused(*CLOSED)
        return self._emulator

    @property
    def clock(self) -> Clock:
        """What time it is for maintenance, and how to move it."""
        return Clock(self.emulator)

    @property
    def url(self) -> str:
        """Where operators call: REST, and `forewarn --url`."""
        return self.emulator.service.operator_url

    # The fleet.

    def vm(self, name: str, *, enabled: bool = True, **keys: Any) -> Vm:  # noqa: ANN401 - as the fleet file has them
        """Make a VM; its guest may call its `url` at once.

        The keys are those of `[[vms]]` in a fleet file. A set or a host that is not there yet is made; without a
        host it gets one of its own. Its scope is on, as after a first poll, unless `enabled` is False.
        """
        emulator = self.emulator
        with _reserved_port(name, keys.get("port")) as port:
            self._add(Wish("vms", {"name": name, **keys, "port": port}))
            if enabled:
                emulator.on_plane(fleet.turn_on, self._plane, name)
            shut = emulator.on_loop(emulator.service.hear_new_guests())
        if why := [problem for way, problem in shut.items() if way.port == port]:
            what = f"The VM {name} is in the fleet, and its guest cannot call: {why[0]}"
            raise Refused(what, "Make another one, on another port or on none in particular.")
        made = self._vms[name] = Vm(emulator, name, port)
        return made

    def host(self, name: str, **keys: Any) -> str:  # noqa: ANN401 - as the fleet file has them
        """Make a host; the keys are those of `[[hosts]]` in a fleet file."""
        self._add(Wish("hosts", {"name": name, **keys}))
        return name

    def availability_set(self, name: str, **keys: Any) -> str:  # noqa: ANN401 - as the fleet file has them
        """Make an availability set; the keys are those of `[[availability_sets]]` in a fleet file."""
        self._add(Wish("availability_sets", {"name": name, **keys}))
        return name

    def _add(self, wish: Wish) -> None:
        self.emulator.on_plane(fleet.add, self._plane, wish)

    def environment(self, vm: Vm | str, *names: str) -> dict[str, str]:
        """Variables for a program that asks as this VM; `names` are more of them, for its URL."""
        name = self._name(vm)
        if name not in self._vms:
            raise Refused(f"{name} has no port of its own.", f'Make it with vm("{name}").')
        url = self._vms[name].url
        return {
            "FOREWARN_URL": self.url,
            "FOREWARN_ENDPOINT": url,
            "FOREWARN_AGENT_ENDPOINT": url,
            "SCHEDULEDEVENTSIP": url.removeprefix("http://"),
            **dict.fromkeys(names, url),
        }

    def set_environment(self, monkeypatch: SetsVariables, vm: Vm | str, *names: str) -> None:
        """Set these variables for the rest of the test."""
        for name, value in self.environment(vm, *names).items():
            monkeypatch.setenv(name, value)

    # What the owner of a VM asks for.

    def restart(self, vm: Vm | str) -> Event:
        """Restart a VM: a Reboot, with notice."""
        return self._ask_for_vm(Cause.RESTART, vm)

    def redeploy(self, vm: Vm | str) -> Event:
        """Redeploy a VM, with notice."""
        return self._ask_for_vm(Cause.REDEPLOY, vm)

    def delete(self, vm: Vm | str) -> Event:
        """Delete a VM: a Terminate, with notice where it has a `terminate_notification`, else at once."""
        return self._ask_for_vm(Cause.DELETE, vm)

    def stop(self, vm: Vm | str, *, deallocate: bool = False) -> Event:
        """Stop a VM, at once; guests are told nothing."""
        return self._ask_for_vm(Cause.DEALLOCATE if deallocate else Cause.STOP, vm)

    def start(self, vm: Vm | str) -> Event:
        """Start a VM, at once; guests are told nothing."""
        return self._ask_for_vm(Cause.START, vm)

    def _ask_for_vm(self, cause: Cause, vm: Vm | str) -> Event:
        name = self._name(vm)
        return self._event(self.emulator.on_plane(act_on_vm, self._plane, cause, name, ACTOR), name)

    # What the platform does.

    def evict(self, vm: Vm | str) -> Event:
        """Take a Spot VM's capacity back: a Preempt."""
        name = self._name(vm)
        return self._event(self.emulator.on_plane(evict_vm, self._plane, name, ACTOR), name)

    def maintain(
        self,
        where: Vm | str,
        kind: str,
        *,
        by: Literal["pause", "live_migration"] = "pause",
        duration_seconds: int | None = None,
        notice_seconds: float | None = None,
        description: str | None = None,
    ) -> Event:
        """Planned work on a host, or on the host of a VM: a Freeze, a Reboot or a Redeploy of all VMs on it."""
        asked = Maintenance(
            kind=as_kind(kind),
            by_live_migration=is_by_live_migration(by),
            duration_seconds=as_duration_seconds(duration_seconds),
            notice=as_notice(notice_seconds),
            description=as_description(description),
        )
        host, vm = self._host(where)
        return self._event(self.emulator.on_plane(maintain_host, self._plane, host, asked, ACTOR), vm)

    def degrade(self, where: Vm | str, *, notice_seconds: float | None = None, risk: str | None = None) -> Event:
        """A host is expected to fail, in a week unless said otherwise: a Redeploy of all VMs on it."""
        asked = Degradation(
            notice=as_notice(notice_seconds),
            risk=as_risk(risk),
            anyway=True,  # of a few hosts, one is many
        )
        host, vm = self._host(where)
        return self._event(self.emulator.on_plane(degrade_host, self._plane, host, asked, ACTOR), vm)

    def fail(self, where: Vm | str) -> Event:
        """A host has failed: its event is born Started, and the VMs come back elsewhere."""
        host, vm = self._host(where)
        return self._event(self.emulator.on_plane(fail_host, self._plane, host, ACTOR), vm)

    def recover(self, where: Vm | str) -> None:
        """A host is well again."""
        self.emulator.on_plane(recover_host, self._plane, self._host(where)[0], ACTOR)

    def cancel(self, event: Event) -> None:
        """Call off what has not started, with all events of the same work."""
        state = as_event(event).state
        if not state.operation.phase.is_open:
            raise Refused(f"{event} is {state.phase}; it cannot be cancelled.")
        self.emulator.on_plane(cancel_operation, self._plane, event.operation, ACTOR)

    def fault(self, name: str, vm: Vm | str | None = None, **options: Any) -> Fault:  # noqa: ANN401 - as its kind has them
        """Put a fault in: of one VM's requests or events, or of all; `rate`, `count`, `every`, `seed` say which.

        The names and their options are those of `forewarn fault add`.
        """
        said = {"name": name, **({} if vm is None else {"vm": self._name(vm)}), **options}
        return put_in(self.emulator, said)

    # What happened.

    def report(self, vm: Vm | str, pace: Literal["real", "virtual"] | None = None) -> ClientReport:
        """What the VM's guest did so far: how it asks, what it approves, what it does with errors.

        Seconds are those of the clock that the test moves. For a program that runs by itself, in another thread or
        process, its own are fairer: `pace="real"`.
        """
        return report_on(self.emulator, self._name(vm), pace)

    @property
    def events(self) -> list[Event]:
        """What this test has asked for, in order."""
        return list(self._events)

    @property
    def story(self) -> str:
        """The lives of all that this test has asked for; of many, those of the last."""
        told = self._events[-_MOST_TOLD:]
        left = len(self._events) - len(told)
        lives = [f"{each}\n{_life_of(each)}" for each in told]
        return "\n".join([f"after {left} others:", *lives] if left else lives)

    def _event(self, accepted: Accepted, vm: str | None) -> Event:
        """The event that names the VM, or the first; the others of the same work stand beside it."""
        states = [State(accepted.operation, each) for each in accepted.events] or [State(accepted.operation, None)]
        states.sort(key=lambda state: not (state.event and vm in state.event.resources))
        first, *others = (Event(self.emulator, each) for each in states)
        first.others = tuple(others)
        self._events += [first, *others]
        return first

    # Names.

    @property
    def _plane(self) -> ControlPlane:
        return self.emulator.service.plane

    def _name(self, vm: Vm | str) -> str:
        """The name of a VM that there is."""
        name = vm.name if isinstance(vm, Vm) else vm
        if not isinstance(name, str):
            raise Refused(f"{vm!r} is no VM.", "Give what vm() returned, or its name.")
        there = self.emulator.on_plane(lambda: list(self._plane.world.vms))
        if name in there:
            return name
        raise Refused(f"There is no VM {name}.", _there_is(name, there, f'Make it with vm("{name}").'))

    def _host(self, where: Vm | str) -> tuple[str, str | None]:
        """The host that is meant, and the VM if one was named."""
        name, world = str(where), self._plane.world
        vms, hosts = self.emulator.on_plane(
            lambda: ({each.name: each.host for each in world.vms.values()}, list(world.hosts))
        )
        if name in hosts and not isinstance(where, Vm):
            return name, None
        if name in vms:
            return vms[name], name
        make = f'Make it with host("{name}").'
        raise Refused(f"There is no host and no VM {name}.", _there_is(name, [*hosts, *vms], make))


def _life_of(event: Event) -> str:
    """Its life, or why nobody knows it any more."""
    try:
        return event.life
    except Refused as problem:
        return f"  {problem}"


def _there_is(name: str, there: list[str], otherwise: str) -> str:
    """What may have been meant, or what there is."""
    if near := did_you_mean(name, there):
        return near
    named = ", ".join(there[:_MOST_NAMED]) + (", ..." if len(there) > _MOST_NAMED else "")
    return f"There are {named}. {otherwise}" if there else otherwise


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of `forewarn serve`, in its own types; what a test cannot set is refused."""
    known = {each.name: each for each in SETTINGS if each.name not in _DECIDED_HERE}
    for name, value in settings.items():
        if name in _DECIDED_HERE:
            raise Refused(f"{name} cannot be set: a service in a test decides that by itself.")
        if name not in known:
            near = did_you_mean(name, list(known)) or f"Known are {', '.join(known)}."
            raise Refused(f"There is no setting {name}.", near)
        try:
            if value is not None and value is not False and value != ():  # these leave it as it is
                known[name].parse(value)
        except ValueError as problem:
            raise Refused(f"{name} cannot be set so: {problem}.", f"What it is: {known[name].help}") from None
    parsed = load_settings(settings, {})
    return {name: getattr(parsed, name) for name in settings}


def _without_flags(text: str) -> str:
    """What a person at a terminal is told of a setting, for one who writes a test: `machines` for `--machines`."""
    return re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda found: found[1].replace("-", "_"), text)


@contextmanager
def _reserved_port(vm: str, given: Any) -> Iterator[Any]:  # noqa: ANN401 - it may be anything but a port
    """A port that nobody else is given, held until the service listens there."""
    is_port = given is None or (type(given) is int and given in range(1, _PORTS))  # True is none
    if not is_port:  # that is refused with the other keys
        yield given
        return
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # so that the service may bind it too
        try:
            held.bind(("127.0.0.1", given or 0))
        except OSError as problem:
            what = f"The VM {vm} cannot be heard on port {given}: {problem.strerror}."
            raise Refused(what, "Give it another port, or none.") from None
        yield held.getsockname()[1]

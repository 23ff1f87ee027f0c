"""The board: one panel per scope, and the guests that may read it.

The plane posts and seats; the listener reads. Both sides work without a lock: what a reader follows is replaced
in single assignments. Wake-ups are handed to the listener's own thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import TypeVar

from forewarn.board.pages import Page, PageMaker
from forewarn.core.addresses import canonical
from forewarn.core.document import Document
from forewarn.core.fleet import ScaleSet, Vm
from forewarn.subscribers import Subscribers

K = TypeVar("K")
Wake = Callable[[], None]


class Panel:
    """What one scope's guests are shown."""

    __slots__ = ("is_on", "page", "polled_at", "previous", "ready_at", "scope", "waiters")

    def __init__(self, scope: str, page: Page, *, is_on: bool) -> None:
        self.scope = scope
        self.page = page
        self.previous: Page | None = None  # what was shown before, where that is kept
        self.is_on = is_on
        self.polled_at = 0.0  # when it was last read, in monotonic seconds
        self.ready_at = 0.0  # until then every read waits, in monotonic seconds; the listener's
        self.waiters: dict[Wake, None] = {}  # woken in the order in which they came


class Guest:
    """A VM that may call, and what is counted about its calls."""

    __slots__ = ("connections", "is_gone", "next_free_at", "panel", "polled_at", "vm")

    def __init__(self, vm: Vm, panel: Panel) -> None:
        self.vm = vm
        self.panel = panel
        self.is_gone = False
        self.connections = 0
        self.next_free_at = 0.0  # the rate limiter's one number, in monotonic seconds
        self.polled_at = 0.0


class Board:
    """Panels by scope, guests by every way in which they are recognised."""

    def __init__(self) -> None:
        self._make = PageMaker()
        self.panels: dict[str, Panel] = {}
        self.guests: dict[str, Guest] = {}
        self.scale_sets: dict[str, ScaleSet] = {}  # whose models instances go by
        self._by_address: dict[str, Guest] = {}
        self._by_port: dict[int, Guest] = {}
        self._by_interface: dict[str, Guest] = {}
        self._left: set[str] = set()  # the loopback addresses of VMs that are gone, and nobody else's since
        self.keeps_previous = False  # for the fault of a stale document; else it would be memory for nothing
        self.polled: dict[Panel, None] = {}  # filled by the listener, emptied by the plane
        self.changed: Subscribers[Panel] = Subscribers()  # those whose page is another, or that guests have left
        self.ways_changed: Subscribers[None] = Subscribers()  # the ports and interfaces of single guests

    # The plane's side.

    def post(self, scope: str, document: Document, *, is_on: bool) -> None:
        """Show a scope's guests a document from now on."""
        self.show(scope, self._make.page(document), is_on=is_on)

    def show(self, scope: str, page: Page, *, is_on: bool) -> None:
        """Show a scope's guests a page from now on."""
        panel = self.panels.get(scope)
        if panel is None:
            self.panels[scope] = Panel(scope, page, is_on=is_on)
            return
        changed = page is not panel.page
        if changed and self.keeps_previous:
            panel.previous = panel.page
        panel.page = page
        panel.is_on = is_on
        if changed:
            self.changed.publish(panel)

    def remove(self, scope: str) -> None:
        """Take a scope's panel down."""
        if panel := self.panels.pop(scope, None):
            self.changed.publish(panel)

    def model(self, scale_sets: Iterable[ScaleSet]) -> None:
        """Describe instances by these scale sets from now on."""
        for each in scale_sets:
            if each.is_gone:
                self.scale_sets.pop(each.name, None)
            else:
                self.scale_sets[each.name] = each

    def seat(self, vms: Iterable[Vm]) -> None:
        """Recognise these VMs from now on, as they are now; a deleted one no more."""
        listeners_change = False
        for vm in vms:
            before = self.guests.get(vm.name)
            if before is not None and _ways_in(before.vm) == _ways_in(vm) and not vm.is_gone:
                before.vm = vm
                continue
            listeners_change |= _needs_listener(vm) or (before is not None and _needs_listener(before.vm))
            if before is not None:
                self._unseat(before)
                if vm.is_gone:
                    self._left.update(filter(_is_loopback, _addresses_of(before.vm)))
            if not vm.is_gone:
                self._seat(Guest(vm, self.panels[vm.scope]))
        if listeners_change:
            self.ways_changed.publish(None)

    def _seat(self, guest: Guest) -> None:
        vm = guest.vm
        self.guests[vm.name] = guest
        if vm.interface is not None:
            self._by_interface[vm.interface] = guest
        self._by_address.update(dict.fromkeys(_addresses_of(vm), guest))
        self._left.difference_update(_addresses_of(vm))
        if vm.port is not None:
            self._by_port[vm.port] = guest

    def _unseat(self, guest: Guest) -> None:
        guest.is_gone = True
        self.guests.pop(guest.vm.name, None)
        for address in map(canonical, guest.vm.addresses):
            _forget(self._by_address, address, guest)
        if guest.vm.port is not None:
            _forget(self._by_port, guest.vm.port, guest)
        if guest.vm.interface is not None:
            _forget(self._by_interface, guest.vm.interface, guest)
        self.changed.publish(guest.panel)  # whoever waits there as this guest is somebody else now

    def is_on(self, scope: str) -> bool:
        """Whether the guests of the scope are told, and waited for."""
        panel = self.panels.get(scope)
        return panel is not None and panel.is_on

    def take_polled(self) -> list[Panel]:
        """The panels that were read since the last time; how long that takes depends on them alone."""
        return [self.polled.popitem()[0] for _ in range(len(self.polled))]  # others may be added meanwhile

    # The listener's side.

    def guest_at(self, address: str) -> Guest | None:
        """The guest that calls from this address."""
        return self._by_address.get(address) or self._by_address.get(canonical(address))

    def is_left(self, address: str) -> bool:
        """Whether this loopback address was that of a VM which is gone: its programs are nobody else."""
        return canonical(address) in self._left

    def guest_behind(self, interface: str) -> Guest | None:
        """The guest whose packets come in on this interface."""
        return self._by_interface.get(interface)

    def guest_on_port(self, port: int) -> Guest | None:
        """The guest that has this port to itself."""
        return self._by_port.get(port)

    @property
    def ports(self) -> list[int]:
        """The ports that belong to one guest each."""
        return list(self._by_port)

    @property
    def interfaces(self) -> list[str]:
        """The interfaces that belong to one guest each."""
        return list(self._by_interface)


def _forget(index: dict[K, Guest], key: K, guest: Guest) -> None:
    if index.get(key) is guest:
        del index[key]


def _addresses_of(vm: Vm) -> list[str]:
    """Those by which it is recognised; behind an interface of its own they need not be unique."""
    return [] if vm.interface is not None else [canonical(each) for each in vm.addresses]


def _is_loopback(address: str) -> bool:
    return ip_address(address).is_loopback


def wake_waiters(panel: Panel) -> None:
    """Tell everyone who waits for a change of the panel."""
    waiters, panel.waiters = panel.waiters, {}
    for wake in waiters:
        wake()


def _needs_listener(vm: Vm) -> bool:
    return vm.port is not None or vm.interface is not None


def _ways_in(vm: Vm) -> tuple[object, ...]:
    return vm.addresses, vm.port, vm.interface, vm.scope

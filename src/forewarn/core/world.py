"""All that is now: the fleet, the scopes, what is open, and the ways to find it.

A `World` is what the store holds, kept at hand. It is changed only by `apply`, with changes that are already
committed; the rules read it and never write it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from forewarn.core.event import Event
from forewarn.core.fleet import AvailabilitySet, CloudService, Host, ResourceGroup, ScaleSet, Vm, VmSet
from forewarn.core.operation import Attempt, Operation
from forewarn.core.rollout import Rollout, Turn
from forewarn.core.rollout_book import RolloutBook
from forewarn.core.scope import Scope
from forewarn.core.terms import Action, VmState


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One line of the audit: who did what, when."""

    at: datetime
    actor: str
    verb: str
    operation: str | None = None
    event: str | None = None
    subject: str = ""
    detail: str = ""


Entity = (
    ResourceGroup
    | Host
    | AvailabilitySet
    | ScaleSet
    | CloudService
    | Vm
    | Scope
    | Rollout
    | Turn
    | Operation
    | Event
    | Attempt
)


@dataclass(frozen=True, slots=True)
class Changes:
    """One commit: new versions of entities, the versions they replace, and the audit lines."""

    number: int
    entities: tuple[Entity, ...] = ()
    seen: tuple[int, ...] = ()  # the version that each entity replaces; 0: it is new
    deeds: tuple[AuditEntry, ...] = ()


Names = dict[str, None]  # an ordered set of names
_NONE: Mapping[str, None] = {}


class World:
    """The fleet and everything open, with an index for each question that a rule asks."""

    def __init__(self) -> None:
        self.number = 0
        self.groups: dict[str, ResourceGroup] = {}  # those that were declared
        self.hosts: dict[str, Host] = {}
        self.sets: dict[str, VmSet] = {}
        self.vms: dict[str, Vm] = {}
        self.scopes: dict[str, Scope] = {}
        self.rollouts: dict[str, Rollout] = {}  # those that are open or have work under way
        self.operations: dict[str, Operation] = {}
        self.events: dict[str, Event] = {}
        self.attempts: dict[tuple[str, str], Attempt] = {}
        self._vms_on: dict[str, Names] = {}
        self._members_of_set: dict[str, Names] = {}
        self._members_of_scope: dict[str, Names] = {}
        self._down_in_set: dict[str, Names] = {}
        self._operations_on_vm: dict[str, Names] = {}
        self._operations_on_host: dict[str, Names] = {}
        self._restores: Names = {}
        self._operations_in_set: dict[str, Names] = {}
        self._user_operations_in: dict[str, Names] = {}
        self._events_of: dict[str, Names] = {}
        self._events_in: dict[str, Names] = {}
        self._attempts_of: dict[str, Names] = {}
        self._bound_for: dict[str, Attempt] = {}  # VM to the action under way that brings it up on a host
        self._heading_to: dict[str, Names] = {}
        self._sets_of_operation: dict[str, list[str]] = {}
        self._scopes_of_operation: dict[str, list[str]] = {}
        self._books: dict[str, RolloutBook] = {}
        self._tables: dict[type, dict[str, Any]] = {
            ResourceGroup: self.groups,
            Host: self.hosts,
            AvailabilitySet: self.sets,
            ScaleSet: self.sets,
            CloudService: self.sets,
            Vm: self.vms,
            Scope: self.scopes,
            Rollout: self.rollouts,
            Operation: self.operations,
            Event: self.events,
        }

    # What the rules ask.

    def vms_on(self, host: str) -> Iterator[Vm]:
        """The VMs that sit on a host, in the order in which they came."""
        return map(self.vms.__getitem__, self._vms_on.get(host, _NONE))

    def load_of(self, host: str) -> int:
        """How many VMs sit on a host."""
        return len(self._vms_on.get(host, _NONE))

    def members_of_set(self, name: str) -> Iterator[Vm]:
        """The VMs of an availability set, scale set or cloud service."""
        return map(self.vms.__getitem__, self._members_of_set.get(name, _NONE))

    def members_of_scope(self, scope: str) -> Iterator[Vm]:
        """The VMs that share a scope's document."""
        return map(self.vms.__getitem__, self._members_of_scope.get(scope, _NONE))

    def down_in_set(self, name: str) -> Iterator[Vm]:
        """The VMs of a set that are down though no open operation takes them down."""
        return map(self.vms.__getitem__, self._down_in_set.get(name, _NONE))

    def operations_on_vm(self, vm: str) -> Iterator[Operation]:
        """The open operations that have the VM among their targets, oldest first."""
        return map(self.operations.__getitem__, self._operations_on_vm.get(vm, _NONE))

    def operations_on_host(self, host: str) -> Iterator[Operation]:
        """The open operations on a whole host, oldest first."""
        return map(self.operations.__getitem__, self._operations_on_host.get(host, _NONE))

    def restores(self) -> Iterator[str]:
        """The open operations that bring VMs back from failed hosts."""
        return iter(self._restores)

    def operations_in_set(self, name: str) -> Iterator[Operation]:
        """The open operations that have a VM of the set among their targets, oldest first."""
        return map(self.operations.__getitem__, self._operations_in_set.get(name, _NONE))

    def user_operations_in(self, scope: str) -> int:
        """How many open operations users have asked for on VMs of the scope."""
        return len(self._user_operations_in.get(scope, _NONE))

    def events_of(self, operation: str) -> Iterator[Event]:
        """The events of an open operation, those that were cancelled on the way included."""
        return map(self.events.__getitem__, self._events_of.get(operation, _NONE))

    def events_in(self, scope: str) -> Iterator[Event]:
        """What the guests of a scope see, in creation order."""
        return map(self.events.__getitem__, self._events_in.get(scope, _NONE))

    def attempts_of(self, operation: str) -> Iterator[Attempt]:
        """The attempts of an open operation."""
        return (self.attempts[operation, vm] for vm in self._attempts_of.get(operation, _NONE))

    def bound_for(self, vm: str) -> str | None:
        """The host on which an action that is under way brings the VM up."""
        found = self._bound_for.get(vm)
        return None if found is None else found.destination

    def heading_to(self, host: str) -> Iterator[Vm]:
        """The VMs that are about to come up on a host, and are not up there yet."""
        on_their_way = (self.vms.get(name) for name in self._heading_to.get(host, _NONE))
        return (vm for vm in on_their_way if vm is not None and not (vm.host == host and vm.is_on_host))

    def table_of(self, kind: type) -> dict[str, Any]:
        """All entities of a kind that is found by one name or id."""
        return self._tables[kind]

    def turn(self, rollout: str, host: str) -> Turn | None:
        """The turn of a host in a rollout that is open or has work under way."""
        return self._books[rollout].turns.get(host) if rollout in self._books else None

    def book_of(self, rollout: str) -> RolloutBook:
        """How far a rollout is."""
        return self._books[rollout]

    def awaits_turn(self, host: str) -> bool:
        """Whether a rollout is still to come to the host."""
        for rollout in self.rollouts.values():
            turn = self._books[rollout.id].turns.get(host)
            if rollout.state.is_open and turn is not None and not turn.state.has_ended:
                return True
        return False

    def coming_to(self, host: str) -> int:
        """How many VMs are about to come up on a host, and are not up there yet."""
        return sum(1 for _ in self.heading_to(host)) if host in self._heading_to else 0

    def fleet(self) -> World:
        """A copy of the fleet alone, hosts, sets and VMs, for whoever wants to take time over it."""
        copy = World()
        copy.number = self.number
        copy.hosts.update(self.hosts)
        copy.sets.update(self.sets)
        copy.vms.update(self.vms)
        copy._vms_on = {host: names.copy() for host, names in self._vms_on.items()}
        copy._members_of_set = {name: names.copy() for name, names in self._members_of_set.items()}
        return copy

    def copy(self) -> World:
        """A copy of everything, on which changes can be tried. Entities are immutable and shared."""
        made = World()
        made.number = self.number
        for name, members in vars(self).items():
            if name not in {"number", "_tables"}:  # filled in place: the tables of the copy stay its own
                getattr(made, name).update(_copied(members))
        return made

    # How it changes.

    def apply(self, changes: Changes) -> None:
        """Take over a commit."""
        self.number = changes.number
        for entity in changes.entities:
            self.take(entity)
        for rollout in [each.id for each in self.rollouts.values() if not each.state.is_open]:
            if not any(self._books[rollout].operations()):
                del self.rollouts[rollout], self._books[rollout]

    def take(self, entity: Entity) -> None:
        """Put one entity in place of its former version."""
        match entity:
            case Vm():
                self._take_vm(entity)
            case Event():
                self._take_event(entity)
            case Operation():
                self._take_operation(entity)
            case Attempt():
                self._take_attempt(entity)
            case Rollout():
                self.rollouts[entity.id] = entity
                self._books.setdefault(entity.id, RolloutBook())
            case Turn():
                if entity.rollout in self._books:
                    self._books[entity.rollout].take(entity)
            case _:
                _keep(self.table_of(type(entity)), entity)

    def _take_vm(self, vm: Vm) -> None:
        before = self.vms.pop(vm.name, None)
        if before is not None and (vm.is_gone or _place_of(before) != _place_of(vm)):
            _unlink(self._vms_on, before.host, vm.name)
            _unlink(self._members_of_scope, before.scope, vm.name)
            if before.set_name:
                _unlink(self._members_of_set, before.set_name, vm.name)
        if before is not None and before.set_name:
            _unlink(self._down_in_set, before.set_name, vm.name)
        if vm.is_gone:
            return
        self.vms[vm.name] = vm
        _link(self._vms_on, vm.host, vm.name)
        _link(self._members_of_scope, vm.scope, vm.name)
        if vm.set_name:
            _link(self._members_of_set, vm.set_name, vm.name)
            if vm.state is VmState.DOWN:
                _link(self._down_in_set, vm.set_name, vm.name)

    def _take_operation(self, operation: Operation) -> None:
        before = self.operations.get(operation.id)
        stays = operation.phase.is_open
        if before is not None and (not stays or before.targets != operation.targets):
            self._unlink_targets(before)
        if stays:
            self.operations[operation.id] = operation
            if operation.action is Action.RESTORE:
                self._restores[operation.id] = None
            if before is None or before.targets != operation.targets:
                self._link_targets(operation)
            return
        self._restores.pop(operation.id, None)
        self.operations.pop(operation.id, None)
        for event in self._events_of.pop(operation.id, _NONE):
            self.events.pop(event, None)
        for vm in self._attempts_of.pop(operation.id, _NONE):
            self._forget_destination(self.attempts.pop((operation.id, vm), None))

    def _link_targets(self, operation: Operation) -> None:
        for vm in operation.targets:
            _link(self._operations_on_vm, vm, operation.id)
        self._sets_of_operation[operation.id] = self.sets_of(operation.targets)
        for name in self._sets_of_operation[operation.id]:
            _link(self._operations_in_set, name, operation.id)
        if operation.cause.is_users:
            scopes = [self.vms[name].scope for name in operation.targets if name in self.vms]
            self._scopes_of_operation[operation.id] = scopes
            for scope in scopes:
                _link(self._user_operations_in, scope, operation.id)
        if operation.host:
            _link(self._operations_on_host, operation.host, operation.id)

    def _unlink_targets(self, operation: Operation) -> None:
        for vm in operation.targets:
            _unlink(self._operations_on_vm, vm, operation.id)
        for name in self._sets_of_operation.pop(operation.id, ()):
            _unlink(self._operations_in_set, name, operation.id)
        for scope in self._scopes_of_operation.pop(operation.id, ()):
            _unlink(self._user_operations_in, scope, operation.id)
        if operation.host:
            _unlink(self._operations_on_host, operation.host, operation.id)

    def _take_event(self, event: Event) -> None:
        if event.operation not in self.operations:  # its operation has ended; the event with it
            self.events.pop(event.id, None)
            _unlink(self._events_in, event.scope, event.id)
            return
        self.events[event.id] = event
        _link(self._events_of, event.operation, event.id)
        if event.phase.is_open:
            _link(self._events_in, event.scope, event.id)
        else:
            _unlink(self._events_in, event.scope, event.id)

    def _take_attempt(self, attempt: Attempt) -> None:
        if attempt.operation not in self.operations:
            return
        self._forget_destination(self.attempts.get(attempt.key))
        self.attempts[attempt.key] = attempt
        _link(self._attempts_of, attempt.operation, attempt.vm)
        if attempt.destination is not None and attempt.outcome is None:
            self._bound_for[attempt.vm] = attempt
            _link(self._heading_to, attempt.destination, attempt.vm)

    def _forget_destination(self, attempt: Attempt | None) -> None:
        if attempt is None or attempt.destination is None or attempt.outcome is not None:
            return
        bound = self._bound_for.get(attempt.vm)
        if bound is not None and bound.key == attempt.key:
            del self._bound_for[attempt.vm]
            _unlink(self._heading_to, attempt.destination, attempt.vm)

    def sets_of(self, vms: Iterable[str]) -> list[str]:
        """The sets that the VMs belong to, each once."""
        known = (self.vms.get(vm) for vm in vms)
        return list(dict.fromkeys(vm.set_name for vm in known if vm is not None and vm.set_name))


def _copied(members: dict[Any, Any]) -> dict[Any, Any]:
    """A table as it is, or an index with copies of what it holds."""
    is_index = isinstance(next(iter(members.values()), None), (dict, list, RolloutBook))
    return {key: each.copy() for key, each in members.items()} if is_index else members


def _place_of(vm: Vm) -> tuple[str, str, str | None]:
    return vm.host, vm.scope, vm.set_name


def _keep(table: dict[str, Any], entity: Scope | ResourceGroup | Host | VmSet) -> None:
    key = entity.id if isinstance(entity, Scope) else entity.name
    if entity.is_gone:
        table.pop(key, None)
    else:
        table[key] = entity


def _link(index: dict[str, Names], key: str, name: str) -> None:
    index.setdefault(key, {})[name] = None


def _unlink(index: dict[str, Names], key: str, name: str) -> None:
    if names := index.get(key):
        names.pop(name, None)
        if not names:
            del index[key]

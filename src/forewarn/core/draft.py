"""A commit in the making.

Rules put new versions of entities into a `Draft` and read them back from it; the world stays as it is until the
draft is sealed, committed and applied. Sealing is where incarnations move, so that no rule can forget to.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import cast

from forewarn.core.event import EVENTS_PER_COMMIT, Event, visible
from forewarn.core.fleet import AvailabilitySet, CloudService, Host, ResourceGroup, ScaleSet, Vm, VmSet
from forewarn.core.operation import Attempt, Operation
from forewarn.core.rollout import Rollout, Turn
from forewarn.core.scope import Scope
from forewarn.core.terms import Condition
from forewarn.core.world import AuditEntry, Changes, Entity, Names, World

Key = tuple[type, str | tuple[str, str]]

# Applied and written in this order: an event finds its operation, an operation its machines.
_ORDER = (
    ResourceGroup,
    Host,
    AvailabilitySet,
    ScaleSet,
    CloudService,
    Scope,
    Vm,
    Rollout,
    Turn,
    Operation,
    Event,
    Attempt,
)


class Draft:
    """What one commit will change, readable before it is kept."""

    def __init__(self, world: World, now: datetime, actor: str) -> None:
        self.world = world
        self.now = now
        self.actor = actor
        self.number = world.number + 1
        self._put: dict[Key, Entity] = {}
        self._deeds: list[AuditEntry] = []
        self._new_events = 0
        self._events_put: dict[str, Names] = {}
        self._attempts_put: dict[str, Names] = {}

    # Reading: what is in the draft comes before what is in the world.

    def host(self, name: str) -> Host | None:
        """The host of that name."""
        return cast("Host | None", self._put.get((Host, name)) or self.world.hosts.get(name))

    def has_failed(self, host: str) -> bool:
        """Whether the host of that name has failed."""
        found = self.host(host)
        return found is not None and found.condition is Condition.FAILED

    def vm(self, name: str) -> Vm:
        """The VM of that name, one that this draft deletes included."""
        return cast("Vm", self._put.get((Vm, name)) or self.world.vms[name])

    def find_vm(self, name: str) -> Vm | None:
        """The VM of that name, unless it has gone before this draft."""
        return cast("Vm | None", self._put.get((Vm, name)) or self.world.vms.get(name))

    def vm_set(self, name: str) -> VmSet | None:
        """The availability set, scale set or cloud service of that name."""
        for kind in (AvailabilitySet, ScaleSet, CloudService):
            if found := self._put.get((kind, name)):
                return cast("VmSet", found)
        return self.world.sets.get(name)

    def scope(self, scope: str) -> Scope:
        """The scope of that id."""
        return cast("Scope", self._put.get((Scope, scope)) or self.world.scopes[scope])

    def scope_or_none(self, scope: str) -> Scope | None:
        """The scope of that id, if there is one."""
        return cast("Scope | None", self._put.get((Scope, scope)) or self.world.scopes.get(scope))

    def operation(self, operation: str) -> Operation:
        """The operation of that id."""
        return cast("Operation", self._put.get((Operation, operation)) or self.world.operations[operation])

    def event(self, event: str) -> Event:
        """The event of that id."""
        return cast("Event", self._put.get((Event, event)) or self.world.events[event])

    def events_of(self, operation: str) -> list[Event]:
        """The events of an operation, those that this draft adds included."""
        known = dict.fromkeys(event.id for event in self.world.events_of(operation))
        return [self.event(event) for event in known | self._events_put.get(operation, {})]

    def attempt(self, operation: str, vm: str) -> Attempt:
        """The attempt of an operation on a VM."""
        key = (operation, vm)
        return cast("Attempt", self._put.get((Attempt, key)) or self.world.attempts[key])

    def attempts_of(self, operation: str) -> list[Attempt]:
        """The attempts of an operation, those that this draft adds included."""
        known = dict.fromkeys(attempt.vm for attempt in self.world.attempts_of(operation))
        return [self.attempt(operation, vm) for vm in known | self._attempts_put.get(operation, {})]

    def turn(self, rollout: str, host: str) -> Turn | None:
        """The turn of a host in a rollout that is open or has work under way."""
        if found := self._put.get((Turn, (rollout, host))):
            return cast("Turn", found)
        return self.world.turn(rollout, host)

    def new_user_operations(self, scope: str) -> int:
        """How many operations users ask for in this draft, on VMs of the scope."""
        return sum(
            isinstance(each, Operation)
            and each.cause.is_users
            and each.id not in self.world.operations
            and any(self.vm(name).scope == scope for name in each.targets)
            for each in self._put.values()
        )

    def changed_vms(self) -> list[Vm]:
        """The VMs that this draft changes, as it leaves them."""
        return [entity for entity in self._put.values() if isinstance(entity, Vm)]

    def scopes_that_go(self) -> list[Scope]:
        """The scopes that this draft takes away."""
        return [entity for entity in self._put.values() if isinstance(entity, Scope) and entity.is_gone]

    def changed_operations(self) -> list[Operation]:
        """The operations that this draft changes, as it leaves them."""
        return [entity for entity in self._put.values() if isinstance(entity, Operation)]

    def shown_events(self) -> list[Event]:
        """The events that this draft makes, ends, or lets look different."""
        return [entity for entity in self._put.values() if isinstance(entity, Event) and self._shows(entity)]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not self._put and not self._deeds

    # Writing.

    def put(self, entity: Entity) -> None:
        """Keep a new version of an entity."""
        if isinstance(entity, Vm):
            entity = self._with_arrival(entity)
        if find(self.world, entity) is entity:
            entity = replace(entity, version=self.number)
        else:  # it was made for this draft and nobody else has it: stamped, not copied
            object.__setattr__(entity, "version", self.number)
        self._put[key_of(entity)] = entity
        if isinstance(entity, Event):
            self._events_put.setdefault(entity.operation, {})[entity.id] = None
        elif isinstance(entity, Attempt):
            self._attempts_put.setdefault(entity.operation, {})[entity.vm] = None

    def _with_arrival(self, vm: Vm) -> Vm:
        """The VM, with the commit that brought it to where it is."""
        before = self.world.vms.get(vm.name)
        has_come = before is None or before.host != vm.host
        return replace(vm, came_in=self.number) if has_come else vm

    def next_event_number(self) -> int:
        """A number for a new event, larger than that of every event before it."""
        self._new_events += 1
        return self.number * EVENTS_PER_COMMIT + self._new_events

    def note(
        self,
        verb: str,
        *,
        operation: str | None = None,
        event: str | None = None,
        subject: str = "",
        detail: str = "",
    ) -> None:
        """Add a line to the audit."""
        self._deeds.append(AuditEntry(self.now, self.actor, verb, operation, event, subject, detail))

    def seal(self) -> Changes:
        """The commit: every scope whose document changed has its next incarnation."""
        self._count_incarnations()
        entities = sorted(self._put.values(), key=lambda entity: _ORDER.index(type(entity)))
        return Changes(
            self.number, tuple(entities), tuple(map(self._version_replaced, entities)), tuple(self._deeds)
        )

    def _count_incarnations(self) -> None:
        for scope in dict.fromkeys(event.scope for event in self.shown_events()):
            found = cast("Scope | None", self._put.get((Scope, scope)) or self.world.scopes.get(scope))
            if found is not None and not found.is_gone:  # a VM's own scope goes with it
                self.put(replace(found, incarnation=found.incarnation + 1))

    def _shows(self, event: Event) -> bool:
        before = self.world.events.get(event.id)
        was = visible(before) if before is not None and before.phase.is_open else None
        now = visible(event) if event.phase.is_open else None
        return was != now

    def _version_replaced(self, entity: Entity) -> int:
        before = find(self.world, entity)
        return 0 if before is None else before.version


def key_of(entity: Entity) -> Key:
    """What makes an entity the same one in its next version."""
    match entity:
        case Attempt() | Turn():
            return type(entity), entity.key
        case Operation() | Event() | Scope() | Rollout():
            return type(entity), entity.id
        case _:
            return type(entity), entity.name


def find(world: World, entity: Entity) -> Entity | None:
    """The version of the entity that the world has."""
    match entity:
        case Attempt():
            return world.attempts.get(entity.key)
        case Turn():
            return world.turn(*entity.key)
        case _:
            return cast("Entity | None", world.table_of(type(entity)).get(cast("str", key_of(entity)[1])))

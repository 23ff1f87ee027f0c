"""Which open operations a commit concerns: those that `decide` should look at again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forewarn.core.event import Event
from forewarn.core.fleet import AvailabilitySet, CloudService, Host, ScaleSet, Vm
from forewarn.core.operation import Attempt, Operation
from forewarn.core.scope import Scope
from forewarn.core.terms import Kind
from forewarn.core.world import Entity, World


def concerned(world: World, entities: Iterable[Entity]) -> set[str]:
    """The open operations whose holds may have changed, once the world has taken these entities."""
    found: set[str] = set()
    vms: set[str] = set()
    sets: set[str] = set()
    hosts: set[str] = set()
    for entity in entities:
        found.update(_directly(world, entity))
        vms.update(_machines(entity))
        if isinstance(entity, Vm):  # one that is gone is not found by its name any more
            hosts.add(entity.host)
            if entity.set_name:
                sets.add(entity.set_name)
        elif isinstance(entity, (AvailabilitySet, ScaleSet, CloudService)):  # its minimum may be another
            sets.add(entity.name)
        elif isinstance(entity, Attempt) and entity.destination is not None:
            hosts.add(entity.destination)
    for vm in vms:
        found.update(operation.id for operation in world.operations_on_vm(vm))
        if vm in world.vms:
            hosts.add(world.vms[vm].host)
    for host in hosts:
        found.update(operation.id for operation in world.operations_on_host(host))
    for set_name in sets.union(world.sets_of(vms)):
        found.update(operation.id for operation in world.operations_in_set(set_name))
    return {operation for operation in found if operation in world.operations}


def _directly(world: World, entity: Entity) -> Iterator[str]:
    match entity:
        case Operation():
            yield entity.id
            if entity.host is not None and not entity.phase.is_open:
                yield from world.restores()  # the host may take VMs again
            if entity.rollout in world.rollouts and (book := world.book_of(entity.rollout)).had_postponed:
                yield from book.operations()  # they may wait for a place
        case Event():
            yield entity.operation
            if entity.kind is Kind.TERMINATE:
                yield from (other.operation for other in world.events_in(entity.scope))
        case Scope():
            yield from (event.operation for event in world.events_in(entity.id))
        case Host():
            yield from world.restores()
        case _:
            pass


def _machines(entity: Entity) -> Iterable[str]:
    match entity:
        case Operation():
            return entity.targets
        case Attempt():
            return (entity.vm,)
        case Vm():
            return (entity.name,)
        case _:
            return ()

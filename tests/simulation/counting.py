"""The hard things, counted: a run that has not met them all has shown too little."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forewarn.control.commit import Accepted
from forewarn.core.event import Event
from forewarn.core.fleet import Vm
from forewarn.core.holds import (
    BelowMinimum,
    NoticeRuns,
    OtherDomainDown,
    TerminatePending,
    VmBusy,
    VmComes,
    VmLeaves,
    holds,
    host_holds,
)
from forewarn.core.operation import Attempt, Operation, Outcome
from forewarn.core.phase import Phase
from forewarn.core.scope import Scope
from forewarn.core.terms import Action, Cause
from forewarn.core.world import Changes, Entity
from forewarn.drivers.machines import Effect
from tests.simulation.witness import Sighting

if TYPE_CHECKING:
    from tests.simulation.run import Simulation

HARD_THINGS = (
    "action without an outcome",
    "approval in the last second",
    "approved beforehand",
    "approved twice",
    "cancelled",
    "clock stepped ahead",
    "clock stepped back",
    "crash after commit",
    "crash after the driver began",
    "crash after the driver was asked",
    "crash before a move was shown",
    "crash before commit",
    "crash before the driver was asked",
    "crash before the plane looked at a stepped clock",
    "crash between commit and driver",
    "driver could not be asked",
    "driver refused to begin",
    "event thinned out",
    "felt: fails",
    "felt: fails down",
    "felt: hangs",
    "host failed during an action",
    "host failed under a VM that was leaving it",
    "host failed under guests",
    "landed on a host under notice",
    "lost reply of a commit",
    "minimum hold",
    "move that could not wait for a minimum",
    "notice pulled nearer",
    "lost reply of a driver",
    "lost reply to a guest",
    "one action at a time held",
    "owner's redeploy overtook",
    "owner's stop overtook",
    "preempt overtook",
    "postponed",
    "postponement refused",
    "ran at once and silently",
    "reclaimed",
    "refused: Busy",
    "same report again",
    "scaled out",
    "several at once",
    "refused: LimitReached",
    "refused: NotAllowed",
    "refused: NoticeTooShort",
    "refused: a fleet",
    "scope changed while others are busy",
    "scope off after silence",
    "scope on again after off",
    "scope on again, counting anew",
    "scope on with events before",
    "shared-host gate held",
    "store refused a commit",
    "store refused to begin",
    "started while nobody was up",
    "terminates wait for each other",
    "undecidable attempt",
    "update domain changed while others are busy",
    "update-domain hold",
    "waited for a VM to come",
    "waited for a VM to leave",
    "waited for a host that may take it",
    "host held by another rollout",
    "host failed before its turn was over",
    "rollout aborted with work open",
    "rollout completed",
    "rollout paused itself after a failure",
    "rollout paused itself for health",
    "rollout: abort",
    "rollout: pause",
    "rollout: resume",
    "several rollouts at once",
    "turn without anybody left",
    "wave held by health",
    "wave held by its window",
    "wave held by recovery",
    "wrong approval refused",
)
_DONE_BY_OWNER = re.compile(r"the (\w+) of \S+ did the work")
_LEAVING = {Action.DELETE, Action.STOP, Action.DEALLOCATE}


class Counting:
    """Counts what only commits, machines and answers show."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._counts = simulation.counts
        self._on: set[str] = set()
        self._gone: set[str] = set()  # VMs that were deleted and have not been made again
        self._nowhere: set[tuple[str, str]] = set()  # operations and VMs of failed hosts that no host may take
        self._off: dict[str, int] = {}  # scopes that went off, with their generation then
        simulation.witness.on_sighting.append(self._saw_event)

    def saw_commit(self, changes: Changes) -> None:
        """The plane has committed something."""
        world = self._simulation.world
        for operation in world.restores():
            self._nowhere |= {(operation, hold.vm) for hold in host_holds(world, world.operations[operation])}
        for entity in changes.entities:
            match entity:
                case Attempt(outcome=None) if entity.key in self._nowhere:
                    self._counts["waited for a host that may take it"] += 1
                case Scope():
                    self._saw_scope(entity)
                case Vm(is_gone=True):
                    self._gone.add(entity.name)
                case Vm():
                    self._simulation.witness.vms.remember(entity)
                    if entity.name in self._gone:
                        self._gone.remove(entity.name)
                        self._simulation.felt.is_made_anew(entity.name)
                case _:
                    self._saw_work(entity)

    def _saw_work(self, entity: Entity) -> None:
        match entity:
            case Attempt(outcome=Outcome.FAILED) if "no outcome" in entity.reason:
                self._counts["action without an outcome"] += 1
            case Event(phase=Phase.CANCELLED) if done := _DONE_BY_OWNER.match(entity.reason):
                self._counts[f"owner's {done[1]} overtook"] += 1
            case Operation(phase=Phase.STARTED, kind=None):
                self._counts["ran at once and silently"] += 1
            case _:
                pass

    def _saw_scope(self, scope: Scope) -> None:
        if scope.is_gone:
            self._on.discard(scope.id)
            self._off.pop(scope.id, None)
        elif scope.is_on and scope.id not in self._on:
            self._on.add(scope.id)
            if scope.incarnation > 1:
                self._counts["scope on with events before"] += 1
            if scope.id in self._off:
                is_anew = self._off.pop(scope.id) != scope.generation
                self._counts[f"scope on again{', counting anew' if is_anew else ' after off'}"] += 1
        elif not scope.is_on and scope.id in self._on:
            self._on.discard(scope.id)
            self._off[scope.id] = scope.generation
            self._counts["scope off after silence"] += 1

    def _saw_event(self, sighting: Sighting, what: str) -> None:
        if what == "thinned out":
            self._counts["event thinned out"] += 1
        elif what == "started":
            self._saw_start(sighting)

    def _saw_start(self, sighting: Sighting) -> None:
        """A degraded host's move that a set had too few VMs for, and that did not wait any longer."""
        asked = self._simulation.witness.asked[sighting.event.operation]
        if asked.cause is Cause.DEGRADE and self._simulation.is_short_without(sighting.event):
            self._counts["move that could not wait for a minimum"] += 1

    def felt(self, effect: Effect) -> None:
        """A machine has felt something."""
        if effect.trouble is not None:
            self._counts[f"felt: {effect.trouble}"] += 1

    def host_failed(self, accepted: Accepted, under_way: set[str]) -> None:
        """A host failed while its VMs felt these actions."""
        if accepted.events:
            self._counts["host failed under guests"] += 1
        if under_way:
            self._counts["host failed during an action"] += 1
        if under_way & _LEAVING:
            self._counts["host failed under a VM that was leaving it"] += 1

    def look_for_gates(self, event: str) -> None:
        """After an approval: is the operation held by somebody else?"""
        world = self._simulation.world
        found = world.events.get(event)
        operation = world.operations.get(found.operation) if found else None
        if found is None or operation is None or operation.phase is not Phase.SCHEDULED:
            return
        held = list(holds(world, operation, self._simulation.clock.now()))
        if any(isinstance(hold, NoticeRuns) and hold.event.scope != found.scope for hold in held):
            self._counts["shared-host gate held"] += 1
        for kind, name in (
            (OtherDomainDown, "update-domain hold"),
            (BelowMinimum, "minimum hold"),
            (TerminatePending, "terminates wait for each other"),
            (VmBusy, "one action at a time held"),
            (VmComes, "waited for a VM to come"),
            (VmLeaves, "waited for a VM to leave"),
        ):
            if any(isinstance(hold, kind) for hold in held):
                self._counts[name] += 1

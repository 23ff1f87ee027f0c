"""Intents written into a draft, in their order.

The last step before a commit: where a machine is to come up is chosen here, once, and recorded with the attempt.
"""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.core import steps
from forewarn.core.decide import AttemptReport, Begin, Conclude, Finish, Intent, LetGo, Start
from forewarn.core.draft import Draft
from forewarn.core.fleet import Vm
from forewarn.core.notice import Limits
from forewarn.core.operation import Attempt, Operation, Outcome
from forewarn.core.placement import Vacancies, may_stay, takes_vms
from forewarn.core.settle import join
from forewarn.core.terms import Action, Cause


class Places:
    """Where machines are to come up; the hosts are looked at once for all of a commit."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._vacancies: Vacancies | None = None

    def destination(self, operation: Operation, vm: Vm) -> str | None:
        """Elsewhere, or where the machine is when there is no elsewhere; None: nowhere."""
        if self._vacancies is None:
            self._vacancies = Vacancies(self._draft.world)
        host = self._choose(self._vacancies, operation, vm)
        if host is not None:
            self._vacancies.send(vm, host)
        return host

    def _choose(self, vacancies: Vacancies, operation: Operation, vm: Vm) -> str | None:
        world, action = self._draft.world, operation.action
        if action is Action.START and (home := world.hosts.get(vm.host)) and takes_vms(world, home):
            return vm.host
        elsewhere = vacancies.choose(vm, elsewhere=True)
        if elsewhere is not None or action is Action.MIGRATE:
            return elsewhere
        return vm.host if may_stay(world, operation, vm) else None


def carry_out(draft: Draft, intents: Iterable[Intent], limits: Limits) -> list[Attempt]:
    """Write the intents into the draft; the attempts to begin once it is committed."""
    to_begin: list[Attempt] = []
    places = Places(draft)
    for intent in intents:
        match intent:
            case Start(operation):
                steps.start(draft, draft.operation(operation), limits)
            case Begin(operation, vms):
                found = draft.operation(operation)
                to_begin += [
                    attempt
                    for vm in vms
                    if (attempt := _record(draft, found, draft.vm(vm), places, limits)) is not None
                ]
            case Conclude(report):
                steps.conclude(draft, draft.attempt(report.operation, report.vm), report)
            case LetGo(operation, vms):
                steps.let_go(draft, draft.operation(operation), vms)
            case Finish(operation):
                _finish(draft, draft.operation(operation), limits)
    return to_begin


def _finish(draft: Draft, operation: Operation, limits: Limits) -> None:
    steps.finish(draft, operation, draft.attempts_of(operation.id))
    if operation.cause is Cause.EVICT:  # where it failed, what it had overtaken concerns the VM again
        for name in operation.targets:
            if (vm := draft.find_vm(name)) is not None:
                join(draft, vm, limits)


def _record(draft: Draft, operation: Operation, vm: Vm, places: Places, limits: Limits) -> Attempt | None:
    """An attempt on one machine; None where it has failed before anything was touched."""
    destination = places.destination(operation, vm) if operation.action.needs_host else None
    attempt = steps.record(draft, operation, vm, destination, limits)
    if operation.action.needs_host and destination is None:
        why = f"no host but {vm.host} may take {vm.name}"
        steps.conclude(draft, attempt, AttemptReport(*attempt.key, Outcome.FAILED, why))
        return None
    return attempt

"""The steps of an operation's life, each written into a draft.

Every step checks the table of transitions first; an illegal one raises and leaves the draft as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from forewarn.core.decide import AttemptReport
from forewarn.core.draft import Draft
from forewarn.core.event import Approval, Event
from forewarn.core.fleet import ScaleSet, Vm
from forewarn.core.notice import Limits, notice_ends
from forewarn.core.operation import Attempt, Operation, Outcome
from forewarn.core.phase import Phase, Step, after
from forewarn.core.placement import lands_beside_another_domain
from forewarn.core.policy import nobody_is_up
from forewarn.core.terms import Action, AutoApproval, Cause, Condition, VmState

_STATE_AFTER = {
    Action.STOP: VmState.STOPPED,
    Action.DEALLOCATE: VmState.DEALLOCATED,
    Action.DELETE: VmState.DELETED,
}


def announce(draft: Draft, operation: Operation, vms: Sequence[Vm], notice: timedelta | None) -> None:
    """Open an operation, with an event for each scope and update domain; without notice, silently."""
    operation = replace(
        operation,
        phase=after(None, Step.ANNOUNCE, of=f"operation {operation.id}"),
        targets=tuple(vm.name for vm in vms),
    )
    _open(draft, operation, vms, notice)


def born_started(draft: Draft, operation: Operation, vms: Sequence[Vm], limits: Limits) -> None:
    """Open an operation that is Started from the first; its guests still get the lead."""
    operation = replace(
        operation,
        phase=after(None, Step.BORN_STARTED, of=f"operation {operation.id}"),
        targets=tuple(vm.name for vm in vms),
        started_at=draft.now,
        begin_at=draft.now + limits.lead,
    )
    _open(draft, operation, vms, timedelta(0))


def _open(draft: Draft, operation: Operation, vms: Sequence[Vm], notice: timedelta | None) -> None:
    draft.put(operation)
    subject = operation.host or ", ".join(operation.targets)
    draft.note(operation.cause, operation=operation.id, subject=subject)
    if notice is not None:
        for group in by_event(vms):
            add_event(draft, operation, group, notice)


def by_event(vms: Iterable[Vm]) -> Iterator[list[Vm]]:
    """The VMs in the groups that one event may name: one scope and one update domain each."""
    groups: dict[tuple[str, int], list[Vm]] = {}
    for vm in vms:
        groups.setdefault((vm.scope, vm.update_domain), []).append(vm)
    yield from groups.values()


def add_event(draft: Draft, operation: Operation, vms: Sequence[Vm], notice: timedelta) -> None:
    """Tell one scope of an operation on some of its VMs."""
    if operation.kind is None:
        raise ValueError(f"{operation.title} has no kind; it cannot be announced")
    first = vms[0]
    siblings = sum(event.scope == first.scope for event in draft.events_of(operation.id))
    not_before = notice_ends(draft.now, notice)
    event = Event(
        id=event_id(operation.id, first.scope, siblings),
        number=draft.next_event_number(),
        operation=operation.id,
        scope=first.scope,
        update_domain=first.update_domain if first.set_name else None,
        resources=tuple(vm.name for vm in sorted(vms, key=_by_instance)),
        kind=operation.kind,
        source=operation.source,
        description=operation.description,
        duration_seconds=operation.duration_seconds,
        phase=operation.phase,
        created_at=draft.now,
        notice=notice,
        not_before=not_before,
        promised_at=not_before,
        started_at=operation.started_at,
    )
    draft.put(event)


def move(draft: Draft, event: Event, not_before: datetime) -> Event:
    """The event with another NotBefore, promised from now on."""
    return replace(
        event,
        not_before=not_before,
        promised_at=not_before,
        notice=not_before - event.created_at,
        moved_in=draft.number,
    )


def event_id(operation: str, scope: str, ordinal: int) -> str:
    """The id of an operation's nth event in a scope: the same whenever it is worked out."""
    return str(uuid5(UUID(operation), f"{scope}#{ordinal}")).upper()


def _by_instance(vm: Vm) -> tuple[int, str]:
    return (-1 if vm.instance is None else vm.instance), vm.name


def approve(draft: Draft, event: Event, by: str) -> None:
    """Write down that somebody said "go ahead"; once per name, and only while it can still matter."""
    if event.phase is Phase.STARTED or any(approval.by == by for approval in event.approvals):
        return
    draft.put(replace(event, approvals=(*event.approvals, Approval(by, draft.now))))
    draft.note("approve", operation=event.operation, event=event.id, subject=by)


def start(draft: Draft, operation: Operation, limits: Limits) -> None:
    """Say Started; guests that see it get the lead before anything is touched."""
    phase = after(operation.phase, Step.START, of=f"operation {operation.id}")
    events = [event for event in draft.events_of(operation.id) if event.phase.is_open]
    lead = limits.lead if events else timedelta(0)
    draft.put(replace(operation, phase=phase, started_at=draft.now, begin_at=draft.now + lead))
    for event in events:
        phase = after(event.phase, Step.START, of=f"event {event.short_id}")
        approvals = event.approvals
        if not event.is_cleared(draft.now) and nobody_is_up(draft.world, event):
            approvals = (Approval(AutoApproval.ALL_DOWN, draft.now),)
        draft.put(replace(event, phase=phase, started_at=draft.now, approvals=approvals))
    draft.note("start", operation=operation.id, subject=operation.title)


def record(draft: Draft, operation: Operation, vm: Vm, destination: str | None, limits: Limits) -> Attempt:
    """Write down that a machine is about to be touched."""
    attempt = Attempt(
        operation=operation.id,
        vm=vm.name,
        action=operation.action,
        recorded_at=draft.now,
        deadline_at=draft.now + limits.action_limit,
        host=vm.host,
        destination=destination,
        duration_seconds=operation.duration_seconds,
    )
    draft.put(attempt)
    return attempt


def conclude(draft: Draft, attempt: Attempt, report: AttemptReport) -> None:
    """Write down how an attempt ended, and what has become of the machine."""
    draft.put(replace(attempt, outcome=report.outcome, reason=report.reason, ended_at=draft.now))
    vm = draft.vm(attempt.vm)
    if report.outcome is Outcome.DONE:
        state = report.state or _state_after(attempt.action, vm)
        host = report.host or attempt.destination or vm.host
    else:
        state = report.state or vm.state
        host = report.host or vm.host
    has_come = host == attempt.destination and state in {VmState.RUNNING, VmState.DOWN}
    if attempt.destination is not None and not has_come:
        _forget_failed_destination(draft, attempt)
    if attempt.action is Action.RESTORE and state is VmState.RUNNING:
        _renew_own_host(draft, host)
    if state is VmState.RUNNING and (draft.has_failed(host) or _is_to_be_restored(draft, attempt)):
        state = VmState.DOWN
    if host != vm.host and lands_beside_another_domain(draft.world, vm, host):
        why = f"{host} holds another update domain of {vm.set_name}"
        draft.note("share host", operation=attempt.operation, subject=vm.name, detail=why)
    if (state, host) != (vm.state, vm.host):
        draft.put(replace(vm, state=state, host=host))
    if state is VmState.DELETED and vm.set_name and vm.instance is not None:
        scale_set = draft.vm_set(vm.set_name)
        if isinstance(scale_set, ScaleSet):
            draft.put(replace(scale_set, capacity=scale_set.capacity - 1))


def _state_after(action: Action, vm: Vm) -> VmState:
    """What a machine is once the action is done; a pause and a migration leave it as it was."""
    if action in {Action.FREEZE, Action.MIGRATE}:
        return vm.state
    return _STATE_AFTER.get(action, VmState.RUNNING)


def _renew_own_host(draft: Draft, host: str) -> None:
    """A host that was made for a VM alone is made anew with it."""
    found = draft.host(host)
    if found is not None and not found.is_declared and found.condition is not Condition.UP:
        draft.put(replace(found, condition=Condition.UP))


def _is_to_be_restored(draft: Draft, attempt: Attempt) -> bool:
    """Whether a host failed under the VM and nobody has brought it back yet, whatever has become of the host."""
    return any(operation.id != attempt.operation for operation in restores(draft, attempt.vm))


def restores(draft: Draft, vm: str) -> Iterator[Operation]:
    """The open operations that are to bring the VM back from a failed host."""
    for known in list(draft.world.operations_on_vm(vm)):
        operation = draft.operation(known.id)
        is_open = operation.cause is Cause.FAIL and operation.phase.is_open and vm in operation.targets
        if is_open and not any(each.vm == vm and each.outcome for each in draft.attempts_of(operation.id)):
            yield operation


def _forget_failed_destination(draft: Draft, attempt: Attempt) -> None:
    """The VM did not get to where it was sent: that the host there has failed is no matter to it."""
    for operation in restores(draft, attempt.vm):
        if operation.host == attempt.destination and operation.id != attempt.operation:
            withdraw(draft, operation, attempt.vm, f"{attempt.vm} did not get to {attempt.destination}")


def finish(draft: Draft, operation: Operation, attempts: Iterable[Attempt]) -> None:
    """End an operation whose machines are all done with; its events leave the documents."""
    failed = _failed(attempts)
    reason = "; ".join(f"{vm}: {why}" for vm, why in failed.items())
    step = Step.FAIL if failed else Step.COMPLETE
    phase = after(operation.phase, step, of=f"operation {operation.id}")
    draft.put(replace(operation, phase=phase, ended_at=draft.now, reason=reason))
    draft.note(step, operation=operation.id, subject=operation.title, detail=reason)
    for event in draft.events_of(operation.id):
        if event.phase.is_open:
            _end_event(draft, event, failed)
    if operation.cause.does_planned_work:
        for name in operation.targets:
            vm = draft.find_vm(name)  # one that is deleted has left all work behind
            if vm is not None and name not in failed:
                _withdraw_from_planned_work(draft, vm, f"the {operation.cause} of {name} did the work")


def _failed(attempts: Iterable[Attempt]) -> dict[str, str]:
    """The machines whose attempts have failed, and why."""
    return {attempt.vm: attempt.reason for attempt in attempts if attempt.outcome is Outcome.FAILED}


def _end_event(draft: Draft, event: Event, failed: Mapping[str, str]) -> None:
    step = Step.FAIL if failed.keys() & set(event.resources) else Step.COMPLETE
    phase = after(event.phase, step, of=f"event {event.short_id}")
    why = "; ".join(failed[vm] for vm in event.resources if vm in failed)
    draft.put(replace(event, phase=phase, ended_at=draft.now, reason=why))


def let_go(draft: Draft, operation: Operation, vms: Collection[str]) -> None:
    """Be done with some machines of an operation, and with their events, while others are waited for."""
    targets = tuple(name for name in operation.targets if name not in vms)
    draft.put(replace(operation, targets=targets))
    draft.note("let go", operation=operation.id, subject=", ".join(vms))
    failed = _failed(draft.attempts_of(operation.id))
    for event in draft.events_of(operation.id):
        if event.phase.is_open and not set(targets) & set(event.resources):
            _end_event(draft, event, failed)


def cancel(draft: Draft, operation: Operation, reason: str) -> None:
    """Call off an operation: all its events go."""
    phase = after(operation.phase, Step.CANCEL, of=f"operation {operation.id}")
    draft.put(replace(operation, phase=phase, ended_at=draft.now, reason=reason))
    draft.note("cancel", operation=operation.id, subject=operation.title, detail=reason)
    for event in draft.events_of(operation.id):
        if event.phase.is_open:
            _cancel_event(draft, event, reason)


def _cancel_event(draft: Draft, event: Event, reason: str) -> None:
    phase = after(event.phase, Step.CANCEL, of=f"event {event.short_id}")
    draft.put(replace(event, phase=phase, ended_at=draft.now, reason=reason))


def withdraw(draft: Draft, operation: Operation, vm: str, reason: str) -> None:
    """Take a VM out of an operation that has not touched it; an event that is left empty ends.

    So does an operation that was only scheduled, but for work on a whole host, which now disturbs nobody. One that
    has started is finished when it is looked at next.
    """
    targets = tuple(name for name in operation.targets if name != vm)
    if not targets and operation.host is None and operation.phase is Phase.SCHEDULED:
        cancel(draft, operation, reason)
        return
    draft.put(replace(operation, targets=targets))
    draft.note("withdraw", operation=operation.id, subject=vm, detail=reason)
    for event in draft.events_of(operation.id):
        if event.phase.is_open and vm in event.resources:
            resources = tuple(name for name in event.resources if name != vm)
            if resources:
                draft.put(replace(event, resources=resources))
            elif event.phase is Phase.SCHEDULED:
                _cancel_event(draft, event, reason)
            else:
                phase = after(event.phase, Step.COMPLETE, of=f"event {event.short_id}")
                draft.put(replace(event, phase=phase, ended_at=draft.now, reason=reason))


def _withdraw_from_planned_work(draft: Draft, vm: Vm, reason: str) -> None:
    """Take a VM out of all planned platform work that has not started, and that it would not feel any more."""
    for known in list(draft.world.operations_on_vm(vm.name)):
        operation = draft.operation(known.id)
        if operation.phase is not Phase.SCHEDULED or not operation.cause.is_planned:
            continue
        if vm.name in operation.targets and not _will_be_felt(draft, operation, vm):
            withdraw(draft, operation, vm.name, reason)


def _will_be_felt(draft: Draft, operation: Operation, vm: Vm) -> bool:
    """Whether the work is on a host that the VM has not left; one that it has to itself is as new as the VM."""
    if operation.host is None or operation.host != vm.host or not vm.is_on_host:
        return False
    host = draft.host(vm.host)
    return host is not None and (host.is_declared or draft.world.load_of(host.name) > 1)

"""How a turn ends: with its operation, in the same commit. Run on every draft before it is sealed."""

from __future__ import annotations

from dataclasses import replace

from forewarn.core.draft import Draft
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.rollout import TurnState, domain_name

_ENDS = {
    Phase.COMPLETED: TurnState.DONE,
    Phase.FAILED: TurnState.FAILED,
    Phase.CANCELLED: TurnState.SKIPPED,
}


def keep_turns(draft: Draft) -> None:
    """Write down for each operation of a rollout that ends here that its host has had its turn."""
    for operation in draft.changed_operations():
        if operation.rollout is not None and not operation.phase.is_open:
            _end_turn(draft, operation, operation.rollout)


def set_aside(draft: Draft, operation: Operation) -> None:
    """The operation was postponed: its host's wave goes on without it."""
    turn = draft.turn(operation.rollout or "", operation.host or "")
    if turn is not None and turn.operation == operation.id:
        draft.put(replace(turn, state=TurnState.POSTPONED))


def _end_turn(draft: Draft, operation: Operation, rollout: str) -> None:
    turn = draft.turn(rollout, operation.host or "")
    if turn is None or turn.operation != operation.id:
        return  # called off, to come up again
    touched = operation.targets if operation.started_at is not None else ()
    known = [vm for vm in map(draft.find_vm, touched) if vm is not None and vm.set_name is not None]
    domains = dict.fromkeys(domain_name(vm.set_name or "", vm.update_domain) for vm in known)
    draft.put(
        replace(
            turn,
            state=_ENDS[operation.phase],
            touched=touched,
            domains=tuple(domains),
            ended_at=draft.now,
            rests_from=draft.now,
            reason=operation.reason,
        )
    )
